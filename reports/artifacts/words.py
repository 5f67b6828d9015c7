"""Words of reports for people: headings of columns, settings and loads."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

HEADINGS: Mapping[str, tuple[str | Promise, str]] = {
    "model": (gettext_lazy("Model"), ""),
    "gpu": (gettext_lazy("GPU"), ""),
    "engine": (gettext_lazy("Engine"), ""),
    "precision": (gettext_lazy("Weights / cache"), ""),
    "parallelism": (gettext_lazy("Split"), ""),
    "workload": (gettext_lazy("Workload"), ""),
    "batch_size": (gettext_lazy("Users at once"), ""),
    "offered_requests_per_s": (gettext_lazy("Arrivals"), "1/s"),
    "status": (gettext_lazy("Status"), ""),
    "ttft_s_mid": (gettext_lazy("First token"), "s"),
    "ttft_s_p95": (gettext_lazy("First token, 95th percentile"), "s"),
    "tpot_s_mid": (gettext_lazy("Each further token"), "s"),
    "tokens_per_s_per_user_mid": (gettext_lazy("Tokens/s per user"), ""),
    "tokens_per_s_total_mid": (gettext_lazy("Tokens/s in all"), ""),
    "tokens_per_s_per_gpu_mid": (gettext_lazy("Tokens/s per GPU"), ""),
    "cost_per_mtok_output_mid": (gettext_lazy("Cost per million output tokens"), ""),
    "binding_term": (gettext_lazy("Bound by"), ""),
    "meets_slo": (gettext_lazy("Targets"), ""),
    "row_index": (gettext_lazy("Row"), ""),
}


def heading(name: str) -> str:
    """What people call a column, with its unit."""
    text, unit = HEADINGS[name]
    return f"{text}, {unit}" if unit else str(text)


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
