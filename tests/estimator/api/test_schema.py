"""The OpenAPI document: complete, consistent, and without a reference that leads nowhere."""

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from pydantic import BaseModel, Field

from estimator.api.openapi import component_name, model_schema
from estimator.api.urls import ENDPOINTS
from tests.estimator.api.echo_endpoint import EchoAnswer, EchoRequest


@pytest.fixture(scope="module")
def document():
    with GENERATOR_STATS.silence():
        return SchemaGenerator(urlconf="tests.estimator.api.urls").get_schema(request=None, public=True)


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for child in node.values():
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)


def leads(document, ref):
    _here, components, kind, name = ref.split("/")
    return name in document[components].get(kind, {})


def test_the_document_is_valid_openapi_3_1(document):
    assert document["openapi"].startswith("3.1")
    validate_schema(document)


def test_every_reference_leads_to_a_component(document):
    found = set(references(document))
    assert found
    assert [ref for ref in found if not leads(document, ref)] == []


def test_models_of_requests_end_in_request_and_no_name_is_a_path_of_modules(document):
    names = document["components"]["schemas"].keys()
    assert "PlanInputs" in names
    assert "ShapeModelRequest" in names
    assert [name for name in names if "__" in name or name.endswith("RequestRequest")] == []


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.slug)
def test_every_estimate_documents_its_statuses_examples_and_tag(document, endpoint):
    operation = document["paths"][f"/api/v1/estimates/{endpoint.slug}/"]["post"]
    assert operation["tags"] == ["estimates"]
    assert operation["summary"]
    assert set(operation["responses"]) == {"200", "400", "401", "403", "413", "415", "422", "429", "503"}
    for status, response in operation["responses"].items():
        kind = "application/json" if status == "200" else "application/problem+json"
        assert list(response["content"]) == [kind]
    examples = operation["requestBody"]["content"]["application/json"]["examples"]
    answers = operation["responses"]["200"]["content"]["application/json"]["examples"]
    assert len(examples) == len(answers) == len(endpoint.examples)
    assert {parameter["name"] for parameter in operation["parameters"]} == {"explain", "calibrated"}


def test_limits_of_whole_numbers_reach_the_schema():
    schema = model_schema(EchoRequest, "request")
    tp = schema["$defs"]["ParallelismRequest"]["properties"]["tp"]
    assert (tp["type"], tp["minimum"], tp["maximum"], tp["default"]) == ("integer", 1, 4096, 1)


def test_unknown_fields_are_refused_by_the_schema_too():
    schema = model_schema(EchoRequest, "request")
    assert schema["additionalProperties"] is False
    assert all(part["additionalProperties"] is False for part in schema["$defs"].values() if part.get("properties"))


def test_an_answer_requires_every_field_but_the_explanation():
    schema = model_schema(EchoAnswer, "response")
    assert set(schema["properties"]) - set(schema["required"]) == {"explanation"}


def test_names_get_the_suffix_once():
    assert component_name("Part", "request") == "PartRequest"
    assert component_name("PartRequest", "request") == "PartRequest"
    assert component_name("Part", "response") == "Part"


def test_two_models_of_one_name_are_warned_of(monkeypatch, capsys):
    class PlanInputs(BaseModel):
        other: int = Field(description="Another model of the same name.")

    from rest_framework.views import APIView

    from estimator.api.openapi import ModelSchema

    class Registry:
        _components: dict = {}

        def register_on_missing(self, component):
            self._components.setdefault((component.name, component.type), component)

    class AutoSchema:
        registry = Registry()
        view = APIView()

    warned: list[str] = []
    monkeypatch.setattr("estimator.api.openapi.warn", warned.append)

    class Outer(BaseModel):
        inner: PlanInputs

    ModelSchema(EchoAnswer).map_serializer(AutoSchema(), "response")
    assert warned == []
    ModelSchema(Outer).map_serializer(AutoSchema(), "response")
    assert warned == ["two different models are both called PlanInputs in the schema; rename one"]
