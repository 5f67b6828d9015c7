"""Parts that every answer holds; the response models of the endpoints build on `Answer`."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum
from functools import cache, cached_property
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import (
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    create_model,
)

from estimator.engine.explain import Step
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.resolvers.plan import Provenance, Resolved

Basis = Literal["observed", "calibrated", "nearest_family", "extrapolated", "assumption"]
BASIS_HELP = (
    "What the figures of this group rest on: observed (a measurement you gave), calibrated (fitted to measurements), "
    "nearest_family (one or two parts of the setting were never measured: the nearest stand in), extrapolated (three "
    "and more), assumption."
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
        populate_by_name=True,
        json_schema_serialization_defaults_required=True,
    )


class Page(ResponsePart):
    """One page of a list."""

    count: int = Field(description="Entries that meet the filters, of all pages.")
    page: int = Field(description="This page.")
    page_size: int = Field(description="Entries of a page.")
    pages: int = Field(description="Pages in all.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A field of a part: what it says, its type where it is another than the source's, and its place in the source."""

    text: str
    kind: Any = None
    at: str = ""


def shown(text: str, *, kind: Any = None, at: str = "") -> Shown:
    """A field of a part of an answer that is not the source's field of the same name as it is.

    Args:
        text: its description and unit.
        kind: its type; that of the source when not given.
        at: dotted name of the attribute that it shows; its own name when not given.
    """
    return Shown(text=text, kind=kind, at=at)


def part_of(source: type, name: str, doc: str, /, **said: str | Shown) -> Any:
    """A part of an answer that shows fields of a dataclass: their types are those of the dataclass.

    `model_validate(an object of the source)` makes the part.

    Args:
        source: the dataclass.
        name: name of the part, as in the schema.
        doc: what the part is.
        said: the fields shown, in order, each with its description and unit.
    """
    fields: dict[str, Any] = {}
    for field, told in said.items():
        how = Shown(text=told) if isinstance(told, str) else told
        if (kind := how.kind) is None:
            kind = _type_at(source, how.at or field)
            kind = _SENT.get(kind, kind)
        place = AliasPath(*how.at.split(".")) if how.at else None
        fields[field] = (kind, Field(description=how.text or None, validation_alias=place))
    return create_model(name, __base__=ResponsePart, __doc__=doc, **fields)


def values_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, as they are; `dataclasses.asdict` copies whatever they hold, at ten times."""
    return {name: getattr(record, name) for name in _field_names(record.__class__)}


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


_SENT: dict[Any, Any] = {Decimal: Amount, Decimal | None: Amount | None}


def _type_at(source: type, path: str) -> Any:
    """The type of an attribute, that of a property included."""
    found: Any = source
    for name in path.split("."):
        value = getattr(found, name, None)
        if name == "value" and issubclass(found, StrEnum):
            found = str
        elif isinstance(value, property | cached_property):
            getter = value.fget if isinstance(value, property) else value.func
            found = get_type_hints(getter)["return"]
        elif name not in (hints := get_type_hints(found)):
            raise TypeError(f"{source.__name__} has no {path}: say its kind")
        else:
            found = hints[name]
    return found


class Band(ResponsePart):
    """A calibrated figure with its error band: low ≤ mid ≤ high, in the unit of the figure."""

    low: float = Field(description="Low end of the band (P5 of measured / predicted), in the unit of the figure.")
    mid: float = Field(description="The model's own value, in the unit of the figure.")
    high: float = Field(description="High end of the band (P95 of measured / predicted), in the unit of the figure.")


def _money_exactly(value: Any) -> Any:
    return _exact(value) if isinstance(value, Decimal) else value


ExplanationStep: Any = part_of(
    Step,
    "ExplanationStep",
    "One step of the working, to follow with a pencil.",
    name="The figure this step gives, spelled as in the answer.",
    formula="The formula with names; operators + − · / ^, functions min, max, sqrt, floor, ceil.",
    substituted="The same formula with the numbers put in.",
    value=shown(
        "The result of the step, in `unit`.",
        kind=Annotated[float | int | str | bool | None, BeforeValidator(_money_exactly)],
    ),
    unit="Base unit of the value; 1 for a pure number, an ISO 4217 code for money.",
    source="Evidence of the formula or of its constants.",
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
        "explanation": [ExplanationStep.model_validate(step) for step in steps] if explain else None,
    }
