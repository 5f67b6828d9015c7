"""`manifests/`: what starts a server, answered as the question that it asks."""

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from catalog.api.problem_schema import problem_responses
from catalog.api.problems import problem_of
from catalog.api.query import refuse_parameters
from estimator.api.parsing import parse_body
from estimator.api.view import RawJsonParser
from estimator.engine.faults import ResolutionError
from estimator.resolvers.live import calibrated_facts
from manifests.answer import ManifestAnswer
from manifests.beside import ManifestRequest
from manifests.service import answer_manifest


class ManifestsView(APIView):
    """Reads, asks, answers; nothing is run or kept."""

    parser_classes = [RawJsonParser]
    token_scope = "estimate"  # noqa: S105  a scope is no secret
    throttle_scope = "estimates"

    @extend_schema(
        operation_id="manifests_read",
        tags=["manifests"],
        summary="What a command, Compose file or Kubernetes manifest asks, and the verdict on it",
        description=(
            "Reads how a server is started (vLLM, SGLang, TensorRT-LLM, llama.cpp; a command, Compose, Kubernetes, "
            "KServe, llm-d) as the question that it asks, says where each part came from and what was not stated, and "
            "answers with verdict, speed, cost and what to change; beside the last version what differs. Flags that "
            "the engine does not have are named, and so are those that no figure uses. A plan without a verdict is 200 "
            "with `missing`."
        ),
        request={"application/json": ManifestRequest},
        responses={
            (200, "application/json"): OpenApiResponse(ManifestAnswer, description="The manifest, read and answered."),
            **problem_responses(400, 401, 403, 413, 415, 422, 429),
        },
    )
    def post(self, request: Request) -> HttpResponse:
        """The manifest, read and answered."""
        refuse_parameters(request.query_params)
        raw = request.data if isinstance(request.data, bytes) else b""
        facts = calibrated_facts(request.user.pk)
        try:
            answer = answer_manifest(parse_body(ManifestRequest, raw, facts), facts)
        except ResolutionError as error:
            raise problem_of(error.faults) from None
        return HttpResponse(answer.model_dump_json(), content_type="application/json")
