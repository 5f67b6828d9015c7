"""Query strings as pydantic models: unknown and repeated parameters and bad values are one 400 that names them all."""

import difflib
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, get_args

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _noop
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from catalog.api.problems import InvalidRequest
from estimator.engine.faults import FaultCode, ParameterFault

QueryT = TypeVar("QueryT", bound=BaseModel)

_SENTENCES: dict[str, tuple[FaultCode, str]] = {
    "int_parsing": ("invalid_type", _noop("Must be a whole number.")),
    "int_from_float": ("invalid_type", _noop("Must be a whole number.")),
    "int_parsing_size": ("out_of_range", _noop("This number is too large.")),
    "float_parsing": ("invalid_type", _noop("Must be a number.")),
    "finite_number": ("out_of_range", _noop("Must be a finite number.")),
    "bool_parsing": ("invalid_type", _noop("Must be true or false.")),
    "date_parsing": ("invalid", _noop("Must be a date, as in 2026-10-12.")),
    "date_from_datetime_parsing": ("invalid", _noop("Must be a date, as in 2026-10-12.")),
    "missing": ("required", _noop("This parameter is required.")),
}
_LIMITS = {
    "greater_than_equal": ("ge", _noop("Must be at least %s.")),
    "greater_than": ("gt", _noop("Must be greater than %s.")),
    "less_than_equal": ("le", _noop("Must be at most %s.")),
    "less_than": ("lt", _noop("Must be less than %s.")),
    "string_too_long": ("max_length", _noop("Must have at most %s characters.")),
    "string_too_short": ("min_length", _noop("Must have at least %s characters.")),
}


class Query(BaseModel):
    """Base of every query string: no parameter that is not known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PageQuery(Query):
    """Which page of a list, and how large."""

    page: int = Field(default=1, ge=1, le=1_000_000_000, description="Number of the page, from 1.")
    page_size: int = Field(default=50, ge=1, le=500, description="Rows on a page.")


class ListQuery(PageQuery):
    """Parameters of every list that can be searched."""

    search: str = Field(default="", max_length=200, description="Words that must all occur, in any order and case.")


def parse_query(model: type[QueryT], query: QueryDict) -> QueryT:
    """The query string as `model`.

    Raises:
        InvalidRequest: with one error for each parameter at fault, and near matches for unknown names and words.
    """
    repeated = [
        ParameterFault(code="ambiguous", detail=_("Give this parameter once."), path=(name,))
        for name, values in query.lists()
        if len(values) > 1
    ]
    try:
        values = model.model_validate(query.dict())
    except ValidationError as refused:
        errors = [_field_error(model, detail) for detail in refused.errors(include_url=False)]
        raise InvalidRequest(errors=[*repeated, *errors]) from None
    if repeated:
        raise InvalidRequest(errors=repeated)
    return values


def refuse_parameters(query: QueryDict) -> None:
    """Refuse every parameter, for what takes none: a misspelt path to a filter would else be answered in silence.

    Raises:
        InvalidRequest: naming each of them.
    """
    if query:
        detail = _("This address and method take no parameters.")
        raise InvalidRequest(
            errors=[ParameterFault(code="unknown_field", detail=detail, path=(name,)) for name in query]
        )


def parameters_of(model: type[BaseModel]) -> list[OpenApiParameter]:
    """The parameters of a query model for the API schema, with defaults, limits and allowed words."""
    schema = model.model_json_schema()
    parameters = []
    for name, field in schema["properties"].items():
        kind = next((part for part in field.get("anyOf", [field]) if part.get("type") != "null"), field)
        described = {key: value for key, value in kind.items() if key not in ("title", "description")}
        if field.get("default") not in (None, ""):
            described["default"] = field["default"]
        parameters.append(
            OpenApiParameter(
                name=name,
                type=described or OpenApiTypes.STR,
                description=field.get("description", ""),
                required=name in schema.get("required", ()),
            )
        )
    return parameters


def _field_error(model: type[BaseModel], detail: ErrorDetails) -> ParameterFault:
    name = str(detail["loc"][0])
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        known = [field.alias or name for name, field in model.model_fields.items()]
        near = _near(name, known)
        sentence = _("There is no such parameter; known are %(known)s.") % {"known": ", ".join(known)}
        return ParameterFault(code="unknown_field", detail=sentence, path=(name,), near=near)
    if kind == "literal_error":
        allowed = _allowed(model, name)
        sentence = _("Must be one of %(allowed)s.") % {"allowed": ", ".join(allowed)}
        return ParameterFault(code="invalid", detail=sentence, path=(name,), near=_near(detail["input"], allowed))
    if kind in _LIMITS:
        limit, sentence = _LIMITS[kind]
        return ParameterFault(code="out_of_range", detail=_(sentence) % context[limit], path=(name,))
    code, sentence = _SENTENCES.get(kind, ("invalid", _noop("This value is not valid.")))
    return ParameterFault(code=code, detail=_(sentence), path=(name,))


def _near(given: Any, known: Sequence[str]) -> tuple[str, ...]:
    by_fold = {word.casefold(): word for word in known}
    found = difflib.get_close_matches(str(given).casefold(), by_fold, n=3, cutoff=0.4)
    return tuple(by_fold[word] for word in found)


def _allowed(model: type[BaseModel], name: str) -> list[str]:
    def words(annotation: Any) -> list[str]:
        if getattr(annotation, "__origin__", None) is Literal:
            return [str(word) for word in get_args(annotation)]
        return [word for part in get_args(annotation) for word in words(part)]

    return words(model.model_fields[name].annotation)
