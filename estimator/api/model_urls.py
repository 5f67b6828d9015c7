"""Addresses under `models/` that read a config.json: inspect for everyone, import for staff."""

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.urls import path
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request

from catalog.api.permissions import StaffWrites
from catalog.api.problem_schema import problem_responses
from catalog.api.problems import InvalidRequest, problem_of
from catalog.api.query import refuse_parameters
from catalog.api.row_faults import row_faults
from catalog.models import LanguageModel
from catalog.services.model_import import import_model
from estimator.api.openapi import documented
from estimator.api.parsing import parse_body
from estimator.api.view import EstimateView, render
from estimator.engine.faults import ResolutionError
from estimator.estimates.inspect import answer as model_inspect
from estimator.estimates.inspect.compute import inspect_config
from estimator.resolvers.live import current_facts

MODEL_ENDPOINTS = (model_inspect.ENDPOINT,)


class InspectView(EstimateView):
    """Reads a config.json; saves nothing."""

    endpoint = model_inspect.ENDPOINT


class ImportView(EstimateView):
    """Reads a config.json and saves the model; staff who may add language models."""

    endpoint = model_inspect.ENDPOINT
    permission_classes = [StaffWrites]
    token_scope = "catalog"  # noqa: S105  a scope is no secret
    queryset = LanguageModel.objects.all()

    @extend_schema(
        operation_id="models_import",
        tags=["models"],
        summary="Import a config.json",
        description="As models/inspect/, and saves the model. Needs staff with the permission to add language models.",
        request={"application/json": model_inspect.ImportRequest},
        responses={
            (201, "application/json"): OpenApiResponse(model_inspect.InspectAnswer, description="The model as saved."),
            **problem_responses(400, 401, 403, 413, 415, 422, 429),
        },
    )
    def post(self, request: Request) -> HttpResponse:
        """The model as saved."""
        refuse_parameters(request.query_params)
        raw = request.data if isinstance(request.data, bytes) else b""
        try:
            body = parse_body(model_inspect.ImportRequest, raw, current_facts())
        except ResolutionError as error:
            raise problem_of(error.faults) from None
        figures = inspect_config(body.config, precision=body.precision, generic=body.generic, name=body.name)
        try:
            row = import_model(
                body.config,
                name=body.name,
                user=request.user,
                slug=body.slug or "",
                source=body.source,
                publisher=body.publisher,
                generic=body.generic,
                replace=body.replace,
            )
        except ValidationError as refused:
            raise InvalidRequest(errors=row_faults(refused)) from refused
        answer = model_inspect.inspect_answer(
            figures, name=row.name, revision=current_facts().catalog_revision, explain=False, slug=row.slug
        )
        return HttpResponse(render(answer), content_type="application/json", status=201)


urlpatterns = [
    path("inspect/", documented(InspectView, model_inspect.ENDPOINT).as_view(), name="models-inspect"),
    path("import/", ImportView.as_view(), name="models-import"),
]
