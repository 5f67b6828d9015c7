"""`/r/<signed>/`: the page of a version for whoever holds the link; other formats are sent as files."""

from typing import Any

from django.http import HttpRequest
from django.shortcuts import render
from rest_framework.request import Request

from catalog.api.problems import Conflict
from pages.reports.report import being_made, complete
from reports.choices import FileFormat, State
from reports.links import ShareLinkView
from reports.models import ShareLink
from reports.services import files

AS_FILE = "file"


class SharedPage(ShareLinkView):
    """The page where the link is one to HTML; its file with `?file`. People get words where programs get problems."""

    def answer(self, request: HttpRequest, link: ShareLink) -> Any:
        """The page, the file, or a page that waits for the file."""
        if link.format == FileFormat.HTML and AS_FILE not in request.GET:
            context = {"version": link.version, "report": link.version.report, "by_link": True}
            shown = complete(link.version)
            if why := shown.get("damaged"):
                raise Conflict(why, members={"state": State.FAILED, "code": "file_error"})
            return render(request, "pages/report.html", context | shown)
        return super().answer(request, link)

    def waiting(self, request: HttpRequest, link: ShareLink, found: files.FileState) -> Any:
        """A page that asks again, for browsers."""
        return being_made(request, link.version, found) if _browses(request) else super().waiting(request, link, found)

    def handle_exception(self, exc: Exception) -> Any:
        """Why the link opens nothing, in words for browsers."""
        response = super().handle_exception(exc)
        request: Request = self.request
        if not _browses(request._request):
            return response
        context = {"status": response.status_code, "by_link": True}
        page = render(request._request, "pages/link_gone.html", context, status=response.status_code)
        if "Retry-After" in response:
            page["Retry-After"] = response["Retry-After"]
        return page


def _browses(request: HttpRequest) -> bool:
    """Whether a browser asks: it names HTML before anything else."""
    return "text/html" in request.headers.get("Accept", "")
