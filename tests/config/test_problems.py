"""Every error under /api/ is a problem of RFC 9457."""

import json

import pytest
from django.test import Client

from catalog.api import problems
from catalog.api.json_format import read_json, write_json
from catalog.api.strict_json import MAX_DEPTH, UnacceptableJsonError, read_strictly
from estimator.engine.faults import Fault
from tests.config.problem_urls import FAILURES

pytestmark = [pytest.mark.urls("tests.config.problem_urls"), pytest.mark.django_db]


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def problem_of(response, status: int, problem_type: str) -> dict:
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body = json.loads(response.content)
    assert body["type"] == f"urn:aforo:problem:{problem_type}"
    assert body["status"] == status
    assert body["title"]
    assert body["request_id"] == response["X-Request-ID"]
    assert body["instance"].startswith("/api/")
    return body


def test_a_field_error_names_pointer_code_and_near_matches(client):
    body = problem_of(client.get("/api/v1/fail/invalid/"), 400, "invalid-request")
    assert body["errors"] == [
        {
            "pointer": "#/gpu",
            "code": "unknown_slug",
            "detail": "No GPU has this slug.",
            "near": ["h100-sxm", "h200-sxm"],
        }
    ]


@pytest.mark.parametrize(
    ("kind", "status", "problem_type"),
    [
        ("http404", 404, "not-found"),
        ("conflict", 409, "conflict"),
        ("gone", 410, "gone"),
        ("stale", 412, "precondition-failed"),
        ("unpriced", 422, "unpriced-meter"),
        ("architecture", 422, "unknown-architecture"),
        ("missing", 422, "missing-figure"),
        ("range", 400, "invalid-request"),
        ("throttled", 429, "throttled"),
        ("unavailable", 503, "unavailable"),
    ],
)
def test_each_cause_has_its_status_and_type(client, kind, status, problem_type):
    problem_of(client.get(f"/api/v1/fail/{kind}/"), status, problem_type)


def test_an_engine_error_points_at_its_field(client):
    body = problem_of(client.get("/api/v1/fail/range/"), 400, "invalid-request")
    assert body["errors"][0] == {
        "pointer": "#/workload/input_tokens",
        "code": "invalid",
        "detail": "must be positive",
    }


def test_an_unknown_architecture_names_the_model_type_and_its_neighbours(client):
    body = problem_of(client.get("/api/v1/fail/architecture/"), 422, "unknown-architecture")
    assert body["model_type"] == "lamma"
    assert body["errors"][0]["near"] == ["llama"]


def test_retry_after_is_rounded_up_to_whole_seconds(client):
    assert client.get("/api/v1/fail/throttled/")["Retry-After"] == "8"
    assert client.get("/api/v1/fail/unavailable/")["Retry-After"] == "5"


def test_a_500_shows_only_the_request_id(client):
    response = client.get("/api/v1/fail/crash/", headers={"X-Request-ID": "abc-12345"})
    body = problem_of(response, 500, "internal-error")
    assert body["request_id"] == "abc-12345"
    assert b"hunter2" not in response.content


def test_a_test_client_sees_the_exception_behind_a_500():
    with pytest.raises(RuntimeError, match="hunter2"):
        Client().get("/api/v1/fail/crash/")


def test_an_answer_with_nan_is_a_500_and_never_null(client):
    problem_of(client.get("/api/v1/not-finite/"), 500, "internal-error")


@pytest.mark.parametrize("method", ["get", "post", "put", "delete", "patch"])
def test_an_unrouted_path_under_api_is_a_404_problem(client, method):
    problem_of(getattr(client, method)("/api/v1/nothing/here/"), 404, "not-found")
    problem_of(getattr(client, method)("/api/"), 404, "not-found")


def test_an_unrouted_path_is_a_problem_in_debug_too(client, settings):
    settings.DEBUG = True
    problem_of(client.get("/api/v1/nothing/"), 404, "not-found")


