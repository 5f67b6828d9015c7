"""Addresses of the estimates: one line an endpoint."""

from estimator.api.routes import route
from estimator.api.schemas import break_even, cost, memory_fit, prompt_cache, sizing, throughput, tokens

ENDPOINTS = (
    memory_fit.ENDPOINT,
    throughput.ENDPOINT,
    cost.ENDPOINT,
    prompt_cache.ENDPOINT,
    break_even.ENDPOINT,
    sizing.ENDPOINT,
    tokens.ENDPOINT,
)

urlpatterns = [route(endpoint) for endpoint in ENDPOINTS]
