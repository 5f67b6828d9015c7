"""Predictions, measurements and calibrations."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from django.db import models
from django.http import HttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from pydantic import BaseModel
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from catalog.api.paging import offset, paged
from catalog.api.problem_schema import problem_responses
from catalog.api.problems import Conflict, InvalidRequest, NotFound, problem_of
from catalog.api.query import parameters_of, parse_query, refuse_parameters
from estimator.api.parsing import parse_body
from estimator.api.urls import ENDPOINTS
from estimator.api.view import RawJsonParser
from estimator.constants.revision import constants_revision
from estimator.engine.errors import EngineError
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.resolvers.facts import Facts
from estimator.resolvers.live import calibrated_facts, current_facts
from receipts import selectors
from receipts.api import answers, schemas
from receipts.comparing.asked import MeasurementRequest, ReceiptRequest
from receipts.models import Calibration, Measurement, Prediction
from receipts.services import calibrations, keeping
from receipts.services.measuring import Measured, engine_faults, measure, read_parts
from receipts.services.rows import UnknownRowError, row_of

BodyT = TypeVar("BodyT", bound=BaseModel)
RowT = TypeVar("RowT", bound=models.Model)
MethodT = TypeVar("MethodT", bound=Callable[..., Any])
_READ, _WRITE = (400, 401, 403, 404, 429), (400, 401, 403, 404, 413, 415, 422, 429)


def _documented(name: str, text: str, **more: Any) -> Callable[[MethodT], MethodT]:
    """How an operation stands in the schema."""
    request, answer = more.pop("request", None), more.pop("answer", None)
    status, problems = more.pop("status", 200), more.pop("problems", _READ)
    known = {(status, "application/json"): OpenApiResponse(answer, description=text)} if answer else {
        status: OpenApiResponse(description=text)
    }  # fmt: skip
    described: Callable[[MethodT], MethodT] = extend_schema(
        operation_id=name,
        tags=["receipts"],
        summary=text.split(";")[0].rstrip("."),
        description=text,
        request={"application/json": request} if request else None,
        responses={**known, **problem_responses(*problems)},
        **more,
    )
    return described


class ReceiptsView(APIView):
    """Base: bodies read as everywhere; rows that one may not see are 404."""

    parser_classes = [RawJsonParser]
    token_scope = "reports"  # noqa: S105  a scope, no secret
    throttle_scope = "estimates"

    def body(self, request: Request, model: type[BodyT], facts: Facts) -> BodyT:
        """The body as its model.

        Raises:
            InvalidRequest: every fault of it.
        """
        refuse_parameters(request.query_params)
        raw = request.data if isinstance(request.data, bytes) else b""
        try:
            return parse_body(model, raw, facts)
        except ResolutionError as error:
            raise problem_of(error.faults) from None

    def row(self, request: Request, model: type[RowT], pk: UUID, *, own: bool = False) -> RowT:
        """A row that the caller may see; with `own` one that they may change.

        Raises:
            NotFound: there is none, or not for this caller.
            PermissionDenied: it is another's.
        """
        rows = model._default_manager.visible_to(request.user)  # type: ignore[attr-defined]
        found = rows.select_related("owner").filter(pk=pk).first()
        if found is None:
            raise NotFound
        if own and found.owner_id != request.user.pk:
            raise PermissionDenied(_("Only the owner may do this."))
        row: RowT = found
        return row

    def page(self, request: Request, query: Any, shown: Callable[[Sequence[Any]], list[dict[str, Any]]]) -> Response:
        """One page of a list; `shown` takes all its rows at once, so that it asks for what is beside them once."""
        asked = parse_query(schemas.KeptQuery, request.query_params)
        rows = query.visible_to(request.user).select_related("owner")
        if asked.mine:
            rows = rows.filter(owner_id=request.user.pk)
        start = offset(asked)
        return paged(request, asked, rows.count(), shown(list(rows[start : start + asked.page_size])))


class _Kept(ReceiptsView):
    """A kept row: nothing of it changes."""

    kept: type[models.Model]

    @extend_schema(exclude=True)
    def put(self, request: Request, pk: UUID) -> Response:
        """409."""
        self.row(request, self.kept, pk, own=True)
        raise Conflict(_("What was kept is never changed: keep another."))

    patch = delete = put


class PredictionsView(ReceiptsView):
    """`predictions/`."""

    @_documented("predictions_list", "Predictions one may read: own and public ones.", answer=answers.PredictionPage,
                 parameters=list(parameters_of(schemas.KeptQuery)))  # fmt: skip
    def get(self, request: Request) -> Response:
        """Own and public ones."""
        return self.page(request, Prediction.objects, lambda rows: selectors.prediction_dicts(rows, request.user))

    @_documented(
        "predictions_create",
        "Keep an estimate or a report's row as a prediction; hashed and dated, it is never changed.",
        request=schemas.PredictionRequest, answer=answers.PredictionAnswer, status=201, problems=_WRITE,
    )  # fmt: skip
    def post(self, request: Request) -> Response:
        """The prediction as kept."""
        facts = calibrated_facts(request.user.pk)
        body = self.body(request, schemas.PredictionRequest, facts)
        if (body.report_row is None) == (body.estimate is None) or (body.estimate is None) != (body.body is None):
            fault = Fault(code="required", detail=_("Give estimate and body, or report_row."))
            raise InvalidRequest(errors=[fault])
        ref = body.report_row
        kept = self._row(request, body, ref) if ref is not None else self._estimate(request, body, facts)
        return Response(selectors.prediction_dicts([kept], request.user)[0], status=201)

    def _estimate(self, request: Request, body: schemas.PredictionRequest, facts: Facts) -> Prediction:
        endpoint = next(one for one in ENDPOINTS if one.slug == body.estimate)
        facts = facts if endpoint.says_speed else current_facts()
        try:
            return keeping.keep_estimate(
                request.user, endpoint, dict(body.body or {}), facts, name=body.name or "", public=body.public
            )
        except ResolutionError as error:
            raise problem_of([fault.under("body") for fault in error.faults]) from None

    def _row(self, request: Request, body: schemas.PredictionRequest, ref: schemas.ReportRowRef) -> Prediction:
        try:
            version, row = row_of(request.user, ref.report, ref.version, ref.row_index)
        except UnknownRowError as error:
            fault = Fault(code="invalid", detail=str(error), path=("report_row",))
            raise InvalidRequest(errors=[fault]) from None
        return keeping.keep_row(request.user, version, row, name=body.name or "", public=body.public)


class PredictionView(_Kept):
    """`predictions/{id}/`."""

    kept = Prediction

    @_documented("predictions_retrieve", "One prediction.", answer=answers.PredictionAnswer)
    def get(self, request: Request, pk: UUID) -> Response:
        """One prediction."""
        refuse_parameters(request.query_params)
        return Response(selectors.prediction_dicts([self.row(request, Prediction, pk)], request.user)[0])


class CheckView(ReceiptsView):
    """`measurements/check/`."""

    token_scope = "estimate"  # noqa: S105  a scope, no secret

    @_documented(
        "measurements_check",
        "Read a file and hold it against the estimate; nothing is kept, what cannot be true is refused.",
        request=ReceiptRequest, answer=answers.CheckAnswer, problems=_WRITE,
    )  # fmt: skip
    def post(self, request: Request) -> HttpResponse | Response:
        """The file beside the estimate."""
        facts = calibrated_facts(request.user.pk)
        asked = self.body(request, ReceiptRequest, facts)
        return Response(check_dict(measured(asked, facts)))


class MeasurementsView(ReceiptsView):
    """`measurements/`."""

    @_documented("measurements_list", "Measurements one may read: own and public ones.",
                 answer=answers.MeasurementPage, parameters=list(parameters_of(schemas.KeptQuery)))  # fmt: skip
    def get(self, request: Request) -> Response:
        """Own and public ones."""
        query = Measurement.objects.select_related("prediction").defer("prediction__inputs", "prediction__answer")
        return self.page(request, query, lambda rows: [selectors.measurement_dict(row) for row in rows])

    @_documented(
        "measurements_create",
        "Keep a file's figures beside what is said of them; the text is not kept.",
        request=MeasurementRequest, answer=answers.MeasurementAnswer, status=201, problems=_WRITE,
    )  # fmt: skip
    def post(self, request: Request) -> Response:
        """The measurement as kept."""
        # Said without calibrations: what teaches one must not be corrected by another.
        facts = current_facts()
        asked = self.body(request, MeasurementRequest, facts)
        prediction = None if asked.prediction is None else self._prediction(request, asked.prediction)
        found = measured(asked, facts)
        try:
            kept = keeping.keep_measurement(request.user, asked, found, prediction)
        except ResolutionError as error:
            raise problem_of(error.faults) from None
        return Response(selectors.measurement_dict(kept), status=201)

    def _prediction(self, request: Request, pk: UUID) -> Prediction:
        found = Prediction.objects.visible_to(request.user).filter(pk=pk).first()
        if found is None:
            fault = Fault(code="invalid", detail=_("There is no such prediction."), path=("prediction",))
            raise InvalidRequest(errors=[fault])
        prediction: Prediction = found
        return prediction


class MeasurementView(_Kept):
    """`measurements/{id}/`."""

    kept = Measurement

    @_documented("measurements_retrieve", "One measurement.", answer=answers.MeasurementAnswer)
    def get(self, request: Request, pk: UUID) -> Response:
        """One measurement."""
        refuse_parameters(request.query_params)
        return Response(selectors.measurement_dict(self.row(request, Measurement, pk)))


class CalibrationsView(ReceiptsView):
    """`calibrations/`."""

    @_documented("calibrations_list", "Calibrations one may use: own and shared ones.", answer=answers.CalibrationPage,
                 parameters=list(parameters_of(schemas.KeptQuery)))  # fmt: skip
    def get(self, request: Request) -> Response:
        """Own and shared ones."""
        facts = current_facts()
        return self.page(request, Calibration.objects, lambda rows: selectors.calibration_dicts(rows, facts))

    @_documented(
        "calibrations_create",
        "Make a calibration of measurements of one setting; refused where runs left out say that nothing gets better.",
        request=schemas.CalibrationRequest, answer=answers.CalibrationAnswer, status=201, problems=_WRITE,
    )  # fmt: skip
    def post(self, request: Request) -> Response:
        """The calibration as made."""
        facts = current_facts()
        body = self.body(request, schemas.CalibrationRequest, facts)
        runs = self._measurements(request, body.measurements, "measurements")
        left_out = self._measurements(request, body.left_out, "left_out")
        try:
            made = calibrations.make(request.user, body.name, runs, left_out, facts)
        except ResolutionError as error:
            raise problem_of(error.faults) from None
        return Response(calibration_dict(made), status=201)

    def _measurements(self, request: Request, ids: Sequence[UUID], name: str) -> list[Measurement]:
        found = {row.pk: row for row in Measurement.objects.visible_to(request.user).filter(pk__in=list(ids))}
        missing = [
            Fault(code="invalid", detail=_("There is no such measurement."), path=(name, place))
            for place, pk in enumerate(ids) if pk not in found
        ]  # fmt: skip
        if missing:
            raise InvalidRequest(errors=missing)
        return [found[pk] for pk in dict.fromkeys(ids)]


class CalibrationView(ReceiptsView):
    """`calibrations/{id}/`."""

    @_documented("calibrations_retrieve", "One calibration.", answer=answers.CalibrationAnswer)
    def get(self, request: Request, pk: UUID) -> Response:
        """One calibration."""
        refuse_parameters(request.query_params)
        return Response(calibration_dict(self.row(request, Calibration, pk)))

    @_documented("calibrations_change", "Switch a calibration on or off; or rename it.",
                 request=schemas.CalibrationChange, answer=answers.CalibrationAnswer, problems=_WRITE)  # fmt: skip
    def patch(self, request: Request, pk: UUID) -> Response:
        """The calibration as changed."""
        facts = current_facts()
        row = self.row(request, Calibration, pk, own=True)
        changed = calibrations.change(row, schemas.plain(self.body(request, schemas.CalibrationChange, facts)))
        return Response(calibration_dict(changed))

    @_documented("calibrations_remove", "Remove a calibration; its measurements stay.", status=204)
    def delete(self, request: Request, pk: UUID) -> Response:
        """Gone."""
        refuse_parameters(request.query_params)
        calibrations.remove(self.row(request, Calibration, pk, own=True))
        return Response(status=204)


class SharingView(ReceiptsView):
    """`calibrations/{id}/share/`."""

    @_documented("calibrations_share", "Share a calibration with everybody; an editor's act.",
                 request=schemas.SharingRequest, answer=answers.CalibrationAnswer, problems=_WRITE)  # fmt: skip
    def post(self, request: Request, pk: UUID) -> Response:
        """The calibration as shared."""
        if not (request.user.is_staff and request.user.has_perm("receipts.share_calibration")):
            raise PermissionDenied(_("Editors share calibrations."))
        body = self.body(request, schemas.SharingRequest, current_facts())
        row = Calibration.objects.filter(pk=pk).first()
        if row is None:
            raise NotFound
        return Response(calibration_dict(calibrations.share(row, request.user, shared=body.shared)))


def calibration_dict(row: Calibration) -> dict[str, Any]:
    """A calibration on the catalog of now."""
    return selectors.calibration_dicts([row], current_facts())[0]


def measured(asked: ReceiptRequest, facts: Facts) -> Measured:
    """The file beside the estimate.

    Raises:
        Problem: what is wrong with it.
    """
    try:
        return measure(asked, facts)
    except ResolutionError as error:
        raise problem_of(error.faults) from None
    except EngineError as error:
        raise problem_of(engine_faults(error).faults) from None


def check_dict(found: Measured) -> dict[str, Any]:
    """A file read and held against the estimate."""
    return {
        "read": read_parts(found.receipt),
        "setting": found.body,
        "runs": [selectors.run_parts(run) for run in found.runs],
        "assumptions": list(found.plan.assumptions),
        "estimator_version": ESTIMATOR_VERSION,
        "constants_revision": constants_revision(),
        "catalog_revision": found.plan.catalog_revision,
    }
