"""Addresses of the estimates: one line an endpoint."""

from estimator.api.routes import route
from estimator.api.schemas import memory_fit, throughput, tokens

ENDPOINTS = (memory_fit.ENDPOINT, throughput.ENDPOINT, tokens.ENDPOINT)

urlpatterns = [route(endpoint) for endpoint in ENDPOINTS]