def test_a_missing_slash_is_named(client):
    body = problem_of(client.post("/api/v1/echo"), 404, "not-found")
    assert "/api/v1/echo/" in body["detail"]


def test_405_names_the_allowed_methods(client):
    response = client.delete("/api/v1/echo/")
    problem_of(response, 405, "method-not-allowed")
    assert "POST" in response["Allow"]


def test_415_for_a_body_that_is_not_json(client):
    problem_of(client.post("/api/v1/echo/", "a=1", content_type="text/csv"), 415, "unsupported-media-type")


@pytest.mark.parametrize("accept", ["text/csv", "application/xml", "nonsense", "text/html;q=0.9", ""])
def test_accept_never_makes_a_406(client, accept):
    response = client.post("/api/v1/echo/", "{}", content_type="application/json", headers={"Accept": accept})
    problem_of(response, 400, "invalid-request")


@pytest.mark.parametrize("body", ["{", "NaN", '{"a": NaN}', '{"a": 1e999}', '{"a": [-Infinity]}', "\ufeff{}", "'a'"])
def test_what_is_not_json_is_malformed(client, body):
    response = client.post("/api/v1/echo/", body.encode(), content_type="application/json")
    problem = problem_of(response, 400, "malformed-body")
    assert problem["errors"][0]["code"] == "malformed"


def test_serializer_errors_are_flat_with_pointers(client):
    body = json.dumps({"items": [{"size": 1}, {"size": 0}, {"size": "x"}, {}]})
    problem = problem_of(client.post("/api/v1/echo/", body, content_type="application/json"), 400, "invalid-request")
    assert [(e["pointer"], e["code"]) for e in problem["errors"]] == [
        ("#/name", "required"),
        ("#/items/1/size", "out_of_range"),
        ("#/items/2/size", "invalid"),
        ("#/items/3/size", "required"),
    ]


def test_a_5_mb_body_is_413(client):
    body = json.dumps({"name": "x" * 5_000_000})
    problem_of(client.post("/api/v1/echo/", body, content_type="application/json"), 413, "body-too-large")


def test_a_body_that_understates_its_length_is_still_cut(settings, rf):
    from catalog.api.json_format import JsonParser

    settings.AFORO_MAX_BODY_BYTES = 1024
    request = rf.post("/api/", b"[" + b"1," * 1000 + b"1]", content_type="application/json")
    with pytest.raises(problems.BodyTooLarge):
        JsonParser().parse(request)


@pytest.mark.parametrize("given", ["short", "with space inside", "line\nbreak-123", "x" * 200, "é" * 10])
def test_an_incoming_request_id_that_is_not_sane_is_replaced(client, given):
    response = client.get("/api/v1/nothing/", headers={"X-Request-ID": given})
    assert response["X-Request-ID"] != given
    assert len(response["X-Request-ID"]) == 32


def test_a_nul_character_in_an_address_never_reaches_a_database(client):
    problem_of(client.get("/api/v1/echo%00/"), 404, "not-found")
    problem_of(client.get("/api/v1/schema/?search=%00"), 400, "invalid-request")


def test_a_host_that_is_not_ours_is_a_problem(client):
    response = client.get("/api/v1/schema/", headers={"Host": "evil.example"})
    problem_of(response, 400, "invalid-request")


def test_pointers_are_uri_fragments():
    assert problems.pointer() == "#"
    assert problems.pointer("a/b", "c~d", 0, "ñ %") == "#/a~1b/c~0d/0/%C3%B1%20%25"


def test_field_errors_with_codes_outside_the_contract_cannot_be_made():
    with pytest.raises(ValueError, match="no code"):
        Fault(code="wrong", detail="x")


