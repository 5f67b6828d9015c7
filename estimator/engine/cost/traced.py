"""Counts that remember how they were worked out, so that what holds for one usage object holds for all of its shape.

A reader of usage objects adds, takes away and compares. Given traced counts it leaves behind the sums that it made of
the object's numbers and the outcome of each comparison: other objects with the same keys whose comparisons come out
alike are read by the same sums, a million of them at once.
"""

from decimal import Decimal
from typing import Any

Form = tuple[int, ...]
ZERO, NEGATIVE = "zero", "negative"


class Trace:
    """The comparisons of one reading: a sum of the object's numbers, what was asked of it, and the outcome."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.asked: dict[tuple[Form, str], bool] = {}

    def number(self, value: int, place: int) -> "Traced":
        """The number at a place of the object."""
        form = tuple(int(place == at) for at in range(self.size + 1))
        return Traced(value, form, self)

    def constant(self, value: Decimal) -> Form:
        """The form of a number that does not come from the object."""
        return (*(0,) * self.size, int(value))


class Traced(Decimal):
    """A count with its form: a coefficient for each number of the object, and a constant."""

    __slots__ = ("form", "trace")
    form: Form
    trace: Trace

    def __new__(cls, value: Any, form: Form, trace: Trace) -> "Traced":
        """The count with its form."""
        made = super().__new__(cls, value)
        made.form, made.trace = form, trace
        return made

    def _form(self, other: Any) -> Form:
        return other.form if isinstance(other, Traced) else self.trace.constant(Decimal(other))

    def _joined(self, other: Any, sign: int) -> "Traced":
        form = tuple(one + sign * two for one, two in zip(self.form, self._form(other), strict=True))
        return Traced(sum(_plain(self, other, sign)), form, self.trace)

    def __add__(self, other: Any) -> "Traced":
        return self._joined(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Traced":
        return self._joined(other, -1)

    def __rsub__(self, other: Any) -> "Traced":
        form = self.trace.constant(Decimal(other))
        return Traced(Decimal(other), form, self.trace)._joined(self, -1)

    def _ask(self, kind: str) -> bool:
        outcome = Decimal.__eq__(self, 0) if kind == ZERO else Decimal.__lt__(self, 0)
        if any(self.form[:-1]):
            self.trace.asked[(self.form, kind)] = outcome
        return outcome

    def __bool__(self) -> bool:
        return not self._ask(ZERO)

    def __eq__(self, other: object) -> bool:
        return self._joined(other, -1)._ask(ZERO)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = Decimal.__hash__

    def __lt__(self, other: Any) -> bool:
        return self._joined(other, -1)._ask(NEGATIVE)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __gt__(self, other: Any) -> bool:
        return (self.__rsub__(other) if not isinstance(other, Traced) else other - self)._ask(NEGATIVE)

    def __le__(self, other: Any) -> bool:
        return not self > other


def _plain(one: Decimal, two: Any, sign: int) -> tuple[int, int]:
    return int(one), sign * int(two)


def is_there(count: Decimal) -> bool:
    """Whether a count is to be told: one that is traced always, for it may be 0 in this object alone."""
    return isinstance(count, Traced) or bool(count)
