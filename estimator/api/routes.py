"""Turns a declared endpoint into a documented URL pattern."""

from typing import Any

from django.urls import URLPattern, path

from estimator.api.openapi import documented
from estimator.api.view import EstimateView
from estimator.estimates.endpoint import Endpoint


def route(endpoint: Endpoint[Any, Any]) -> URLPattern:
    """The URL pattern of an endpoint, its view documented in the schema."""
    name = endpoint.operation_id.title().replace("_", "") + "View"
    view: type[EstimateView] = type(name, (EstimateView,), {"endpoint": endpoint})
    return path(f"{endpoint.slug}/", documented(view, endpoint).as_view(), name=endpoint.slug)
