"""Bodies that mean harm, or none: each a clear 4xx, for work in proportion to its size, and nothing stored."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from django.test import Client

from estimator.api.urls import ENDPOINTS
from tests.effort import lines_run

pytestmark = pytest.mark.django_db

TOKENS = "/api/v1/estimates/tokens/"
URLS = [f"/api/v1/estimates/{endpoint.slug}/" for endpoint in ENDPOINTS]

HOSTILE = {
    "nothing": b"",
    "half an object": b'{"words": 1',
    "ten thousand deep": b'{"words":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "NaN": b'{"words": NaN}',
    "a number beyond floats": b'{"words": 1e400}',
    "a number of 5,000 digits": b'{"words": ' + b"9" * 5000 + b"}",
    "negative": b'{"words": -1}',
    "truth for a number": b'{"words": true}',
    "text for a number": b'{"words": "900"}',
    "null": b"null",
    "a list": b"[]",
    "a key twice": b'{"words": 1, "words": 2}',
    "no UTF-8": b'{"language": "\xff\xfe"}',
    "UTF-16": '{"words": 1}'.encode("utf-16"),
    "a lone surrogate": b'{"text": "\\ud800"}',
    "a null byte in a name": b'{"wor\\u0000ds": 1}',
    "a null byte in a text": b'{"text": "a\\u0000b", "language": "en"}',
    "SQL for a slug": b'{"words": 1, "model": "x\'; DROP TABLE catalog_gpu; --"}',
    "a path for a language": b'{"words": 1, "language": "../../etc/passwd"}',
    "markup for a language": b'{"words": 1, "language": "<script>alert(1)</script>"}',
    "a thousand unknown fields": orjson.dumps({f"field{i}": i for i in range(1000)}),
}


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_each_is_a_problem_of_the_caller(client: Client, url: str, body: bytes):
    response = client.post(url, body, content_type="application/json")
    assert response.status_code == 400, response.content[:300]
    problem = response.json()
    assert response["Content-Type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "instance", "request_id", "errors"} <= problem.keys()
    assert 1 <= len(problem["errors"]) <= 100
    for error in problem["errors"]:
        assert error["pointer"].startswith("#")
        assert error["detail"]


GROWING = {
    "nested": lambda size: b'{"words":' + b"[" * size + b"]" * size + b"}",
    "unknown fields": lambda size: orjson.dumps({f"field{place}": place for place in range(size)}),
    "a long text": lambda size: orjson.dumps({"text": "palabra " * size, "language": "es"}),
    "a long number": lambda size: b'{"words": ' + b"9" * size + b"}",
    "a long slug": lambda size: orjson.dumps({"words": 1, "model": "x" * size}),
}


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("body_of", GROWING.values(), ids=GROWING.keys())
def test_a_body_twice_as_long_is_at_most_twice_the_work(client: Client, url: str, body_of: Callable[[int], bytes]):
    def work(size: int) -> int:
        body = body_of(size)
        client.post(url, body, content_type="application/json")  # whoever asks first pays for building the facts
        return lines_run(lambda: client.post(url, body, content_type="application/json"))

    assert work(4_000) <= 2.1 * work(2_000)


def test_the_value_of_a_wrong_field_comes_back_as_data_only(client: Client):
    response = client.post(TOKENS, HOSTILE["SQL for a slug"], content_type="application/json")
    assert response.json()["errors"][0]["code"] == "unknown_slug"


@pytest.mark.parametrize("url", URLS)
def test_five_megabytes_are_too_large(client: Client, url: str):
    response = client.post(url, b'{"text": "' + b"x" * 5_000_000 + b'"}', content_type="application/json")
    assert response.status_code == 413
    assert response.json()["type"].endswith("body-too-large")


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", ""],
)
def test_another_media_type_is_not_read(client: Client, content_type: str):
    response = client.generic("POST", TOKENS, b'{"words": 1}', content_type=content_type)
    assert response.status_code == 415, response.content
    assert response.json()["status"] == 415


def test_json_with_parameters_is_read(client: Client):
    response = client.post(TOKENS, b'{"words": 900}', content_type="application/json; charset=utf-8")
    assert response.json()["tokens"] == 1200


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_another_method_is_a_problem_that_names_the_allowed_ones(client: Client, method: str):
    response = client.generic(method, TOKENS, b"{}", content_type="application/json")
    assert response.status_code == 405
    assert "POST" in response["Allow"]
    assert response["Content-Type"] == "application/problem+json"


def test_accept_is_ignored(client: Client):
    response = client.post(TOKENS, b'{"words": 1}', content_type="application/json", headers={"Accept": "text/html"})
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")


def test_an_unknown_or_repeated_query_parameter_is_told_by_name(client: Client):
    response = client.post(TOKENS + "?explian=true", b'{"words": 1}', content_type="application/json")
    assert [(e["parameter"], e["code"]) for e in response.json()["errors"]] == [("explian", "unknown_field")]
    response = client.post(TOKENS + "?explain=true&explain=1", b'{"words": 1}', content_type="application/json")
    assert response.json()["errors"][0]["code"] == "ambiguous"


def test_text_of_a_million_characters_is_counted_and_one_more_is_refused(client: Client):
    text = "palabra " * 125_000
    body = orjson.dumps({"text": text, "language": "es"})
    response = client.post(TOKENS, body, content_type="application/json")
    assert response.json()["method"]["units"] == 125_000
    response = client.post(
        TOKENS, orjson.dumps({"text": text + "x", "language": "es"}), content_type="application/json"
    )
    assert response.json()["errors"][0]["code"] == "out_of_range"


EXTREMES = (5e-324, -0.0, 1e308, 10**30, -1, True, None, "1", [], {})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def replaced(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    body = copy.deepcopy(body)
    inner = body
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return body


@pytest.mark.usefixtures("loaded_catalog")
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=[endpoint.slug for endpoint in ENDPOINTS])
def test_no_value_in_any_field_of_an_example_breaks_the_service_or_is_refused_without_words(client: Client, endpoint):
    url = f"/api/v1/estimates/{endpoint.slug}/"
    for path in places(endpoint.examples[0].body):
        for value in EXTREMES:
            body = json.dumps(replaced(endpoint.examples[0].body, path, value))
            response = client.post(url, body, content_type="application/json")
            assert response.status_code in (200, 400, 422), (path, value, response.content[:300])
            for error in response.json().get("errors", ()):
                assert error["detail"] != "This value is not valid.", (path, value)


@pytest.mark.usefixtures("loaded_catalog")
def test_bytes_beyond_64_bits_are_said_exactly(client: Client):
    body = {
        "model": {"parameters": 8e9, "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128},
        "gpu": "h100-sxm5-80gb",
        "workload": {"input_tokens": 1e8, "output_tokens": 0, "concurrency": 1_000_000},
    }
    response = client.post("/api/v1/estimates/memory-fit/", orjson.dumps(body), content_type="application/json")
    assert json.loads(response.content)["kv_cache"]["needed_bytes"] == 2 * 32 * 8 * 128 * 2 * 10**8 * 10**6
