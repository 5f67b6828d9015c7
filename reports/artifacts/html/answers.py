"""The answer in short: for each model and workload the cheapest setting, and what it costs and gives."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.cost.self_hosted import HOURS_PER_MONTH
from reports.artifacts.words import number_words, split_words
from reports.rows.findings import load_of

MOST = 20


def cheapest(head: Mapping[str, Any]) -> list[list[tuple[str, str]]]:
    """One line of headings and words for each model and workload with prices; at most MOST."""
    entries = [entry for entry in head["findings"] if entry["kind"] == "cheapest_feasible"]
    return [list(zip(columns(), _line(entry["row"]), strict=True)) for entry in entries[:MOST]]


def columns() -> list[str]:
    """Headings of the lines."""
    return [
        _("Model and workload"),
        _("Setting"),
        _("Load"),
        _("Tokens/s per user"),
        _("Tokens/s in all"),
        _("Cost per million tokens (band)"),
        _("Price per hour"),
        _("Price per month (730 h)"),
    ]


def _line(row: Mapping[str, Any]) -> list[str]:
    currency = row["currency"] or ""
    hourly = Decimal(row["price_per_hour"])
    return [
        f"{row['model']} · {row['workload']}",
        f"{row['gpu']} · {row['precision']} · {split_words(row['parallelism'])} · {row['engine']}",
        load_of(dict(row)),
        number_words(row["tokens_per_s_per_user_mid"]),
        number_words(row["tokens_per_s_total_mid"]),
        f"{_amount(row['cost_per_mtok_output_mid'])} {currency} "
        f"({_amount(row['cost_per_mtok_output_low'])} – {_amount(row['cost_per_mtok_output_high'])})",
        f"{hourly.normalize():f} {currency}",
        f"{hourly * HOURS_PER_MONTH:,.0f} {currency}",
    ]


def _amount(text: str | None) -> str:
    return "–" if text is None else number_words(float(text))


def verdict(head: Mapping[str, Any]) -> str:
    """What to know before the figures: how many settings meet the targets, or that no price is known."""
    summary, slo = head["summary"], head["inputs"].get("slo")
    told = []
    if slo:
        told.append(
            _("%(met)s of %(rows)s rows meet the targets.")
            % {"met": summary["meets_slo_rows"], "rows": summary["rows"]}
            if summary["meets_slo_rows"]
            else _("No row meets the targets.")
        )
    if summary.get("queue_grows_rows"):
        told.append(
            _("In %(n)s rows requests arrive faster than they are served.") % {"n": summary["queue_grows_rows"]}
        )
    if summary["does_not_fit_rows"]:
        told.append(_("%(n)s rows do not fit into memory.") % {"n": summary["does_not_fit_rows"]})
    return " ".join(told)
