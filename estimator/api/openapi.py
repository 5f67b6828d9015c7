"""The schema of pydantic models and of estimate endpoints, for drf-spectacular."""

from collections.abc import Iterator
from typing import Any

from drf_spectacular.contrib.pydantic import PydanticExtension
from drf_spectacular.drainage import set_override, warn
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from pydantic import BaseModel

from catalog.api.problem_schema import problem_responses
from estimator.api.view import EstimateQuery, EstimateView
from estimator.estimates.endpoint import Endpoint
from estimator.estimates.examples import example_path

REF_PREFIX = "#/components/schemas/"
REQUEST_SUFFIX = "Request"


class ModelSchema(PydanticExtension):
    """Request models in validation mode with the suffix Request, answers in serialization mode.

    Two models of one name would overwrite each other in the components without a word; here that is a warning, and the
    build fails on warnings.
    """

    priority = 1

    def get_name(self, auto_schema: Any, direction: str) -> str:
        """Name of the component."""
        set_override(self.target, "suppress_collision_warning", True)
        name: str = self.target.__name__
        # The framework puts Request behind the name of every request by itself.
        return name.removesuffix(REQUEST_SUFFIX) if direction == "request" else name

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """The model's schema; models inside it become components of their own."""
        schema = model_schema(self.target, direction)
        for name, part in schema.pop("$defs", {}).items():
            self._register(auto_schema, name, part)
        self._warn_if_other(auto_schema, component_name(self.target.__name__, direction), schema)
        return schema

    def _register(self, auto_schema: Any, name: str, schema: dict[str, Any]) -> None:
        self._warn_if_other(auto_schema, name, schema)
        component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema)
        auto_schema.registry.register_on_missing(component)

    def _warn_if_other(self, auto_schema: Any, name: str, schema: dict[str, Any]) -> None:
        known = auto_schema.registry._components.get((name, ResolvedComponent.SCHEMA))
        if known is not None and known.schema is not None and known.schema != schema:
            warn(f"two different models are both called {name} in the schema; rename one")


def component_name(name: str, direction: str) -> str:
    """Name of a model in the components: requests end in Request, so that both forms of one model can stand there."""
    if direction == "request" and not name.endswith(REQUEST_SUFFIX):
        return name + REQUEST_SUFFIX
    return name


def model_schema(model: type[BaseModel], direction: str) -> dict[str, Any]:
    """JSON Schema of a model with `$defs`, its references pointing to components."""
    request = direction == "request"
    schema = model.model_json_schema(
        mode="validation" if request else "serialization", ref_template=REF_PREFIX + "{model}"
    )
    renamed: dict[str, Any] = _renamed(schema) if request else schema
    return renamed


def _renamed(node: Any) -> Any:
    """The schema with every model inside it, and each reference to one, called as in a request."""
    if isinstance(node, list):
        return [_renamed(child) for child in node]
    if not isinstance(node, dict):
        return node
    renamed = {key: _renamed(child) for key, child in node.items()}
    if isinstance(renamed.get("$ref"), str):
        renamed["$ref"] = REF_PREFIX + component_name(renamed["$ref"].removeprefix(REF_PREFIX), "request")
    if "$defs" in renamed:
        renamed["$defs"] = {component_name(name, "request"): part for name, part in renamed["$defs"].items()}
    return renamed


def documented(view: type[EstimateView], endpoint: Endpoint[Any, Any]) -> type[EstimateView]:
    """The view with its operation described: bodies, examples, every status it answers with."""
    describe = extend_schema(
        operation_id=endpoint.operation_id,
        tags=["estimates"],
        summary=endpoint.summary,
        description=endpoint.description,
        request={"application/json": endpoint.request},
        parameters=list(query_parameters(EstimateQuery)),
        responses={
            (200, "application/json"): OpenApiResponse(endpoint.response, description="The estimate."),
            **problem_responses(400, 401, 403, 413, 415, 422, 429),
        },
        examples=list(_examples(endpoint)),
    )
    described: type[EstimateView] = extend_schema_view(post=describe)(view)
    return described


def query_parameters(model: type[BaseModel]) -> Iterator[OpenApiParameter]:
    """The parameters of a query model for the schema."""
    schema = model.model_json_schema()
    for name, field in schema["properties"].items():
        kept = {key: value for key, value in field.items() if key not in ("title", "description")}
        yield OpenApiParameter(
            name,
            kept,
            OpenApiParameter.QUERY,
            required=name in schema.get("required", ()),
            description=field["description"],
        )


def _examples(endpoint: Endpoint[Any, Any]) -> Iterator[OpenApiExample]:
    for example in endpoint.examples:
        yield OpenApiExample(f"{example.name}-request", summary=example.summary, value=example.body, request_only=True)
        if not example_path(endpoint.slug, example.name).exists():
            # `write_api_examples` is about to write it; the test of the examples fails while it is missing.
            continue
        yield OpenApiExample(
            f"{example.name}-answer",
            summary=example.summary + (" (?explain=true)" if example.explain else ""),
            value=example.answer(endpoint.slug),
            response_only=True,
            status_codes=["200"],
        )
