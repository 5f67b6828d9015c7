"""Parts that every answer holds; the response models of the endpoints build on `Answer`."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema, create_model

from estimator.engine.explain import Step
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.resolvers.plan import Provenance, Resolved

Basis = Literal["observed", "calibrated", "nearest_family", "assumption"]
BASIS_HELP = (
    "What the figures of this group rest on: observed (a measurement you gave), calibrated (fitted to measurements), "
    "nearest_family (constants of the nearest measured hardware), assumption."
)


def _exact(value: Decimal) -> str:
    return format(value, "f")


Amount = Annotated[
    Decimal,
    PlainSerializer(_exact, return_type=str),
    WithJsonSchema(
        {"type": "string", "pattern": r"^-?\d+(\.\d+)?$", "description": "Exact decimal as a string."},
        mode="serialization",
    ),
]


class ResponsePart(BaseModel):
    """Base of every model of an answer: finite numbers only, no field that is not documented."""

    model_config = ConfigDict(
        extra="forbid",
        allow_inf_nan=False,
        frozen=True,
        from_attributes=True,
        json_schema_serialization_defaults_required=True,
    )


def part_of(source: type, name: str, doc: str, **said: str) -> Any:
    """A part of an answer that shows fields of a dataclass as they are: their types are those of the dataclass.

    Args:
        source: the dataclass.
        name: name of the part, as in the schema.
        doc: what the part is.
        said: the fields shown, in order, each with its description and unit.
    """
    types = get_type_hints(source)
    money = {Decimal: Amount, Decimal | None: Amount | None}
    fields: dict[str, Any] = {
        field: (money.get(types[field], types[field]), Field(description=text)) for field, text in said.items()
    }
    return create_model(name, __base__=ResponsePart, __doc__=doc, **fields)


class Band(ResponsePart):
    """A calibrated figure with its error band: low ≤ mid ≤ high, in the unit of the figure."""

    low: float = Field(description="Low end of the band (P5 of measured / predicted), in the unit of the figure.")
    mid: float = Field(description="The model's own value, in the unit of the figure.")
    high: float = Field(description="High end of the band (P95 of measured / predicted), in the unit of the figure.")


class ExplanationStep(ResponsePart):
    """One step of the working, to follow with a pencil."""

    name: str = Field(description="The figure this step gives, spelled as in the answer.")
    formula: str = Field(
        description="The formula with names; operators + − · / ^, functions min, max, sqrt, floor, ceil."
    )
    substituted: str = Field(description="The same formula with the numbers put in.")
    value: float | int | str | bool | None = Field(description="The result of the step, in `unit`.")
    unit: str = Field(description="Base unit of the value; 1 for a pure number, an ISO 4217 code for money.")
    source: str = Field(description="Evidence of the formula or of its constants.")

    @classmethod
    def of(cls, step: Step) -> Self:
        """The step as it is sent; money as an exact string."""
        value = _exact(step.value) if isinstance(step.value, Decimal) else step.value
        return cls(
            name=step.name,
            formula=step.formula,
            substituted=step.substituted,
            value=value,
            unit=step.unit,
            source=step.source,
        )


def _explanation_is_optional(schema: dict[str, Any]) -> None:
    """`explanation` is sent only when asked for, whatever pydantic says of defaults."""
    schema["required"] = [name for name in schema.get("required", []) if name != "explanation"]


class Answer(ResponsePart):
    """What every estimate answers beside its own figures."""

    model_config = ConfigDict(json_schema_extra=_explanation_is_optional)

    estimator_version: str = Field(default=ESTIMATOR_VERSION, description="Version of our formulas.")
    catalog_revision: int = Field(description="Revision of the catalog the facts were read at.")
    assumptions: list[str] = Field(default=[], description="What was assumed because the request did not say.")
    warnings: list[str] = Field(default=[], description="What may make the figures unlike reality here.")
    not_modelled: list[str] = Field(default=[], description="Known effects that the figures leave out.")
    provenance: list[Provenance] = Field(default=[], description="Origin of each fact used.")
    explanation: list[ExplanationStep] | None = Field(
        default=None, description="The working, step by step; only with ?explain=true."
    )


def common_parts(
    resolved: Resolved, *, catalog_revision: int, steps: Iterable[Step], explain: bool, **more: list[str]
) -> dict[str, Any]:
    """Keyword arguments of `Answer` that come from a resolved plan.

    Args:
        resolved: the plan, or whatever was resolved, with its assumptions, warnings, gaps and provenance.
        catalog_revision: revision of the facts.
        steps: steps of the calculation; read only when `explain` is true.
        explain: whether the request asked for the working.
        more: lists of texts to add, by name (`assumptions`, `warnings`, `not_modelled`).
    """
    return {
        "catalog_revision": catalog_revision,
        "assumptions": [*resolved.assumptions, *more.get("assumptions", ())],
        "warnings": [*resolved.warnings, *more.get("warnings", ())],
        "not_modelled": [*resolved.not_modelled, *more.get("not_modelled", ())],
        "provenance": list(resolved.provenance),
        "explanation": [ExplanationStep.of(step) for step in steps] if explain else None,
    }
