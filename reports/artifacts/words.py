"""Words of reports for people: splits, numbers and lists."""

import re
from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _


def split_words(parallelism: str) -> str:
    """tp2-pp1-ep1-dp1 → TP 2; all degrees 1 → 1 GPU."""
    degrees = re.findall(r"([a-z]+)([0-9]+)", parallelism)
    told = [f"{name.upper()} {degree}" for name, degree in degrees if degree != "1"]
    return " ".join(told) or _("1 GPU")


def number_words(value: float | None) -> str:
    """Four significant digits; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def listed(values: Iterable[Any], between: str = ", ") -> str:
    """Up to twelve of them, then how many more."""
    every = [str(value) for value in values]
    shown = between.join(every[:12])
    return shown if len(every) <= 12 else _("%(shown)s and %(n)s more") % {"shown": shown, "n": len(every) - 12}
