"""Every error under /api/ as RFC 9457 `application/problem+json`, whoever raised it.

Exceptions to raise: `catalog.api.problems`. Errors of the engine are translated here, so that services need not know
HTTP. A 500 shows its request id and nothing else.
"""

import logging
import math
import sys
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, get_args

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import exceptions
from rest_framework.views import set_rollback

from catalog.api import problems
from catalog.api.json_format import write_json
from catalog.api.problems import Problem
from estimator.engine import errors as engine_errors
from estimator.engine.faults import MAX_FAULTS, Fault, FaultCode
from reports.errors import StoreAwayError

logger = logging.getLogger("aforo.api")

RETRY_AFTER_S = 5
CONTENT_TYPE = "application/problem+json"

# Type and title of the problems that Django REST framework raises itself; ours carry their own. Where both raise one
# type, the title is the same.
_FRAMEWORK_PROBLEMS: dict[type[exceptions.APIException], tuple[str, Any]] = {
    exceptions.ParseError: (problems.MalformedBody.problem_type, problems.MalformedBody.title),
    exceptions.ValidationError: (problems.InvalidRequest.problem_type, problems.InvalidRequest.title),
    exceptions.NotAuthenticated: ("authentication-required", gettext_lazy("A token is needed")),
    exceptions.AuthenticationFailed: ("authentication-failed", gettext_lazy("The token is not valid")),
    exceptions.PermissionDenied: ("permission-denied", gettext_lazy("Not permitted")),
    exceptions.NotFound: (problems.NotFound.problem_type, problems.NotFound.title),
    exceptions.MethodNotAllowed: ("method-not-allowed", gettext_lazy("Not this method")),
    exceptions.UnsupportedMediaType: (problems.UnsupportedMediaType.problem_type, problems.UnsupportedMediaType.title),
    exceptions.Throttled: ("throttled", gettext_lazy("Too many requests")),
}

# Codes of Django REST framework's validation errors in the words of the API's contract; others are "invalid".
_FIELD_CODES: dict[str, FaultCode] = {
    **{code: code for code in get_args(FaultCode)},
    "required": "required",
    "null": "required",
    "blank": "required",
    "empty": "required",
    "does_not_exist": "unknown_slug",
    "incorrect_type": "invalid_type",
    "not_a_list": "invalid_type",
    "not_a_dict": "invalid_type",
    "max_value": "out_of_range",
    "min_value": "out_of_range",
    "max_length": "out_of_range",
    "min_length": "out_of_range",
    "max_digits": "out_of_range",
    "max_decimal_places": "out_of_range",
    "max_string_length": "out_of_range",
}


