"""Every worked example of every endpoint is sent, and its documented answer compared with the real one."""

import math
from decimal import Decimal

import orjson
import pytest

from estimator.api.urls import ENDPOINTS
from estimator.api.view import answer_to
from estimator.estimates.examples import VOLATILE, WorkedExample
from estimator.resolvers.live import current_facts
from tests.estimator.api.pencil import work_out

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

EXAMPLES = [
    pytest.param(endpoint, example, id=f"{endpoint.slug}-{example.name}")
    for endpoint in ENDPOINTS
    for example in endpoint.examples
]


def send(client, endpoint, body, query=""):
    return client.post(
        f"/api/v1/estimates/{endpoint.slug}/{query}", orjson.dumps(body), content_type="application/json"
    )


@pytest.mark.parametrize(("endpoint", "example"), EXAMPLES)
def test_the_documented_answer_is_the_real_one(client, endpoint, example: WorkedExample):
    response = send(client, endpoint, example.body, "?explain=true" if example.explain else "")
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "application/json"
    assert_same(response.json(), example.answer(endpoint.slug), "")


@pytest.mark.parametrize(("endpoint", "example"), EXAMPLES)
def test_the_answer_is_what_the_schema_describes(client, endpoint, example):
    answer = send(client, endpoint, example.body, "?explain=true").json()
    endpoint.response.model_validate_json(orjson.dumps(answer))


@pytest.mark.parametrize(("endpoint", "example"), EXAMPLES)
def test_every_step_can_be_followed_with_a_pencil(client, endpoint, example):
    steps = send(client, endpoint, example.body, "?explain=true").json()["explanation"]
    names = [step["name"] for step in steps]
    assert names, "explain gives no step"
    for step in steps:
        assert step["formula"], step
        assert step["source"], step
        assert step["unit"], step
        if isinstance(step["value"], bool) or step["value"] is None:
            continue
        assert work_out(step["substituted"]) == pytest.approx(float(Decimal(str(step["value"]))), rel=1e-6), step


@pytest.mark.parametrize(("endpoint", "example"), EXAMPLES)
def test_one_wrong_field_is_the_only_fault(client, endpoint, example):
    response = send(client, endpoint, {**example.body, "no_such_field": 1})
    assert response.status_code == 400
    assert [(e["pointer"], e["code"]) for e in response.json()["errors"]] == [("#/no_such_field", "unknown_field")]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.slug)
def test_an_estimate_reads_the_database_once_when_facts_are_warm(client, endpoint, django_assert_num_queries):
    body = endpoint.examples[0].body
    send(client, endpoint, body)
    with django_assert_num_queries(1):
        send(client, endpoint, body)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.slug)
def test_every_endpoint_has_an_example_and_words_for_every_field(endpoint):
    assert endpoint.examples
    for model, mode in ((endpoint.request, "validation"), (endpoint.response, "serialization")):
        schema = {"$defs": {}, **model.model_json_schema(mode=mode)}
        for part in (schema, *schema.get("$defs", {}).values()):
            for name, field in part.get("properties", {}).items():
                # pydantic leaves a description out that says what the model's own says.
                target = schema["$defs"].get(field.get("$ref", "").rsplit("/", 1)[-1], {})
                assert field.get("description") or target.get("description"), f"{part.get('title')}.{name}"


def test_an_example_answer_never_holds_a_number_json_cannot_write():
    for endpoint in ENDPOINTS:
        for example in endpoint.examples:
            raw = answer_to(endpoint, orjson.dumps(example.body), facts=current_facts(), explain=True)
            assert b"NaN" not in raw
            assert b"Infinity" not in raw


def assert_same(real, documented, at):
    """Equal in every word; floats to 1e-9, which is the last digits of another machine's mathematics."""
    if isinstance(documented, dict):
        assert isinstance(real, dict), at
        assert real.keys() == documented.keys(), at
        for key, value in documented.items():
            if key not in VOLATILE:
                assert_same(real[key], value, f"{at}/{key}")
    elif isinstance(documented, list):
        assert isinstance(real, list), at
        assert len(real) == len(documented), at
        for index, value in enumerate(documented):
            assert_same(real[index], value, f"{at}/{index}")
    elif isinstance(documented, float):
        assert isinstance(real, int | float), at
        assert math.isclose(real, documented, rel_tol=1e-9), (at, real, documented)
    else:
        assert real == documented, at
