"""Pydantic's errors as our issues: stable codes, pointers without union tags, sentences that name what is allowed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from catalog.spelling import near_matches
from estimator.api import unequal
from estimator.api.field_words import fields_near
from estimator.engine.faults import MAX_FAULTS, Fault, FaultCode
from estimator.question.fields import TAG_PREFIX, Kind
from estimator.resolvers.facts import Facts

_MAX_NEAR_SEARCHES = 10


def issues_of(error: ValidationError, facts: Facts | None, model: type[BaseModel]) -> list[Fault]:
    """Every fault of the body, at most 100; near matches are searched for the first ten unknown names and words."""
    issues: list[Fault] = []
    searches = 0
    for detail in error.errors(include_url=False)[:MAX_FAULTS]:
        search = searches < _MAX_NEAR_SEARCHES
        issue = _issue(detail, facts if search else None, search)
        if issue.code == "unknown_field" and search:
            issue = _with_fields(issue, fields_near(str(issue.path[-1]), model))
        searches += bool(issue.near)
        issues.append(issue)
    return issues


def _issue(detail: ErrorDetails, facts: Facts | None, search: bool) -> Fault:
    path = _path(detail)
    context = detail.get("ctx", {})
    kind = detail["type"]
    if kind in ("one_of_keys", "extra_forbidden") and unequal.is_several(path, detail["input"]):
        return Fault(path=path, code="not_supported", detail=unequal.refusal(detail["input"], facts))
    if kind == "unknown_slug":
        return _unknown_slug(path, detail["input"], context, facts)
    if kind == "one_of_keys":
        return _one_of_keys(path, detail["input"], context)
    if kind in ("literal_error", "enum"):
        return _not_allowed(path, detail["input"], context["expected"], search)
    code, sentence = _RULES.get(kind, _UNKNOWN_RULE)
    return Fault(path=path, code=code, detail=sentence(context))


def _with_fields(issue: Fault, near: tuple[str, ...]) -> Fault:
    """The issue with the fields that the unknown word may mean, as places from the root of the request."""
    if not near:
        return issue
    text = _("Near: %(near)s.") % {"near": ", ".join(near)}
    return replace(issue, near=near, detail=f"{issue.detail} {text}")


def _path(detail: ErrorDetails) -> tuple[str | int, ...]:
    """The location without the tags of unions; the last part of an unknown field is the caller's own word."""
    location = detail["loc"]
    if location and location[-1] == "[key]":
        location = location[:-1]
    last = len(location) - 1
    keep_last = detail["type"] == "extra_forbidden"
    return tuple(
        part
        for index, part in enumerate(location)
        if not (isinstance(part, str) and part.startswith(TAG_PREFIX)) or (keep_last and index == last)
    )


def _unknown_slug(path: tuple[str | int, ...], given: Any, context: Mapping[str, Any], facts: Facts | None) -> Fault:
    kind: Kind = context["kind"]
    words = {"kind": kind.replace("_", " "), "slug": _short(given)}
    if meant := tuple(context["meant"]):
        sentence = _("“%(slug)s” may mean more than one %(kind)s; give one of %(meant)s.")
        return Fault(
            path=path, code="unknown_slug", detail=sentence % (words | {"meant": ", ".join(meant)}), near=meant
        )
    near = near_matches(str(given), facts.slugs(kind)) if facts else ()
    sentence = _("There is no %(kind)s “%(slug)s” in the catalog.") % words
    if near:
        sentence += " " + _("Near: %(near)s.") % {"near": ", ".join(near)}
    return Fault(path=path, code="unknown_slug", detail=sentence, near=near)


def _one_of_keys(path: tuple[str | int, ...], given: Any, context: Mapping[str, Any]) -> Fault:
    keys = context["keys"]
    if isinstance(given, dict):
        found = [key for key in keys.split(", ") if key in given]
        if len(found) > 1:
            return Fault(
                path=path,
                code="ambiguous",
                detail=_("Give exactly one of %(keys)s; %(found)s were given.")
                % {"keys": keys, "found": ", ".join(found)},
            )
        return Fault(path=path, code="required", detail=_("Give one of %(keys)s.") % {"keys": keys})
    sentence = (
        _("Must be a slug or an object with one of %(keys)s.")
        if context["text"]
        else _("Must be an object with one of %(keys)s.")
    )
    return Fault(path=path, code="invalid_type", detail=sentence % {"keys": keys})