def test_at_most_100_field_errors_are_sent(client, monkeypatch):
    from tests.config import problem_urls

    faults = [Fault(code="required", detail="x", path=(i,)) for i in range(150)]
    monkeypatch.setitem(problem_urls.FAILURES, "many", lambda: problems.InvalidRequest(errors=faults))
    body = problem_of(client.get("/api/v1/fail/many/"), 400, "invalid-request")
    assert len(body["errors"]) == 100


def test_json_of_answers():
    from decimal import Decimal

    from django.utils.translation import gettext_lazy

    value = {"money": Decimal("1E+3"), "text": gettext_lazy("Access"), "rows": (1, 2.5)}
    assert json.loads(write_json(value)) == {"money": "1000", "text": "Access", "rows": [1, 2.5]}
    for bad in (float("inf"), [float("nan")], {"a": {"b": -float("inf")}}):
        with pytest.raises(ValueError, match="The answer holds"):
            write_json(bad)
    for bad in (2**64, Decimal("NaN"), object()):
        with pytest.raises(TypeError):
            write_json(bad)


def test_read_json_names_line_and_column():
    with pytest.raises(problems.MalformedBody) as caught:
        read_json(b'{\n "a": nope}')
    assert "line 2" in caught.value.errors[0].detail


def test_a_packed_body_is_415_and_says_how_to_send_it(client):
    response = client.post("/api/v1/echo/", "{}", content_type="application/json", headers={"Content-Encoding": "gzip"})
    body = problem_of(response, 415, "unsupported-media-type")
    assert "gzip" in body["detail"]
    assert response["Accept-Encoding"] == "identity"


def test_a_body_of_unmarked_length_is_411(client):
    headers = {"Transfer-Encoding": "chunked"}
    request = client.generic("POST", "/api/v1/echo/", "", content_type="application/json", headers=headers)
    problem_of(request, 411, "length-required")


def test_nul_in_a_parameter_names_the_parameter(client):
    body = problem_of(client.get("/api/v1/echo/?search=a%00b&page=1"), 400, "invalid-request")
    assert [(error["parameter"], error["code"]) for error in body["errors"]] == [("search", "invalid")]


def test_one_type_has_one_title_whoever_raises_it(client):
    answers = [client.get(f"/api/v1/fail/{kind}/").json() for kind in FAILURES if kind != "crash"]
    assert len({(answer["type"], answer["title"]) for answer in answers}) == len({answer["type"] for answer in answers})


def test_a_method_nobody_may_use_is_405_whoever_asks(client, settings):
    settings.AFORO_ALLOW_ANONYMOUS = False
    problem_of(client.delete("/api/v1/echo/"), 405, "method-not-allowed")
    problem_of(client.get("/api/v1/echo/"), 405, "method-not-allowed")


@pytest.mark.parametrize("body", [b"", b"   "])
def test_an_empty_body_is_called_empty(body):
    with pytest.raises(UnacceptableJsonError, match="empty"):
        read_strictly(body)


def test_deep_nesting_is_malformed_and_not_an_unknown_fault():
    assert read_strictly(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    with pytest.raises(UnacceptableJsonError) as caught:
        read_strictly(b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1))
    assert [(fault.code, fault.path) for fault in caught.value.faults] == [("malformed", ())]


def test_a_repeated_key_is_pointed_at_where_it_stands():
    with pytest.raises(UnacceptableJsonError) as caught:
        read_strictly(b'{"a": [{"b": 1}, {"b": 1, "b": 2}], "c": 1, "c": 1}')
    assert [(fault.code, fault.path) for fault in caught.value.faults] == [
        ("ambiguous", ("a", 1, "b")),
        ("ambiguous", ("c",)),
    ]


def test_an_answer_is_in_one_language_whatever_is_asked_for(client):
    """The framework brings translations of its own texts; a problem half in Spanish helps nobody."""
    english = client.delete("/api/v1/echo/", headers={"Accept-Language": "en"}).json()
    spanish = client.delete("/api/v1/echo/", headers={"Accept-Language": "es"}).json()
    assert spanish["detail"] == english["detail"]
