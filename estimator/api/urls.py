"""Addresses of the estimates: one line an endpoint."""

from estimator.api.routes import route
from estimator.api.schemas import cost, memory_fit, prompt_cache, throughput, tokens

ENDPOINTS = (memory_fit.ENDPOINT, throughput.ENDPOINT, cost.ENDPOINT, prompt_cache.ENDPOINT, tokens.ENDPOINT)

urlpatterns = [route(endpoint) for endpoint in ENDPOINTS]