def exception_handler(exception: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """The answer to an exception raised in a view of the API; set as EXCEPTION_HANDLER.

    Not a framework Response: that one is rendered by the view's renderer, which may be CSV or HTML.
    """
    set_rollback()
    return problem_response(exception, context["request"]._request)


def problem_response(exception: Exception, request: HttpRequest) -> HttpResponse:
    """The answer to an exception raised anywhere: a view, routing, middleware, rendering."""
    body, headers = _translate(exception, request)
    return HttpResponse(write_json(body), status=body["status"], content_type=CONTENT_TYPE, headers=headers)


def _translate(exception: Exception, request: HttpRequest) -> tuple[dict[str, Any], dict[str, str]]:
    known = _as_api_exception(exception)
    if known is None:
        logger.error("unhandled error", exc_info=exception, extra={"path": request.path})
        # The test client re-raises what this signal carries, so that tests see the error and not its answer.
        if sys.exc_info()[1] is exception:
            got_request_exception.send(sender=None, request=request)
        return _body(request, "internal-error", HTTPStatus.INTERNAL_SERVER_ERROR), {}
    return _body_of(known, request), _headers_of(known)


def _as_api_exception(exception: Exception) -> exceptions.APIException | None:
    match exception:
        case exceptions.APIException():
            return exception
        case Http404():
            return problems.NotFound()
        case PermissionDenied():
            return exceptions.PermissionDenied()
        case RequestDataTooBig():
            return problems.BodyTooLarge()
        case OperationalError() | InterfaceError():
            ours = exception if connection.vendor == "sqlite" else None
            # One line: while a server is away, every request would bring its traceback. SQLite is never away.
            logger.error("the database does not answer: %s", exception, exc_info=ours)
            return database_away()
        case StoreAwayError():
            return problems.Unavailable(str(exception), headers={"Retry-After": str(RETRY_AFTER_S)})
        case SuspiciousOperation():
            return problems.InvalidRequest(_("The request is not acceptable."))
        case engine_errors.EngineError():
            return _of_engine(exception)
        case _:
            return None


def database_away() -> problems.Unavailable:
    """The problem of a request for which the database was not there, or not in time."""
    detail = _("The database does not answer at the moment; try again shortly.")
    return problems.Unavailable(detail, headers={"Retry-After": str(RETRY_AFTER_S)})


def _of_engine(error: engine_errors.EngineError) -> Problem:
    place = () if error.field is None else tuple(error.field.split("."))
    match error:
        case engine_errors.UnknownArchitectureError():
            fault = Fault(code="not_supported", detail=str(error), path=place, near=error.near)
            return problems.UnknownArchitecture(str(error), errors=[fault], members={"model_type": error.model_type})
        case engine_errors.MissingFigureError():
            return problems.MissingFigure(str(error), errors=_at(place, "required", error))
        case engine_errors.UnpricedMeterError():
            return problems.UnpricedMeter(str(error), members={"meter": error.meter})
        case engine_errors.InvalidInputError():
            return problems.InvalidRequest(errors=[Fault(code="invalid", detail=str(error), path=place)])
        case _:
            return problems.Unprocessable(str(error), errors=_at(place, "invalid", error))


def _at(place: tuple[str, ...], code: FaultCode, error: Exception) -> list[Fault]:
    return [Fault(code=code, detail=str(error), path=place)] if place else []


def _body_of(exception: exceptions.APIException, request: HttpRequest) -> dict[str, Any]:
    if isinstance(exception, Problem):
        body = _body(request, exception.problem_type, exception.status_code, exception.title, exception.detail)
        faults = [problems.as_json(fault) for fault in exception.errors[:MAX_FAULTS]]
        return body | exception.members | ({"errors": faults} if faults else {})
    status = exception.status_code
    problem_type, title = next(
        (problem for kind, problem in _FRAMEWORK_PROBLEMS.items() if isinstance(exception, kind)),
        (f"http-{status}", None),
    )
    if isinstance(exception, exceptions.ValidationError):
        faults = [problems.as_json(fault) for fault in _faults(exception.get_full_details(), ())]
        detail = problems.InvalidRequest.default_detail
        return _body(request, problem_type, status, title, detail) | {"errors": faults[:MAX_FAULTS]}
    return _body(request, problem_type, status, title, exception.detail)


def _body(
    request: HttpRequest, problem_type: str, status: int, title: Any = None, detail: Any = None
) -> dict[str, Any]:
    body = {
        "type": problems.TYPE_PREFIX + problem_type,
        "title": str(title or HTTPStatus(status).phrase),
        "status": int(status),
        "detail": None if detail is None else str(detail),
        "instance": request.path,
        "request_id": getattr(request, "request_id", None),
    }
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and detail is None:
        body["detail"] = _("Something went wrong on our side. Quote the request id when you report it.")
    return body


def _headers_of(exception: exceptions.APIException) -> dict[str, str]:
    headers = dict(exception.headers) if isinstance(exception, Problem) else {}
    if challenge := getattr(exception, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if (wait_s := getattr(exception, "wait", None)) is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait_s)))
    return headers


def _faults(details: Any, path: tuple[str | int, ...]) -> Iterator[Fault]:
    """The nested details of a serializer's ValidationError as a flat row of faults with pointers."""
    if isinstance(details, Mapping) and set(details) == {"message", "code"}:
        code = _FIELD_CODES.get(str(details["code"]), "invalid")
        yield Fault(code=code, detail=details["message"], path=path)
    elif isinstance(details, Mapping):
        for name, child in details.items():
            yield from _faults(child, path if name == "non_field_errors" else (*path, name))
    elif isinstance(details, list):
        for index, child in enumerate(details):
            leaf = isinstance(child, Mapping) and set(child) == {"message", "code"}
            yield from _faults(child, path if leaf else (*path, index))
