"""Addresses of the estimates: one line an endpoint."""

from django.urls import path

from estimator.api.batch_docs import questions_documented, usage_documented
from estimator.api.routes import route
from estimator.estimates.break_even import answer as break_even
from estimator.estimates.cost import answer as cost
from estimator.estimates.memory_fit import answer as memory_fit
from estimator.estimates.prompt_cache import answer as prompt_cache
from estimator.estimates.sizing import answer as sizing
from estimator.estimates.throughput import answer as throughput
from estimator.estimates.tokens import answer as tokens
from estimator.estimates.verdict import answer as verdict

ENDPOINTS = (
    verdict.ENDPOINT,
    memory_fit.ENDPOINT,
    throughput.ENDPOINT,
    cost.ENDPOINT,
    prompt_cache.ENDPOINT,
    break_even.ENDPOINT,
    sizing.ENDPOINT,
    tokens.ENDPOINT,
)

urlpatterns = [
    *(route(endpoint) for endpoint in ENDPOINTS),
    path("batch/", questions_documented(ENDPOINTS).as_view(), name="estimates-batch"),
    path("cost/batch/", usage_documented().as_view(), name="cost-batch"),
]