def _not_allowed(path: tuple[str | int, ...], given: Any, expected: str, search: bool) -> Fault:
    if not isinstance(given, (str, int)) or isinstance(given, bool):
        return Fault(path=path, code="invalid_type", detail=_("Must be one of %(allowed)s.") % {"allowed": expected})
    allowed = expected.replace(" or ", ", ").replace("'", "").split(", ")
    near = near_matches(given, allowed) if search and isinstance(given, str) else ()
    return Fault(
        path=path, code="invalid", detail=_("Must be one of %(allowed)s.") % {"allowed": ", ".join(allowed)}, near=near
    )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"


_Sentence = Callable[[Mapping[str, Any]], str]
_UNKNOWN_RULE: tuple[FaultCode, _Sentence] = ("invalid", lambda context: _("This value is not valid."))


def _fixed(code: FaultCode, message: Callable[[], str]) -> tuple[FaultCode, _Sentence]:
    return code, lambda context: message()


_RULES: dict[str, tuple[FaultCode, _Sentence]] = {
    "unknown_currency": _fixed("invalid", lambda: _("Must be a currency of ISO 4217, such as USD.")),
    "missing": _fixed("required", lambda: _("This field is required.")),
    "extra_forbidden": _fixed("unknown_field", lambda: _("There is no such field.")),
    "int_type": _fixed("invalid_type", lambda: _("Must be a whole number.")),
    "int_parsing": _fixed("invalid_type", lambda: _("Must be a whole number.")),
    "int_from_float": _fixed("invalid_type", lambda: _("Must be a whole number.")),
    "int_parsing_size": _fixed("out_of_range", lambda: _("This number is too large.")),
    "float_type": _fixed("invalid_type", lambda: _("Must be a number.")),
    "float_parsing": _fixed("invalid_type", lambda: _("Must be a number.")),
    "bool_type": _fixed("invalid_type", lambda: _("Must be true or false.")),
    "bool_parsing": _fixed("invalid_type", lambda: _("Must be true or false.")),
    "string_type": _fixed("invalid_type", lambda: _("Must be a string.")),
    "string_unicode": _fixed("invalid", lambda: _("Must be valid Unicode text.")),
    "dict_type": _fixed("invalid_type", lambda: _("Must be an object.")),
    "model_type": _fixed("invalid_type", lambda: _("Must be an object.")),
    "model_attributes_type": _fixed("invalid_type", lambda: _("Must be an object.")),
    "list_type": _fixed("invalid_type", lambda: _("Must be a list.")),
    "tuple_type": _fixed("invalid_type", lambda: _("Must be a list.")),
    "date_type": _fixed("invalid_type", lambda: _("Must be a date, as in 2026-10-12.")),
    "date_parsing": _fixed("invalid", lambda: _("Must be a date, as in 2026-10-12.")),
    "date_from_datetime_parsing": _fixed("invalid", lambda: _("Must be a date, as in 2026-10-12.")),
    "finite_number": _fixed("out_of_range", lambda: _("Must be a finite number.")),
    "greater_than": ("out_of_range", lambda c: _("Must be greater than %(limit)s.") % {"limit": c["gt"]}),
    "greater_than_equal": ("out_of_range", lambda c: _("Must be at least %(limit)s.") % {"limit": c["ge"]}),
    "less_than": ("out_of_range", lambda c: _("Must be less than %(limit)s.") % {"limit": c["lt"]}),
    "less_than_equal": ("out_of_range", lambda c: _("Must be at most %(limit)s.") % {"limit": c["le"]}),
    "string_too_short": ("out_of_range", lambda c: _("Must have at least %(n)s characters.") % {"n": c["min_length"]}),
    "string_too_long": ("out_of_range", lambda c: _("Must have at most %(n)s characters.") % {"n": c["max_length"]}),
    "too_short": ("out_of_range", lambda c: _("Must have at least %(n)s entries.") % {"n": c["min_length"]}),
    "too_long": ("out_of_range", lambda c: _("Must have at most %(n)s entries.") % {"n": c["max_length"]}),
    "same_row": ("ambiguous", lambda c: _("%(first)s and %(second)s are one and the same.") % c),
    "json_invalid": _fixed("malformed", lambda: _("The body is not valid JSON.")),
    "string_pattern_mismatch": ("invalid", lambda c: _("Must match %(pattern)s.") % {"pattern": c["pattern"]}),
}
