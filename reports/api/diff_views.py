"""What changed between two versions."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.text import slugify
from rest_framework.request import Request
from rest_framework.response import Response

from reports import diff
from reports.api.base import ReportsView
from reports.api.documented import documented
from reports.api.queries import DiffQuery
from reports.api.version_views import complete_rows
from reports.diff import pages


@documented
class DiffView(ReportsView):
    """`reports/{id}/diff/`."""

    reads_query = True

    def get(self, request: Request, report_id: UUID) -> HttpResponse | Response:
        """Causes of the change from one version to another, each with its amount; as JSON, CSV or a page."""
        asked = self.query(request, DiffQuery)
        old = complete_rows(self, request, report_id, asked.from_)
        new = complete_rows(self, request, report_id, asked.to)
        difference = diff.compare(old, new)
        if asked.format == "json":
            return Response(difference)
        content = pages.as_csv(difference) if asked.format == "csv" else pages.as_html(difference)
        return _file(difference, asked.format, content)


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
