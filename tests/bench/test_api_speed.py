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
from tests.bench.cpu_time import least_cpu_s
from tests.shipped_catalog import load_shipped_catalog

pytestmark = [pytest.mark.bench, pytest.mark.django_db]
# A view's CPU against one that does nothing, explain off; about a third above what was measured on 2026-11-30.
LIMIT = {
    "memory-fit": 10.5, "throughput": 28.5, "cost": 6.6, "prompt-cache": 7.3, "break-even": 8.2, "sizing": 157.0,
    "tokens": 2.7,
}  # fmt: skip
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


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.slug)
def test_a_view_against_one_that_does_nothing(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(APIView, "throttle_classes", [])
    raw = orjson.dumps(PLAIN.get(endpoint.slug, endpoint.examples[0].body))
    requests = APIRequestFactory()

    def through(view: Callable[..., HttpResponse]) -> Callable[[], None]:
        def call() -> None:
            answer = view(requests.post("/", raw, content_type="application/json"))
            assert answer.status_code == 200

        return call

    facts = current_facts()
    body = parse_body(endpoint.request, raw, facts)
    asked = Asked(facts=facts, explain=False)
    whole_s, nothing_s, estimate_s = least_cpu_s(
        through(type("View", (EstimateView,), {"endpoint": endpoint}).as_view()),
        through(Nothing.as_view()),
        lambda: endpoint.answer(body, asked),
    )
    print(  # noqa: T201  the bench is read by people
        f"\n{endpoint.slug}: view {whole_s * 1e6:.0f} µs of CPU, {whole_s / nothing_s:.2f} x a view that does nothing; "
        f"the estimate alone {estimate_s * 1e6:.0f} µs"
    )
    assert whole_s <= LIMIT[endpoint.slug] * nothing_s
