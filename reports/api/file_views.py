"""Rows and files of complete versions."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.api.conditional import is_known
from catalog.api.paging import offset, paged
from catalog.api.problems import Conflict, InvalidRequest
from estimator.engine.faults import ParameterFault
from estimator.estimates.sweep.columns import COLUMN_BY_NAME
from reports.api.base import ReportsView, with_etag
from reports.api.documented import documented
from reports.api.queries import DownloadQuery, RowsQuery
from reports.api.version_views import complete_rows, complete_version
from reports.api.waiting import wait_for, wait_s
from reports.artifacts import json as json_artifact
from reports.choices import State
from reports.decision.stored import decision_of
from reports.downloads import serve
from reports.rows import reading
from reports.rows.reading import Condition
from reports.services import files
from reports.storage import rows_path

_MAX_ORDERINGS = 4
_MAX_VALUES = 100
_OTHERS = set(RowsQuery.model_fields)


@documented
class DecisionView(ReportsView):
    """`…/decision/`."""

    def get(self, request: Request, report_id: UUID, number: int) -> HttpResponse | Response:
        """Which GPU: one line per GPU and workload, the winner, by how much, and what would change it."""
        version = complete_version(self, request, report_id, number)
        etag = f'"d{version.content_sha256[:31]}"'
        if is_known(request, etag):
            return HttpResponse(status=304, headers={"ETag": etag})
        found, reason = decision_of(version)
        answer = {"decision": None if found is None else found.model_dump(mode="json"), "reason": reason}
        return with_etag(request, etag, lambda: answer)


@documented
class RowsView(ReportsView):
    """`…/rows/`."""

    reads_query = True

    def get(self, request: Request, report_id: UUID, number: int) -> HttpResponse | Response:
        """A page of rows; filter by any column (`gpu=a,b`, `tpot_s_mid__lte=0.05`), order by up to four."""
        version = complete_rows(self, request, report_id, number)
        asked = self.query(request, RowsQuery)
        conditions, ordering = self._conditions(request), self._ordering(asked)
        etag = f'"{version.content_sha256[:32]}"'
        if is_known(request, etag):
            return HttpResponse(status=304, headers={"ETag": etag})
        path = rows_path(version)
        total, rows = reading.page(path, conditions, ordering, limit=asked.page_size, offset=offset(asked))
        response = paged(request, asked, total, rows)
        response["ETag"] = etag
        return response

    def _conditions(self, request: Request) -> list[Condition]:
        found, faults = [], []
        for name, text in request.query_params.dict().items():
            if name in _OTHERS:
                continue
            column, _sep, operator = name.partition("__")
            if column not in COLUMN_BY_NAME or operator not in reading.OPERATORS:
                detail = _("There is no such filter; a column of the rows, or column__gte, __gt, __lte, __lt.")
                faults.append(ParameterFault(code="unknown_field", detail=detail, path=(name,)))
                continue
            texts = text.split(",") if not operator else [text]
            if len(texts) > _MAX_VALUES:
                detail = _("At most %(most)s values.") % {"most": _MAX_VALUES}
                faults.append(ParameterFault(code="out_of_range", detail=detail, path=(name,)))
                continue
            try:
                values = tuple(reading.parse_value(column, part) for part in texts)
            except (ValueError, ArithmeticError):
                kind = COLUMN_BY_NAME[column].kind
                detail = _("Must be of kind %(kind)s.") % {"kind": kind}
                faults.append(ParameterFault(code="invalid_type", detail=detail, path=(name,)))
                continue
            found.append(Condition(column=column, operator=operator, values=values))
        if faults:
            raise InvalidRequest(errors=faults)
        return found

    def _ordering(self, asked: RowsQuery) -> list[str]:
        given = [part for part in asked.ordering.split(",") if part]
        wrong = [part for part in given if part.removeprefix("-") not in COLUMN_BY_NAME]
        if wrong or len(given) > _MAX_ORDERINGS:
            detail = _("Up to four columns of the rows, with - for descending.")
            raise InvalidRequest(errors=[ParameterFault(code="invalid", detail=detail, path=("ordering",))])
        return given


@documented
class DownloadView(ReportsView):
    """`…/download/`."""

    reads_query = True

    def get(self, request: Request, report_id: UUID, number: int) -> HttpResponse | StreamingHttpResponse | Response:
        """The stored file (ETag, ranges), or 202 while a worker makes it."""
        file_format = self.query(request, DownloadQuery).format
        version = complete_version(self, request, report_id, number)
        found = files.file_of(version, file_format)
        if found.download is not None:
            return serve(request._request, found.download)
        if found.state == State.FAILED:
            raise Conflict(found.error, members={"state": found.state, "code": found.error_code})
        if wait_s(request):
            made = version.artifacts.only("pk").filter(format=file_format).first()
            if made is not None:
                wait_for(request, "file", made.pk, request.get_full_path())
        body = {"state": found.state, "format": file_format, "detail": found.error or None}
        return Response(body, status=202, headers={"Retry-After": "1"})


@documented
class DocumentSchemaView(ReportsView):
    """`reports/document-schema/`."""

    def get(self, request: Request) -> Any:
        """The JSON Schema of a report downloaded as JSON."""
        return Response(json_artifact.schema())
