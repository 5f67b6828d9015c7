"""The address under `engine-profiles/` that fits a profile to one's own runs; staff only, a new row each time."""

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from catalog.api.permissions import StaffWrites
from catalog.api.problem_schema import problem_responses
from catalog.api.problems import FieldError, InvalidRequest, NotFound, pointer
from catalog.api.query import refuse_parameters
from catalog.api.row_faults import row_faults
from catalog.models import EngineProfile
from catalog.services.engine_profiles import new_version
from estimator.api.parsing import parse_body
from estimator.api.view import RawJsonParser, problem_of, render
from estimator.engine.calibration.bench_file import BenchRun, read_bench_run
from estimator.estimates.calibrate.answer import CalibrateAnswer, CalibrateRequest, FitErrorPart
from estimator.estimates.calibrate.compute import calibrate_plan, evidence_of, fit_error_of
from estimator.resolvers.issues import ResolutionError
from estimator.resolvers.live import current_facts


class CalibrateView(APIView):
    """Fits a profile and saves it as a new version."""

    parser_classes = [RawJsonParser]
    permission_classes = [StaffWrites]
    token_scope = "catalog"  # noqa: S105  a scope is no secret
    throttle_scope = "estimates"
    queryset = EngineProfile.objects.all()

    @extend_schema(
        operation_id="engine_profiles_calibrate",
        tags=["engine-profiles"],
        summary="Fit a profile to your own runs",
        description=(
            "Reads results of `vllm bench serve --save-result`, refuses runs with failures, other lengths than asked "
            "for or a load that never reached its concurrency, and fits six constants of the profile. The outcome is "
            "a new profile with its error. Needs staff with the permission to add engine profiles. No text is kept."
        ),
        request={"application/json": CalibrateRequest},
        responses={
            (201, "application/json"): OpenApiResponse(CalibrateAnswer, description="The profile as saved."),
            **problem_responses(400, 401, 403, 404, 413, 415, 422, 429),
        },
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        """The profile as saved."""
        refuse_parameters(request.query_params)
        parent = EngineProfile.objects.filter(slug=slug).first()
        if parent is None:
            raise NotFound(_("There is no engine profile %(slug)s.") % {"slug": slug})
        raw = request.data if isinstance(request.data, bytes) else b""
        facts = current_facts()
        try:
            body = parse_body(CalibrateRequest, raw, facts)
            plan = body.plan(slug, facts)
        except ResolutionError as error:
            raise problem_of(error.issues) from None
        if EngineProfile.objects.filter(slug=body.new_slug).exists():
            taken = FieldError(code="invalid", detail=_("The slug is taken."), pointer=pointer("new_slug"))
            raise InvalidRequest(errors=[taken])
        runs = _runs(body)
        fitted = calibrate_plan(plan, runs)
        evidence = evidence_of(plan, fitted, runs)
        try:
            row = new_version(
                parent,
                slug=body.new_slug,
                name=body.name or "",
                speed_constants={**fitted.changed, "basis": "fitted"},
                evidence=evidence,
                fit_error=fit_error_of(fitted),
                user=request.user,
                reason="calibrated",
            )
        except ValidationError as refused:
            raise InvalidRequest(errors=row_faults(refused)) from refused
        answer = CalibrateAnswer(
            catalog_revision=current_facts().catalog_revision,
            slug=row.slug,
            parent=slug,
            constants=fitted.changed,
            fit_error=[FitErrorPart(metric=metric, **errors) for metric, errors in fit_error_of(fitted).items()],
            evidence=evidence,
        )
        return HttpResponse(render(answer), content_type="application/json", status=201)


def _runs(body: CalibrateRequest) -> list[BenchRun]:
    return [
        read_bench_run(
            run.result,
            expected_input_tokens=run.input_tokens,
            expected_output_tokens=run.output_tokens,
            field=f"runs.{position}.result",
        )
        for position, run in enumerate(body.runs)
    ]


urlpatterns = [path("<str:slug>/calibrate/", CalibrateView.as_view(), name="engine-profiles-calibrate")]
