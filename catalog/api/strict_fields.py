"""Types of what a serializer is given: the framework reads "80" as 80, true as 1.0 and 5 as "5"; this API does not."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

Details = dict[str, list[serializers.ErrorDetail]]

_STRINGS: tuple[type[serializers.Field[Any, Any, Any, Any]], ...] = (
    serializers.CharField,
    serializers.DateField,
    serializers.DateTimeField,
    serializers.SlugRelatedField,
    serializers.TimeField,
)


def whole_numbers(data: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The data with 8.03e9 and 1e16 as the whole numbers they are, where a field takes one."""
    return {
        name: int(value)
        if isinstance(fields.get(name), serializers.IntegerField) and isinstance(value, float) and value.is_integer()
        else value
        for name, value in data.items()
    }


def type_faults(data: Mapping[str, Any], fields: Mapping[str, Any]) -> Details:
    """The fields of another JSON type than theirs; null is left to the framework, which knows where it may stand."""
    return {
        name: [serializers.ErrorDetail(str(fault), code="invalid_type")]
        for name, value in data.items()
        if value is not None and name in fields
        for fault in _fault(fields[name], value)
    }


def _fault(field: Any, value: Any) -> Iterator[Any]:
    if isinstance(field, serializers.ChoiceField):
        if type(value) not in {type(choice) for choice in field.choices}:
            yield _("Must be one of %(allowed)s.") % {"allowed": ", ".join(map(str, field.choices))}
        return
    rule = next((rule for rule in _RULES if isinstance(field, rule[0])), None)
    # bool is an int to Python and to no reader of JSON: types are compared as they are.
    if rule is not None and type(value) not in rule[1]:
        yield rule[2]


_RULES: tuple[tuple[Any, tuple[type, ...], Any], ...] = (
    (serializers.BooleanField, (bool,), _("Must be true or false.")),
    (serializers.IntegerField, (int,), _("Must be a whole number.")),
    (serializers.FloatField, (int, float), _("Must be a number.")),
    (serializers.DecimalField, (str,), _('Must be an exact decimal as a string, such as "2.50".')),
    (_STRINGS, (str,), _("Must be a string.")),
)
