"""Each answer a test gets is held against docs/openapi.yaml; here, that a break of it is seen."""

import orjson
import pytest
from django.test.client import ClientHandler
from rest_framework.response import Response
from rest_framework.test import APIClient

from catalog.api.price_resources import ProviderViewSet
from tests.conftest import published_answer
from tests.published_schema import JSON, METHODS, PROBLEM, answer_faults, published, template_of

PRICES = "/api/v1/api-prices/"


@pytest.mark.parametrize(
    ("method", "path", "status", "content_type", "body", "seen"),
    [
        ("GET", PRICES, 200, JSON, {"count": 0, "page": 1, "page_size": 50, "pages": 1, "results": []}, None),
        ("GET", PRICES, 200, JSON, {"count": "none"}, "count"),
        ("GET", PRICES + "a-slug/", 200, JSON, {}, "array"),
        ("GET", PRICES, 206, JSON, {}, "knows no 206"),
        ("GET", PRICES, 200, "text/csv", {}, "knows no text/csv"),
        ("DELETE", PRICES, 204, JSON, {}, "does not know this operation"),
        ("GET", "/api/v1/nowhere/", 200, JSON, {}, "does not know this operation"),
        ("GET", "/api/v1/nowhere/", 404, PROBLEM, {"title": "Not found"}, "type"),
        ("GET", PRICES, 400, JSON, {"detail": "wrong"}, "not application/problem+json"),
        ("GET", "/healthz", 200, JSON, {}, None),
    ],
)
def test_an_answer_that_the_schema_does_not_describe_is_named(method, path, status, content_type, body, seen):
    found = answer_faults(method, path, status, content_type, orjson.dumps(body))
    assert found == [] if seen is None else seen in "; ".join(found)


def test_the_client_of_every_test_fails_on_such_an_answer(monkeypatch, db):
    monkeypatch.setattr(ClientHandler, "__call__", published_answer)
    monkeypatch.setattr(ProviderViewSet, "list", lambda view, request: Response({"count": "none"}))
    with pytest.raises(AssertionError, match=r"GET /api/v1/providers/ answered 200"):
        APIClient().get("/api/v1/providers/")


def test_every_path_of_the_schema_is_found_by_its_own_template():
    for template in published()["paths"]:
        assert template_of(template.replace("{", "").replace("}", "")) == template


def test_no_two_components_have_one_title():
    titles = [part["title"] for part in published()["components"]["schemas"].values() if "title" in part]
    assert len(titles) == len(set(titles))
    assert all(set(methods) & {*METHODS} for methods in published()["paths"].values())
