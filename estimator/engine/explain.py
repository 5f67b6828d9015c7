"""Steps of a calculation, written so that a reader can follow them with a pencil.

Formula notation: names of the values, the operators `+ − · / ^`, parentheses, and the functions `min`, `max`, `sqrt`,
`floor`, `ceil`, `exp`, `ln`, `round` and `abs`. `Step.worked` writes the substituted line from the same values the
caller computed with, so that the two cannot drift apart; a test evaluates every substituted line of every worked
example and compares it with the value.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from estimator.engine.errors import InvalidInputError

Number = int | float | Decimal
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: what is computed, the formula in words and with numbers, the value, its unit and where it is from.

    `unit` is a base unit (`bytes`, `s`, `tokens`, `FLOP`, `FLOP/s`, `bytes/s`, `1` for a pure number, an ISO 4217 code
    for money). `source` names the evidence of the formula or of its constants (`catalog: …`, `request`, a paper, a data
    file with its date).
    """

    name: str
    formula: str
    substituted: str
    value: Number | str | bool | None
    unit: str
    source: str

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and not math.isfinite(self.value):
            raise InvalidInputError(f"step {self.name} is not finite", field=self.name)

    @classmethod
    def worked(
        cls, *, name: str, formula: str, values: Mapping[str, Number], value: Number, unit: str, source: str
    ) -> Self:
        """A step whose substituted line is the formula with each name replaced by its value.

        Args:
            name: the figure, spelled as in the response (`kv_cache_bytes_per_token`).
            formula: in the notation above (`2 · kv_heads · head_dim`).
            values: every name of the formula with its number; a name that the formula does not hold is refused.
            value: the result, in `unit`.
            unit: base unit of the result.
            source: evidence of the formula or its constants.

        Raises:
            InvalidInputError: a value's name is not in the formula, or a name of the formula has no value.
        """
        return cls(
            name=name,
            formula=formula,
            substituted=substitute(formula, values),
            value=_plain(value),
            unit=unit,
            source=source,
        )


_FUNCTIONS = frozenset({"min", "max", "sqrt", "floor", "ceil", "exp", "ln", "round", "abs"})


def substitute(formula: str, values: Mapping[str, Number]) -> str:
    """The formula with every name replaced by its number; integers exact, others to 12 significant digits.

    Raises:
        InvalidInputError: a value is not used, or a name has no value.
    """
    used: set[str] = set()

    def number_of(match: re.Match[str]) -> str:
        name = match.group()
        if name in values:
            used.add(name)
            return format_number(values[name])
        if name in _FUNCTIONS:
            return name
        raise InvalidInputError(f"{name} of the formula {formula!r} has no value", field=name)

    text = _NAME.sub(number_of, formula)
    unused = values.keys() - used
    if unused:
        raise InvalidInputError(f"{sorted(unused)} do not occur in the formula {formula!r}")
    return text


def format_number(value: Number) -> str:
    """A number as written in a worked line: integers exact, decimals as they are, floats to 12 significant digits."""
    plain = _plain(value)
    if isinstance(plain, float):
        text = str(int(plain)) if plain.is_integer() and abs(plain) < 1e15 else format(plain, ".12g")
    else:
        text = format(plain, "f") if isinstance(plain, Decimal) else str(plain)
    return f"({text.replace('-', '−', 1)})" if text.startswith("-") else text


def _plain(value: Number) -> Number:
    """A numpy scalar as the Python number it stands for; Python numbers as they are."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal) or type(value) in (int, float):
        return value
    item = value.item() if hasattr(value, "item") else value
    return item if isinstance(item, (int, float)) else float(item)
