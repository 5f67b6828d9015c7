"""Middleware of the whole service: request ids, size limit, problems under /api/, content security policy."""

import logging
import re
import time
import uuid
from collections.abc import Callable

from csp.middleware import CSPMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from catalog.api.problems import (
    BodyTooLarge,
    InvalidRequest,
    LengthRequired,
    NotFound,
    Problem,
    UnsupportedMediaType,
)
from config.api_errors import problem_response
from config.bodies import limit_of
from config.health.views import healthz, readyz, statusz
from config.settings.csp import ADMIN_CONTENT_SECURITY_POLICY
from config.throttling import rate_headers
from estimator.engine.faults import ParameterFault
from reports.doing import current_request_id

access_log = logging.getLogger("aforo.access")

GetResponse = Callable[[HttpRequest], HttpResponse]

# An incoming id is kept only if it cannot break a log line or a header.
_SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,128}")


class RequestIdMiddleware:
    """Gives each request an id (`X-Request-ID`, or a new one), in logs, problems and the answer's header."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handles the request under its id."""
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _SANE_REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]
        token = current_request_id.set(request_id)
        try:
            response = self.get_response(request)
        finally:
            current_request_id.reset(token)
        response["X-Request-ID"] = request_id
        if (left := getattr(request, "rate_left", None)) is not None:
            for name, value in rate_headers(left).items():
                response[name] = value
        return response


class ApiProblemMiddleware:
    """Refuses bodies that cannot be read, before they are, and answers for what fails outside a view of the API."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Refuses what cannot be read, else goes on."""
        # PostgreSQL's texts cannot hold NUL and its driver raises; nothing we serve has it in its address.
        if "\0" in request.path_info:
            return problem_response(NotFound(_("No address holds a NUL character.")), request)
        if "%00" in request.META.get("QUERY_STRING", ""):
            return problem_response(InvalidRequest(errors=_nul_parameters(request)), request)
        if _is_api(request) and (problem := _body_problem(request)) is not None:
            response = problem_response(problem, request)
            # The body stays unread, so the connection cannot carry another request.
            response["Connection"] = "close"
            return response
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The problem of an exception that a view did not answer for, e.g. one raised while rendering."""
        return problem_response(exception, request) if _is_api(request) else None


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def _body_problem(request: HttpRequest) -> Problem | None:
    """What keeps the body from being read as it was sent."""
    coding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        detail = _("Bodies are read as they are; send it without the content coding %(coding)s.") % {"coding": coding}
        return UnsupportedMediaType(detail, headers={"Accept-Encoding": "identity"})
    if "Transfer-Encoding" in request.headers and not request.META.get("CONTENT_LENGTH"):
        return LengthRequired()
    limit = limit_of(request.META)
    if _content_length(request) <= limit:
        return None
    return BodyTooLarge(_("The body may hold at most %(limit)d bytes.") % {"limit": limit})


def _nul_parameters(request: HttpRequest) -> list[ParameterFault]:
    detail = _("No parameter holds a NUL character.")
    return [
        ParameterFault(code="invalid", detail=detail, path=(name.replace("\0", ""),))
        for name, values in request.GET.lists()
        if any("\0" in text for text in (name, *values))
    ]


def _content_length(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


class ProbesMiddleware:
    """Answers probes under any Host and scheme: they come by address, from machines that know no name of ours."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self._views = {"/healthz": healthz, "/readyz": readyz, "/statusz": statusz}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The probe's answer, or what follows."""
        view = self._views.get(request.path_info)
        return view(request) if view is not None else self.get_response(request)


class AccessLogMiddleware:
    """One line per request: method, path, status, milliseconds, user. Paths of share links are redacted by the log."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handles the request and writes its line."""
        started_s = time.perf_counter()
        response = self.get_response(request)
        facts = {
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "ms": round((time.perf_counter() - started_s) * 1000, 1),
            "user": getattr(getattr(request, "user", None), "pk", None),
        }
        access_log.info("%(method)s %(path)s %(status)s %(ms)s ms", facts, extra={"facts": facts})
        return response


class ContentSecurityPolicyMiddleware(CSPMiddleware):
    """django-csp's: one policy everywhere, one that the theme works under in the admin.

    An answer that brings a policy of its own keeps it.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Sets the header."""
        if request.path_info.startswith("/admin/"):
            response._csp_config = ADMIN_CONTENT_SECURITY_POLICY  # type: ignore[attr-defined]
        return super().process_response(request, response)
