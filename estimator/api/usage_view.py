"""`estimates/cost/batch/`: usage by the file, each row's cost and the bill of all, written while it is worked out."""

import io
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import IO, Any, Literal, Protocol, cast

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.exceptions import Throttled, UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.views import APIView

from catalog.api.problems import BodyTooLarge, InvalidRequest, Unavailable, problem_of
from catalog.api.query import Query, parse_query
from catalog.api.strict_json import UnacceptableJsonError, read_strictly
from catalog.spelling import near_matches
from estimator.api.uploads import CsvUpload, NdjsonUpload, upload_of
from estimator.api.view import RawJsonParser, render_part
from estimator.engine.cost.api import UsageConvention
from estimator.engine.errors import InvalidInputError
from estimator.engine.faults import Fault, ParameterFault
from estimator.estimates.month_bill import batch
from estimator.estimates.month_bill.answer import summary_of
from estimator.estimates.month_bill.compute import OwnMachines
from estimator.resolvers.facts import Facts
from estimator.resolvers.live import current_facts

TRY_AGAIN_AFTER_S = "10"
LINES_OF_ONE_REQUEST = 1000
_MOST_ALTERNATIVES = 10
NDJSON_TYPE = "application/x-ndjson"
_FORMS = {"text/csv": batch.CSV, NDJSON_TYPE: batch.NDJSON, "application/json": batch.JSON}
_at_once = threading.BoundedSemaphore(settings.AFORO_BATCHES_AT_ONCE)


class UsageQuery(Query):
    """What is asked of an upload."""

    usage_convention: Literal["disjoint", "inclusive"] = Field(
        default="disjoint",
        description="How the counts of rows in our own keys relate; a provider's usage object says it itself.",
    )
    alternatives: str = Field(
        default="", max_length=1000, description="Slugs of prices, separated by commas: their bill for the same usage."
    )
    own_replica_cost: str = Field(
        default="", max_length=40, pattern=r"^(\d{1,18}(\.\d{1,12})?)?$",
        description="What one replica of own GPUs costs in the time of the upload, exact decimal in the bill's "
        "currency; with own_replica_output_tokens.",
    )  # fmt: skip
    own_replica_output_tokens: float | None = Field(
        default=None, gt=0, le=1e18, description="Output tokens that one replica makes in that time."
    )
    free_quantities: bool = Field(
        default=True,
        description="Whether the upload is all that the account used, so that what sellers give away each day and "
        "month is taken off the bill; never off a row.",
    )
    rows: bool = Field(default=True, description="false: the summary alone, as JSON.")


class UsageBatchView(APIView):
    """Reads, bills, writes; stores nothing."""

    parser_classes = [RawJsonParser, CsvUpload, NdjsonUpload]
    token_scope = "estimate"  # noqa: S105  a scope is no secret
    throttle_scope = "estimates"

    def post(self, request: Request) -> HttpResponseBase:
        """The cost of each row and the bill of all."""
        asked = parse_query(UsageQuery, request.query_params)
        facts = current_facts()
        told = _told_of(asked, facts)
        form = _form_of(request)
        if not _at_once.acquire(blocking=False):
            raise Unavailable(_("Other uploads are being billed."), headers={"Retry-After": TRY_AGAIN_AFTER_S})
        release = _Once(_at_once.release)
        try:
            return self._answer(request, form, asked, facts, told, release)
        except BaseException:
            release.close()
            raise

    def _answer(
        self, request: Request, form: str, asked: UsageQuery, facts: Facts, told: dict[str, Any], release: "_Once"
    ) -> HttpResponseBase:
        upload, rows = _rows(request, form, self)
        bill = batch.BatchBill(facts, UsageConvention(asked.usage_convention), rows.keys)
        parts = _parts(bill, rows.rows, facts, told, form if asked.rows else "")
        if form == batch.JSON or not asked.rows:
            response: HttpResponseBase = HttpResponse(b"".join(parts), content_type="application/json")
            upload.close()
            release.close()
            return response
        response = StreamingHttpResponse(parts, content_type=NDJSON_TYPE)
        response._resource_closers += [upload.close, release.close]  # type: ignore[attr-defined]
        return response


class _Once:
    """Gives back once, whoever asks."""

    def __init__(self, give: Any) -> None:
        self._give, self._lock, self._given = give, threading.Lock(), False

    def close(self) -> None:
        """Gives back, the first time."""
        with self._lock:
            given, self._given = self._given, True
        if not given:
            self._give()


def _form_of(request: Request) -> str:
    """Which of the forms the body is in.

    Raises:
        UnsupportedMediaType: In none of them.
    """
    # The framework refuses a media type when the body is asked for; of an upload nothing is read yet.
    _read = request.data
    form = _FORMS.get((request.content_type or "").split(";")[0].strip().lower())
    if form is None:
        raise UnsupportedMediaType(request.content_type or "")
    return form


