"""Routes of tests: views that fail in each way, beside the real ones."""

from typing import Any

from django.http import Http404
from django.urls import path
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from catalog.api import problems
from config.urls import handler400, handler403, handler404, handler500  # noqa: F401  found here by name
from config.urls import urlpatterns as real
from estimator.engine import errors as engine
from estimator.engine.faults import Fault

FAILURES: dict[str, Any] = {
    "invalid": lambda: problems.InvalidRequest(
        errors=[
            Fault(
                code="unknown_slug",
                detail="No GPU has this slug.",
                path=("gpu",),
                near=("h100-sxm", "h200-sxm"),
            )
        ]
    ),
    "framework-invalid": lambda: exceptions.ValidationError({"gpu": ["wrong"]}),
    "malformed": problems.MalformedBody,
    "framework-malformed": exceptions.ParseError,
    "packed": problems.UnsupportedMediaType,
    "framework-media": lambda: exceptions.UnsupportedMediaType("text/csv"),
    "framework404": exceptions.NotFound,
    "http404": Http404,
    "conflict": problems.Conflict,
    "gone": problems.Gone,
    "stale": problems.PreconditionFailed,
    "unpriced": lambda: engine.UnpricedMeterError("cache_read has no price", meter="cache_read"),
    "architecture": lambda: engine.UnknownArchitectureError(
        "model_type lamma is not known", model_type="lamma", near=("llama",)
    ),
    "missing": lambda: engine.MissingFigureError("no bf16 rate", field="gpu.peak_flops_per_s"),
    "range": lambda: engine.InvalidInputError("must be positive", field="workload.input_tokens"),
    "throttled": lambda: exceptions.Throttled(wait=7.2),
    "unavailable": lambda: problems.Unavailable(headers={"Retry-After": "5"}),
    "crash": lambda: RuntimeError("the password is hunter2"),
}


class Fail(APIView):
    def get(self, request: Request, kind: str) -> Response:
        raise FAILURES[kind]()


class Item(serializers.Serializer[Any]):
    size = serializers.IntegerField(min_value=1)


class Body(serializers.Serializer[Any]):
    name = serializers.CharField()
    items = Item(many=True)


class Echo(APIView):
    token_scope = "estimate"

    def post(self, request: Request) -> Response:
        Body(data=request.data).is_valid(raise_exception=True)
        return Response(request.data)


class NotFinite(APIView):
    def get(self, request: Request) -> Response:
        return Response({"rows": [1.0, {"tpot_s": float("nan")}]})


class Owned(APIView):
    token_scope = "reports"
    throttle_scope = "reports-create"

    def get(self, request: Request) -> Response:
        return Response({"user": request.user.get_username()})

    post = get


urlpatterns = [
    path("api/v1/fail/<kind>/", Fail.as_view()),
    path("api/v1/echo/", Echo.as_view()),
    path("api/v1/not-finite/", NotFinite.as_view()),
    path("api/v1/owned/", Owned.as_view()),
    *real,
]
