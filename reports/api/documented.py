"""How each operation stands in the OpenAPI schema: bodies, answers, parameters, examples."""

from dataclasses import dataclass
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view

from catalog.api.problem_schema import problem_responses
from catalog.api.query import PageQuery, parameters_of
from reports.api import answers, examples, queries, schemas

ViewT = TypeVar("ViewT", bound=type[Any])
# 400 everywhere: any address can be asked with a parameter that it does not take.
_READ = (400, 401, 403, 404, 429)
_WRITE = (400, 401, 403, 404, 405, 413, 415, 429)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation; `files` where the answer is a stored file, `texts` the media types it is written in on request."""

    id: str
    request: Any = None
    status: int = 200
    answer: Any = None
    problems: tuple[int, ...] = _READ
    parameters: tuple[OpenApiParameter, ...] = ()
    files: bool = False
    texts: tuple[str, ...] = ()


_IDEMPOTENT = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The same key and body create once; at most 128 ASCII characters, kept for 7 days.",
)
_IF_MATCH = OpenApiParameter(
    "If-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="ETag of what was read; 412 when it has changed."
)
_PREFER = OpenApiParameter(
    "Prefer", OpenApiTypes.STR, OpenApiParameter.HEADER,
    description="wait=30 answers once the report or file is there, or after so many seconds as without it; "
    "Preference-Applied says for how long was waited at most (AFORO_MAX_WAIT_S).",
)  # fmt: skip
_LISTED = tuple(parameters_of(queries.ReportsQuery))
_PAGE = tuple(parameters_of(PageQuery))
_ROWS = tuple(parameters_of(queries.RowsQuery))
_DOWNLOAD = tuple(parameters_of(queries.DownloadQuery))
_DIFF = tuple(parameters_of(queries.DiffQuery))
_CREATES = (*_WRITE, 422)

OPERATIONS: dict[tuple[str, str], Operation] = {
    ("ReportsCollection", "get"): Operation(
        id="reports_list", answer=answers.ReportPage, parameters=_LISTED, problems=(400, 401, 403, 429)
    ),
    ("ReportsCollection", "post"): Operation(
        id="reports_create", request=schemas.CreateReportRequest, status=202, answer=answers.AcceptedAnswer,
        problems=(400, 401, 403, 409, 413, 415, 422, 429), parameters=(_IDEMPOTENT, _PREFER),
    ),
    ("QueueView", "get"): Operation(id="reports_queue", answer=answers.QueueAnswer, problems=(400, 401, 403, 429)),
    ("ReportFromEstimate", "post"): Operation(
        id="reports_from_estimate", request=schemas.ReportFromEstimateRequest, status=202,
        answer=answers.AcceptedAnswer, problems=(400, 401, 403, 409, 413, 415, 422, 429),
        parameters=(_IDEMPOTENT, _PREFER),
    ),
    ("ReportDetail", "get"): Operation(id="reports_retrieve", answer=answers.ReportAnswer),
    ("ReportDetail", "patch"): Operation(
        id="reports_change", request=schemas.ChangeReportRequest, answer=answers.ReportAnswer,
        problems=(*_WRITE, 412), parameters=(_IF_MATCH,),
    ),
    ("ReportDetail", "delete"): Operation(
        id="reports_archive", status=204, problems=(*_READ, 412), parameters=(_IF_MATCH,)
    ),
    ("SharesCollection", "get"): Operation(id="reports_shares_list", answer=answers.ShareList),
    ("SharesCollection", "post"): Operation(
        id="reports_shares_create", request=schemas.ShareRequest, status=201, answer=answers.ShareAnswer,
        problems=_WRITE,
    ),
    ("ShareDetail", "delete"): Operation(id="reports_shares_delete", status=204),
    ("ScheduleDetail", "get"): Operation(id="reports_schedule_retrieve", answer=answers.ScheduleAnswer),
    ("ScheduleDetail", "put"): Operation(
        id="reports_schedule_set", request=schemas.ScheduleRequest, answer=answers.ScheduleAnswer, problems=_WRITE
    ),
    ("ScheduleDetail", "delete"): Operation(id="reports_schedule_delete", status=204),
    ("VersionsCollection", "get"): Operation(id="versions_list", answer=answers.VersionPage, parameters=_PAGE),
    ("VersionsCollection", "post"): Operation(
        id="versions_create", request=schemas.RebuildRequest, status=202, answer=answers.AcceptedAnswer,
        problems=(*_CREATES, 409), parameters=(_IDEMPOTENT, _PREFER),
    ),
    ("VersionDetail", "get"): Operation(
        id="versions_retrieve", answer=answers.VersionAnswer, parameters=(_PREFER,)
    ),
    ("VersionCancel", "post"): Operation(id="versions_cancel", answer=answers.VersionSummary, problems=(*_WRITE, 409)),
    ("VersionRetry", "post"): Operation(
        id="versions_retry", status=202, answer=answers.AcceptedAnswer, problems=(*_WRITE, 409), parameters=(_PREFER,)
    ),
    ("VersionRecost", "post"): Operation(
        id="versions_recost", request=schemas.RecostRequest, status=202, answer=answers.AcceptedAnswer,
        problems=(*_CREATES, 409), parameters=(_IDEMPOTENT, _PREFER),
    ),
    ("LinksCollection", "get"): Operation(id="versions_links_list", answer=answers.LinkList),
    ("LinksCollection", "post"): Operation(
        id="versions_links_create", request=schemas.CreateLinkRequest, status=201, answer=answers.MadeLink,
        problems=(*_CREATES, 409), parameters=(_IDEMPOTENT, _PREFER),
    ),
    ("LinkDetail", "delete"): Operation(id="versions_links_delete", status=204),
    ("DecisionView", "get"): Operation(
        id="versions_decision", answer=answers.DecisionAnswer, problems=(*_READ, 409)
    ),
    ("RowsView", "get"): Operation(
        id="versions_rows", answer=answers.RowPage, parameters=_ROWS, problems=(*_READ, 409)
    ),
    ("DownloadView", "get"): Operation(
        id="versions_download", files=True, parameters=(*_DOWNLOAD, _PREFER), problems=(*_READ, 409)
    ),
    ("DiffView", "get"): Operation(
        id="reports_diff", answer=answers.DiffAnswer, parameters=_DIFF,
        problems=(*_READ, 409), texts=("text/csv", "text/html"),
    ),
    ("DocumentSchemaView", "get"): Operation(id="reports_document_schema", answer=answers.DocumentSchema),
}  # fmt: skip


def documented(view: ViewT) -> ViewT:
    """The view with its operations described."""
    described = {
        method: _describe(view, method, operation)
        for (name, method), operation in OPERATIONS.items()
        if name == view.__name__
    }
    extend_schema_view(**described)(view)
    return view


def _describe(view: Any, method: str, operation: Operation) -> Any:
    handler = getattr(view, "change", None) or getattr(view, method)
    text = " ".join((handler.__doc__ or "").split())
    return extend_schema(
        operation_id=operation.id,
        tags=["reports"],
        summary=text.split(";")[0].rstrip("."),
        description=text,
        request={"application/json": operation.request} if operation.request else None,
        parameters=list(operation.parameters),
        responses={**_answers(operation), **problem_responses(*sorted(set(operation.problems)))},
        examples=[
            OpenApiExample(name, value=value, request_only=True) for name, value in examples.of(operation.id).items()
        ],
    )


def _answers(operation: Operation) -> dict[Any, Any]:
    if operation.files:
        binary = OpenApiResponse(OpenApiTypes.BINARY, description="The stored file; supports ETag and one range.")
        waiting = OpenApiResponse(answers.FileOrdered, description="A worker makes it; come back after Retry-After.")
        part = OpenApiResponse(OpenApiTypes.BINARY, description="The range of the stored file that was asked for.")
        stream = "application/octet-stream"
        return {(200, stream): binary, (206, stream): part, (202, "application/json"): waiting}
    if operation.answer is None:
        return {operation.status: OpenApiResponse(description="Done; no content.")}
    answer = OpenApiResponse(operation.answer, description=" ".join((operation.answer.__doc__ or "").split()))
    texts = {(operation.status, media): OpenApiResponse(OpenApiTypes.STR) for media in operation.texts}
    waited: dict[Any, Any] = {}
    if _PREFER in operation.parameters and operation.status == 202:
        text = "With Prefer: wait, the version once it is complete, failed or cancelled."
        waited = {(200, "application/json"): OpenApiResponse(answers.VersionAnswer, description=text)}
    return {**waited, (operation.status, "application/json"): answer, **texts}
