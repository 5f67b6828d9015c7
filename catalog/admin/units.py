"""Figures as people read and write them; base units stay inside."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from django.utils.formats import number_format
from django.utils.translation import gettext as _

UNKNOWN = "–"


def _scaled(value: float, step: int, units: tuple[str, ...]) -> str:
    index = 0
    # From 999.5 on three digits would read 1000.
    while abs(value) >= step - 0.5 and index < len(units) - 1:
        value /= step
        index += 1
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    text = f"{value:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {units[index]}"


def decimal_bytes(value: float | None) -> str:
    """Bytes in decimal units: 80 GB."""
    return UNKNOWN if value is None else _scaled(value, 1000, ("B", "kB", "MB", "GB", "TB"))


def binary_bytes(value: float | None) -> str:
    """Bytes in binary units: 79.2 GiB."""
    return UNKNOWN if value is None else _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def rate(value: float | None) -> str:
    """Bytes per second in decimal units: 3.35 TB/s."""
    return UNKNOWN if value is None else decimal_bytes(value) + "/s"


def flops(value: float | None) -> str:
    """FLOP/s in decimal units: 989 TFLOP/s."""
    units = ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s")
    return UNKNOWN if value is None else _scaled(value, 1000, units)


def count(value: int | None) -> str:
    """A count of parameters: 8.03 B."""
    return UNKNOWN if value is None else _scaled(value, 1000, ("", "k", "M", "B", "T"))


def whole(value: int | None) -> str:
    """A whole number with separators: 131,072."""
    return UNKNOWN if value is None else str(number_format(value, force_grouping=True))


def seconds(value: float | None) -> str:
    """Seconds: 50 ms."""
    if value is None:
        return UNKNOWN
    return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"


_DECIMAL = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BYTES: Final[Mapping[str, int]] = {f"{prefix}B": 10**power for prefix, power in _DECIMAL.items()} | {
    f"{prefix}iB": 1024**step for step, prefix in enumerate("KMGT", start=1)
}
# Kind of figure by the end of a field's name: units with what each is in the base unit, and an example.
FIGURES: Final[Mapping[str, tuple[Mapping[str, int], str]]] = {
    "flops": (
        {f"{prefix}FLOP/s": 10**power for prefix, power in _DECIMAL.items()}
        | {f"{prefix}FLOPS": 10**power for prefix, power in _DECIMAL.items()},
        "989 TFLOP/s",
    ),
    "rate": ({f"{unit}/s": size for unit, size in _BYTES.items()}, "3.35 TB/s"),
    "bytes": (_BYTES, "80 GB"),
}
_WRITTEN = re.compile(r"(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+]?\d{1,2})?)\s*(?P<unit>[A-Za-z/]*)")
# Below it a number without a unit is no count of bytes or operations: somebody forgot the unit.
_LEAST_WITHOUT_UNIT = 10**6
# A figure that would need more than these is written in the base unit.
_MOST_DECIMALS, _LEAST_UNSAID = 4, 10**5


def kind_of_figure(field: str) -> str | None:
    """What kind of figure a field holds, by the unit in its name; None for those without a unit of their own."""
    if field.endswith("_flops_per_s"):
        return "flops"
    if "_bytes_per_s" in field:
        return "rate"
    return "bytes" if field.endswith("_bytes") else None


def read_figure(text: str, kind: str) -> Decimal:
    """A figure as people write it, in its base unit.

    Raises:
        ValueError: it is no number with a unit of the kind; in words.
    """
    units, example = FIGURES[kind]
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise ValueError(_("Write a number and its unit, such as %(example)s.") % {"example": example})
    number, unit = Decimal(found["number"].replace(",", "")), found["unit"]
    if not unit:
        if number < _LEAST_WITHOUT_UNIT:
            raise ValueError(_("Say the unit, such as %(example)s.") % {"example": example})
        return number
    if "b" in unit and kind != "flops":
        raise ValueError(_("A small b is a bit; write B for bytes, such as %(example)s.") % {"example": example})
    sizes = {name.lower(): size for name, size in units.items()}
    if unit.lower() not in sizes:
        raise ValueError(
            _("There is no unit %(unit)s here; known are %(units)s.") % {"unit": unit, "units": ", ".join(units)}
        )
    return number * sizes[unit.lower()]


def exact_figure(value: float | Decimal | str, kind: str) -> str:
    """A stored figure in the largest unit that says it exactly with a few decimals."""
    units, _example = FIGURES[kind]
    stored = Decimal(str(value))
    for unit, size in sorted(units.items(), key=lambda each: -each[1]):
        scaled = stored / size
        exponent = scaled.normalize().as_tuple().exponent
        is_short = 1 <= scaled < _LEAST_UNSAID and isinstance(exponent, int) and -exponent <= _MOST_DECIMALS
        if is_short and scaled * size == stored:
            return f"{scaled.normalize():f} {unit}"
    return f"{stored.normalize():f} {min(units, key=lambda unit: units[unit])}"


def figure_words(field: str, value: Any) -> str:
    """A stored figure of a field as people say it; empty for a field without a unit of its own."""
    kind = kind_of_figure(field)
    return "" if kind is None else exact_figure(value, kind)
