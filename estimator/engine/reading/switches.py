"""What a family fixes or leaves to a key of its config."""

from estimator.engine.reading.fields import Fields

Switch = bool | str
"""True or False for the whole family, or the name of the key that decides."""


def switch(fields: Fields, value: Switch) -> bool:
    """A family's constant, or the flag the config decides by."""
    return fields.flag(value) if isinstance(value, str) else value
