"""What the reports endpoints share: bodies, the report a person may see, keys against doubled requests, answers."""

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext as _
from pydantic import BaseModel
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from catalog.api.conditional import is_known
from catalog.api.problems import (
    Conflict,
    IdempotencyKeyReused,
    InvalidRequest,
    LimitReached,
    NotFound,
    Problem,
    problem_of,
)
from catalog.api.query import Query, parse_query, refuse_parameters
from estimator.api.parsing import parse_body
from estimator.api.view import RawJsonParser
from estimator.engine.faults import ParameterFault, ResolutionError
from estimator.resolvers.live import current_facts
from reports.models import Report, ReportVersion
from reports.services.idempotency import KeyReusedError, known, once
from reports.services.limits import TRY_AGAIN_AFTER_S, InFlightLimitError, LimitError
from reports.services.versions import IllegalChangeError

BodyT = TypeVar("BodyT", bound=BaseModel)
QueryT = TypeVar("QueryT", bound=Query)
PreparedT = TypeVar("PreparedT")
_MAX_KEY = 128


class ReportsView(APIView):
    """Base of the reports endpoints: never anonymous, a report one may not see is 404."""

    parser_classes = [RawJsonParser]
    token_scope = "reports"  # noqa: S105  a scope, no secret
    # Whether reading takes parameters; writing never does.
    reads_query = False
    # Whether a POST puts work into the queue: all those of a person share one throttle.
    orders = False

    def get_throttles(self) -> list[Any]:
        """Orders are throttled on their own."""
        self.throttle_scope = "reports-create" if self.orders and self.request.method == "POST" else None
        return super().get_throttles()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """As the framework's; refuses parameters that nobody reads."""
        super().initial(request, *args, **kwargs)
        if not (self.reads_query and request.method in SAFE_METHODS):
            refuse_parameters(request.query_params)

    def query(self, request: Request, model: type[QueryT]) -> QueryT:
        """The query string as its model.

        Raises:
            InvalidRequest: Every fault of it.
        """
        return parse_query(model, request.query_params)

    def body(self, request: Request, model: type[BodyT]) -> BodyT:
        """The body as its model; no body reads as an empty object.

        Raises:
            InvalidRequest: Every fault of it.
        """
        try:
            return parse_body(model, self.raw(request) or b"{}", current_facts())
        except ResolutionError as error:
            raise problem_of(error.faults) from None

    def raw(self, request: Request) -> bytes:
        """The bytes of the body."""
        return request.data if isinstance(request.data, bytes) else b""

    def report(self, request: Request, report_id: UUID, *, lock: bool = False) -> Report:
        """A report that the caller may see; with `lock` nobody else changes it before the transaction ends.

        Raises:
            NotFound: There is none, or not for this caller.
        """
        query = Report.objects.visible_to(request.user).select_related("owner")
        report = (query.select_for_update(of=("self",)) if lock else query).filter(pk=report_id).first()
        if report is None:
            raise NotFound(_("There is no such report."))
        return report

    def own(self, request: Request, report_id: UUID, *, lock: bool = False) -> Report:
        """A report that the caller may change; with `lock` as in `report`.

        Raises:
            NotFound: One may not see it.
            PermissionDenied: One may see it and no more.
        """
        report = self.report(request, report_id, lock=lock)
        user = request.user
        if report.owner_id != user.pk and not (user.is_staff and user.has_perm("reports.change_report")):
            raise PermissionDenied(_("Only the owner may do this."))
        return report

    def version(self, report: Report, number: int) -> ReportVersion:
        """A version of a report.

        Raises:
            NotFound: There is none of this number.
        """
        version = report.versions.select_related("report", "parent").filter(number=number).first()
        if version is None:
            raise NotFound(_("There is no such version."))
        return version

    def once(
        self, request: Request, prepare: Callable[[], PreparedT], make: Callable[[PreparedT], dict[str, Any]]
    ) -> dict[str, Any]:
        """What `make` writes from what `prepare` worked out, once per `Idempotency-Key` of the caller.

        Preparing may take a while and holds no transaction; a key that is known costs neither.

        Raises:
            IdempotencyKeyReused: The key came with another body or to another address.
            InvalidRequest: What `prepare` found wrong.
        """
        key = request.headers.get("Idempotency-Key")
        if key is not None and not (0 < len(key) <= _MAX_KEY and key.isascii() and key.isprintable()):
            fault = ParameterFault(code="invalid", detail=_("At most 128 ASCII characters."), path=("Idempotency-Key",))
            raise InvalidRequest(errors=[fault])
        digest = hashlib.sha256(f"{request.method} {request.path}\n".encode() + self.raw(request)).hexdigest()
        try:
            if key is not None and (stored := known(owner=request.user, key=key, body_sha256=digest)) is not None:
                return stored
            prepared = prepare()
            return once(owner=request.user, key=key, body_sha256=digest, make=lambda: make(prepared))[0]
        except KeyReusedError:
            raise IdempotencyKeyReused from None
        except ResolutionError as error:
            raise problem_of(error.faults) from None
        except (LimitError, IllegalChangeError) as error:
            raise refusal(error) from None


def refusal(error: LimitError | IllegalChangeError) -> Problem:
    """The problem of an order that is refused: 429 where waiting helps, 409 where it does not."""
    match error:
        case InFlightLimitError():
            wait = {"Retry-After": str(TRY_AGAIN_AFTER_S)}
            return LimitReached(str(error), headers=wait, members={"code": error.code})
        case LimitError():
            return Conflict(str(error), members={"code": error.code})
        case IllegalChangeError():
            return Conflict(str(error), members={"state": error.state})


def with_etag(request: Request, etag: str, make: Callable[[], Any], **headers: str) -> HttpResponse | Response:
    """The answer under its ETag, or 304."""
    response: HttpResponse | Response
    response = HttpResponse(status=304) if is_known(request, etag) else Response(make())
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    for name, value in headers.items():
        response[name.replace("_", "-")] = value
    return response
