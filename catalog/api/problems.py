"""Problems the API answers with (RFC 9457), as exceptions that views, resolvers of requests and serializers raise.

They live here because `catalog.api` is the lowest layer that knows HTTP: catalog, estimator.api and reports may all
import it, and none may import `config`, where `config.api_errors` turns them into `application/problem+json`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import APIException

from estimator.engine.faults import Fault, ParameterFault

TYPE_PREFIX = "urn:aforo:problem:"

# What a fragment may hold as it is (RFC 3986, 3.5).
_PLAIN = "~!$&'()*+,;=:@?"


def pointer(*path: str | int) -> str:
    """A JSON Pointer (RFC 6901) as URI fragment: `pointer("model", "override", 0)` is `#/model/override/0`."""
    return "#" + "".join("/" + quote(str(part).replace("~", "~0").replace("/", "~1"), safe=_PLAIN) for part in path)


def as_json(fault: Fault) -> dict[str, Any]:
    """A fault as it stands in `errors` of a problem document."""
    if isinstance(fault, ParameterFault):
        place = {"parameter": ".".join(map(str, fault.path))}
    else:
        place = {"pointer": pointer(*fault.path)}
    near = {"near": list(fault.near)} if fault.near else {}
    return {**place, "code": fault.code, "detail": str(fault.detail), **near}


class Problem(APIException):
    """Base of the problems; a subclass fixes status, type and title, an instance says what happened.

    Args:
        detail: one sentence for people about this occurrence.
        errors: the faults field by field; the first MAX_FAULTS are sent.
        headers: headers of the answer, as `Retry-After`.
        members: further members of the problem object (RFC 9457, 3.2), JSON-able.
    """

    status_code = 400
    problem_type: ClassVar[str] = "invalid-request"
    title: ClassVar[Any] = _("The request is not valid")
    default_detail = _("The request is not valid.")
    default_code = "invalid"

    def __init__(
        self,
        detail: Any = None,
        *,
        errors: Iterable[Fault] = (),
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.members = dict(members or {})


class InvalidRequest(Problem):
    """400: one or more fields are wrong; all of them are named in `errors`."""

    default_detail = _("One or more fields are not valid; see errors.")


class MalformedBody(Problem):
    """400: the body is not JSON (NaN, Infinity and numbers beyond a double are not JSON)."""

    problem_type = "malformed-body"
    title = _("The body is not valid JSON")
    default_detail = _("The body is not valid JSON.")
    default_code = "malformed"


def problem_of(faults: Sequence[Fault]) -> Problem:
    """The problem of the faults of a body, of which there is at least one."""
    return MalformedBody(errors=faults) if faults[0].code == "malformed" else InvalidRequest(errors=faults)


class NotFound(Problem):
    """404: nothing lives at this path, or nothing one may see."""

    status_code = 404
    problem_type = "not-found"
    title = _("Not found")
    default_detail = _("Nothing lives at this address.")
    default_code = "not_found"


class Conflict(Problem):
    """409: the resource is in a state that does not allow this change."""

    status_code = 409
    problem_type = "conflict"
    title = _("The state of the resource does not allow this")
    default_detail = _("The state of the resource does not allow this.")
    default_code = "conflict"


class Gone(Problem):
    """410: a share link that expired, was revoked, or lost its report."""

    status_code = 410
    problem_type = "gone"
    title = _("No longer available")
    default_detail = _("This is no longer available.")
    default_code = "gone"


class PreconditionFailed(Problem):
    """412: the `If-Match` given is not the current version."""

    status_code = 412
    problem_type = "precondition-failed"
    title = _("The resource has changed")
    default_detail = _("The resource has changed since it was read; read it again.")
    default_code = "precondition_failed"


class LengthRequired(Problem):
    """411: the server in front does not mark the end of a body sent in chunks."""

    status_code = 411
    problem_type = "length-required"
    title = _("The length of the body is missing")
    default_detail = _("Send the body with a Content-Length, not in chunks.")
    default_code = "length_required"


class BodyTooLarge(Problem):
    """413: the body is larger than the service reads."""

    status_code = 413
    problem_type = "body-too-large"
    title = _("The body is too large")
    default_detail = _("The body is too large.")
    default_code = "body_too_large"


class UnsupportedMediaType(Problem):
    """415: the body is not sent as `application/json`, or is packed."""

    status_code = 415
    problem_type = "unsupported-media-type"
    title = _("The body is not application/json")
    default_detail = _("Send the body as application/json.")
    default_code = "unsupported_media_type"


class Unprocessable(Problem):
    """Base of the 422s: well-formed, but it cannot be priced or computed."""

    status_code = 422
    problem_type = "unprocessable"
    title = _("The request cannot be computed")
    default_detail = _("The request is well-formed but cannot be computed.")
    default_code = "unprocessable"


class UnpricedMeter(Unprocessable):
    """422: a meter that is used has no price; unknown is never zero."""

    problem_type = "unpriced-meter"
    title = _("A used meter has no price")
    default_detail = _("A meter that is used has no known price.")
    default_code = "unpriced_meter"


class UnknownArchitecture(Unprocessable):
    """422: the `model_type` of a config is not one the reader has rules for."""

    problem_type = "unknown-architecture"
    title = _("The architecture is not known")
    default_detail = _("The architecture of this model is not known.")
    default_code = "unknown_architecture"


class MissingFigure(Unprocessable):
    """422: a figure the answer needs is not known, and is not guessed."""

    problem_type = "missing-figure"
    title = _("A needed figure is not known")
    default_detail = _("A figure that the answer needs is not known.")
    default_code = "missing_figure"


class IdempotencyKeyReused(Unprocessable):
    """422: an `Idempotency-Key` came again with another body."""

    problem_type = "idempotency-key-reused"
    title = _("The idempotency key was used with another body")
    default_detail = _("This Idempotency-Key was used with another body.")
    default_code = "idempotency_key_reused"


class LimitReached(Problem):
    """429: the owner has as much in flight as one may have; it passes by itself."""

    status_code = 429
    problem_type = "limit-reached"
    title = _("A limit of the owner is reached")
    default_detail = _("A limit of the owner is reached; try again later.")
    default_code = "limit_reached"


class Unavailable(Problem):
    """503: something the service needs is not there at the moment."""

    status_code = 503
    problem_type = "unavailable"
    title = _("Temporarily unavailable")
    default_detail = _("The service is temporarily unavailable.")
    default_code = "unavailable"
