"""CPU of every estimate endpoint: the view against one that does nothing, and the estimate inside it alone."""

from collections.abc import Callable

import orjson
import pytest
from django.http import HttpRequest, HttpResponse
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from estimator.api.parsing import parse_body
from estimator.api.urls import ENDPOINTS
from estimator.api.view import EstimateView, RawJsonParser
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.resolvers.live import current_facts
from tests.shipped_catalog import load_shipped_catalog
from tests.timing import least_cpu_s

pytestmark = [pytest.mark.bench, pytest.mark.django_db]
# Limits of one estimate in process, validated body to result object, explain off.
LIMIT_US = {"cost": 400.0, "prompt-cache": 400.0, "throughput": 2000.0}
# The first worked example, or the plain question where that asks for many at once (batch sizes, targets, drafts).
PLAIN = {
    "throughput": {
        "model": "llama-3.1-8b",
        "gpu": "h100-sxm5-80gb",
        "engine": "vllm",
        "workload": {"mode": "closed_loop", "input_tokens": 1000, "output_tokens": 300, "concurrency": 32},
    }
}


class Nothing(APIView):
    """What the framework itself costs: authentication, throttle, parser, an answer."""

    parser_classes = [RawJsonParser]
    token_scope = "estimate"
    throttle_scope = "estimates"

    def post(self, request: HttpRequest) -> HttpResponse:
        assert request.data
        current_facts()
        return HttpResponse(b"{}", content_type="application/json")


@pytest.fixture(autouse=True)
def catalog(db: None) -> None:
    load_shipped_catalog(with_genai_prices=False)


def best_us(work: Callable[[], object], *, loops: int = 20, rounds: int = 15) -> float:
    """Microseconds of CPU of one call, best of `rounds`."""
    return least_cpu_s(work, times=rounds, loops=loops) * 1e6


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.slug)
def test_a_view_against_one_that_does_nothing(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(APIView, "throttle_classes", [])
    raw = orjson.dumps(PLAIN.get(endpoint.slug, endpoint.examples[0].body))
    requests = APIRequestFactory()

    def through(view: Callable[..., HttpResponse]) -> float:
        def call() -> None:
            answer = view(requests.post("/", raw, content_type="application/json"))
            assert answer.status_code == 200

        return best_us(call)

    whole_us = through(type("View", (EstimateView,), {"endpoint": endpoint}).as_view())
    nothing_us = through(Nothing.as_view())
    facts = current_facts()
    body = parse_body(endpoint.request, raw, facts)
    asked = Asked(facts=facts, explain=False)
    estimate_us = best_us(lambda: endpoint.answer(body, asked))
    print(  # noqa: T201  the bench is read by people
        f"\n{endpoint.slug}: view {whole_us:.0f} µs of CPU, {whole_us / nothing_us:.2f} x a view that does nothing; "
        f"the estimate alone {estimate_us:.0f} µs"
    )
    assert estimate_us <= LIMIT_US.get(endpoint.slug, float("inf"))
