"""What changed between two versions."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.api.problems import FieldError, InvalidRequest
from reports import diff
from reports.api.base import ReportsView
from reports.api.documented import documented
from reports.api.version_views import complete_rows, format_of
from reports.diff import pages


@documented
class DiffView(ReportsView):
    """`reports/{id}/diff/`."""

    def get(self, request: Request, report_id: UUID) -> HttpResponse | Response:
        """Causes of the change from one version to another, each with its amount; as JSON, CSV or a page."""
        file_format = format_of(request, ("json", "csv", "html"), default="json")
        old = complete_rows(self, request, report_id, _number(request, "from"))
        new = complete_rows(self, request, report_id, _number(request, "to"))
        difference = diff.compare(old, new)
        if file_format == "json":
            return Response(difference)
        content = pages.as_csv(difference) if file_format == "csv" else pages.as_html(difference)
        return _file(difference, file_format, content)


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) > 0):
        fault = FieldError(
            code="required" if not text else "invalid_type", detail=_("Number of a version."), parameter=name
        )
        raise InvalidRequest(errors=[fault])
    return int(text)


def _file(difference: dict[str, Any], file_format: str, content: bytes) -> HttpResponse:
    media = {"csv": "text/csv; charset=utf-8; header=present", "html": "text/html; charset=utf-8"}[file_format]
    stem = slugify(difference["name"])[:60] or "report"
    name = f"aforo-{stem}-v{difference['from']}-v{difference['to']}.{file_format}"
    return HttpResponse(
        content,
        content_type=media,
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-cache",
            "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        },
    )
