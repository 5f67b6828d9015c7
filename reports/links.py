"""`/r/<signed>/`: one version in one format for whoever holds the link."""

from typing import Any

from django.core import signing
from django.http import HttpRequest
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from catalog.api.problems import Conflict, Gone, NotFound
from reports.choices import State
from reports.downloads import serve
from reports.models import ShareLink
from reports.services import files, sharing


class ShareLinkView(APIView):
    """Sends the file; tampered 404, ended 410, cannot be made 409; throttled, never indexed, never cached."""

    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []
    throttle_scope = "share-links"
    schema = None

    def get(self, request: Request, text: str) -> Any:
        """The file of the link."""
        return self._answer(request._request, text)

    def _answer(self, request: HttpRequest, text: str) -> Any:
        try:
            link = sharing.open_link(text)
        except signing.BadSignature:
            raise NotFound(_("There is no such link.")) from None
        except sharing.LinkGoneError:
            raise Gone from None
        return self.answer(request, link)

    def answer(self, request: HttpRequest, link: ShareLink) -> Any:
        """The file of a link that is open."""
        found = files.file_of(link.version, link.format)
        if found.state == State.FAILED:
            raise Conflict(found.error, members={"state": found.state, "code": found.error_code})
        return self.waiting(request, link, found) if found.download is None else serve(request, found.download)

    def waiting(self, request: HttpRequest, link: ShareLink, found: files.FileState) -> Any:
        """What is said while the file is made."""
        body = {"state": found.state, "detail": _("The file is being made; try again shortly.")}
        return Response(body, status=202, headers={"Retry-After": "2"})

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The same headers on refusals."""
        return _private(super().finalize_response(request, response, *args, **kwargs))


def _private(response: Any) -> Any:
    response["Referrer-Policy"] = "no-referrer"
    response["Cache-Control"] = "private, no-store"
    response["X-Content-Type-Options"] = "nosniff"
    response["X-Robots-Tag"] = "noindex"
    return response
