"""Views that belong to no app: the schema, its page, and answers for addresses nobody has."""

import sys
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.urls import Resolver404, resolve
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.renderers import OpenApiJsonRenderer2, OpenApiYamlRenderer2
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from catalog.api.problems import NotFound
from config.api_errors import database_away, problem_response


class SchemaView(SpectacularAPIView):
    """The OpenAPI 3.1 description; JSON, or YAML for `Accept: application/yaml`."""

    renderer_classes = [OpenApiJsonRenderer2, OpenApiYamlRenderer2]


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI in two parts, page and script, so that it works without inline code."""

    template_name = "api/docs.html"


def favicon(request: HttpRequest) -> HttpResponse:
    """Browsers ask for it at this address whatever the page says."""
    return HttpResponseRedirect(static("aforo/favicon.svg"))


@csrf_exempt
def unrouted(request: HttpRequest) -> HttpResponse:
    """The problem of an address under /api/ that leads nowhere, with a hint when only the slash is missing."""
    problem = NotFound()
    if not request.path_info.endswith("/") and _leads_somewhere(request.path_info + "/"):
        problem = NotFound(_("Addresses end in a slash: %(path)s/") % {"path": request.path})
    return problem_response(problem, request)


def _leads_somewhere(path: str) -> bool:
    try:
        return resolve(path).func is not unrouted
    except Resolver404:
        return False


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400 outside a view."""
    if _is_api(request):
        return problem_response(SuspiciousOperation(), request)
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403 outside a view."""
    if _is_api(request):
        return problem_response(PermissionDenied(), request)
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404 outside a view."""
    if _is_api(request):
        return problem_response(Http404(), request)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """500 outside a view, 503 where the database was not there; what went wrong is in the log already."""
    raised = sys.exc_info()[1]
    if isinstance(raised, OperationalError | InterfaceError):
        return unavailable(request)
    if _is_api(request):
        return problem_response(RuntimeError("an error outside a view of the API"), request)
    return defaults.server_error(request)


def unavailable(request: HttpRequest) -> HttpResponse:
    """503: a problem under /api/ and for share links, a few words for people elsewhere."""
    problem = database_away()
    if _is_api(request) or request.path_info.startswith("/r/"):
        return problem_response(problem, request)
    page = format_html(_PAGE, title=problem.title, detail=problem.detail)
    return HttpResponse(page, status=503, headers=problem.headers)


_PAGE = (
    '<!doctype html><html lang="en"><head><title>{title}</title></head>'
    "<body><h1>{title}</h1><p>{detail}</p></body></html>"
)


def _is_api(request: HttpRequest) -> Any:
    return request.path_info.startswith("/api/")
