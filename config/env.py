"""Typed readers of environment variables that fail loudly, naming the variable and what is allowed."""

import os
from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def text(name: str, default: str | None = None) -> str:
    """The variable as text; without a default it is required."""
    value = os.environ.get(name)
    if value is None or value == "":
        if default is None:
            raise ImproperlyConfigured(f"{name} is required and is not set.")
        return default
    return value


def boolean(name: str, default: bool) -> bool:
    """The variable as a switch: 1/true/yes/on or 0/false/no/off."""
    value = os.environ.get(name)
    if value is None or value == "":
        return default
    if value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is not a switch: use 1 or 0.")


def integer(name: str, default: int, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """The variable as a whole number within the given bounds."""
    value = os.environ.get(name)
    if value is None or value == "":
        return default
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number.") from None
    if at_least is not None and number < at_least:
        raise ImproperlyConfigured(f"{name}={number} is below the least allowed, {at_least}.")
    if at_most is not None and number > at_most:
        raise ImproperlyConfigured(f"{name}={number} is above the most allowed, {at_most}.")
    return number


def words(name: str, default: Sequence[str] = ()) -> list[str]:
    """The variable as a comma-separated list without empty parts."""
    value = os.environ.get(name)
    if value is None:
        return list(default)
    return [part.strip() for part in value.split(",") if part.strip()]
