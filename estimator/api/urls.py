"""Addresses of the estimates: one line an endpoint."""

from estimator.api.routes import route
from estimator.api.schemas import tokens

ENDPOINTS = (tokens.ENDPOINT,)

urlpatterns = [route(endpoint) for endpoint in ENDPOINTS]