def _told_of(asked: UsageQuery, facts: Facts) -> dict[str, Any]:
    """The other ways that are asked for.

    Raises:
        InvalidRequest: A price that does not exist, or half of what own machines need.
    """
    names = [name.strip() for name in asked.alternatives.split(",") if name.strip()]
    errors = [
        ParameterFault(
            code="unknown_slug", detail=_("There is no price “%(slug)s” in the catalog.") % {"slug": name},
            path=("alternatives",), near=tuple(near_matches(name, facts.slugs("price"))),
        )
        for name in names
        if name not in facts.slugs("price")
    ]  # fmt: skip
    if len(names) > _MOST_ALTERNATIVES:
        text = _("At most %(n)d.") % {"n": _MOST_ALTERNATIVES}
        errors = [ParameterFault(code="out_of_range", detail=text, path=("alternatives",))]
    given = bool(asked.own_replica_cost), asked.own_replica_output_tokens is not None
    if any(given) and not all(given):
        missing = "own_replica_output_tokens" if given[0] else "own_replica_cost"
        errors.append(ParameterFault(code="required", detail=_("Own GPUs need both parameters."), path=(missing,)))
    if errors:
        raise InvalidRequest(errors=errors)
    own = None
    if asked.own_replica_output_tokens is not None:
        own = OwnMachines(
            cost_of_replica=Decimal(asked.own_replica_cost), output_tokens_of_replica=asked.own_replica_output_tokens
        )
    return {"alternatives": names, "own": own, "free_quantities": asked.free_quantities}


def _rows(request: Request, form: str, view: APIView) -> tuple[IO[bytes], batch.Rows]:
    """The upload and its rows; its lines are counted against the rates.

    Raises:
        Problem: It is no such file, too large, or more than the rates allow.
    """
    if form == batch.JSON:
        raw = request.data if isinstance(request.data, bytes) else b""
        rows = _json_rows(raw)
        _charge(request, view, len(rows))
        numbered = (batch.Numbered(place, row) for place, row in enumerate(rows, start=1))
        return io.BytesIO(), batch.Rows(numbered, None)
    upload = upload_of(request._request)
    try:
        _charge(request, view, batch.check_upload(upload, most_lines=settings.AFORO_MAX_BATCH_LINES + (form == "csv")))
        return upload, batch.rows_of(upload, form)
    except batch.TooManyLinesError:
        detail = _("At most %(n)d lines are billed at once; send the file in parts.")
        raise BodyTooLarge(detail % {"n": settings.AFORO_MAX_BATCH_LINES}) from None
    except InvalidInputError as wrong:
        error = Fault(code="invalid", detail=str(wrong))
        raise InvalidRequest(errors=[error]) from None


def _json_rows(raw: bytes) -> list[Any]:
    try:
        body = read_strictly(raw)
    except UnacceptableJsonError as error:
        raise problem_of(error.faults) from None
    rows = body.get("rows") if isinstance(body, dict) else None
    if not isinstance(rows, list) or set(body) != {"rows"}:
        fault = Fault(code="required", detail=_("Give an object with rows, a list of objects."), path=("rows",))
        raise InvalidRequest(errors=[fault])
    return [row if isinstance(row, dict) else None for row in rows]


def _charge(request: Request, view: APIView, lines: int) -> None:
    """Counts an upload as a request for each thousand lines; the first is counted already."""
    charge(request, view, lines // LINES_OF_ONE_REQUEST)


class _Rate(Protocol):
    """A rate that can count a request as several (config/throttling.py)."""

    def allow_request(self, request: Request, view: APIView, times: int) -> bool: ...

    def wait(self) -> float | None: ...


def charge(request: Request, view: APIView, times: int) -> None:
    """Counts a request as so many more.

    Raises:
        Throttled: The rates have no room for them.
    """
    for throttle in cast("list[_Rate]", view.get_throttles()) if times > 0 else ():
        if not throttle.allow_request(request, view, times):
            raise Throttled(wait=throttle.wait())


def _parts(
    bill: batch.BatchBill, rows: Iterator[batch.Numbered], facts: Facts, told: dict[str, Any], form: str
) -> Iterator[bytes]:
    """The answer in parts: rows a line each, or as members of one object; the summary last."""
    comma = b""
    if form == batch.JSON:
        yield b'{"rows":['
    for lines in bill.lines(rows):
        if form == batch.JSON:
            yield comma + b",".join(lines)
            comma = b","
        elif form:
            yield b"\n".join(lines) + b"\n"
    summary = b'"summary":' + render_part(summary_of(bill.bills(**told), bill.told, facts.catalog_revision))
    if form == batch.JSON:
        yield b"]," + summary + b"}"
    else:
        yield b"{" + summary + b"}\n"
