"""Amounts of the causes for given rows, by one fixed path whose steps add up exactly.

stored old result → today's estimator on the old snapshot and inputs → changed catalog rows one by one in order of slug
→ inputs (the stored new result). Amounts are exact decimals of values rounded to 12 significant digits, so that the
sum of a row's amounts is its change to the last digit.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np

from estimator.engine.faults import ResolutionError
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.estimates.sweep import compute as sweeps
from estimator.estimates.sweep.columns import TextValues
from estimator.estimates.sweep.loads import Loads
from estimator.question.sweep import UP_TO_FIT
from reports.diff.causes import PRICE, RowCause
from reports.models import ReportVersion

METRICS = ("tokens_per_s_total_mid", "cost_per_mtok_output_mid", "ttft_s_mid", "tpot_s_mid")
_MONEY = "cost_per_mtok_output_mid"
_DIGITS = Context(prec=12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of a row; of money only with its currency, for amounts of two currencies have no difference."""

    amount: Decimal
    currency: str | None


Values = list[dict[str, Figure | None]]


def possible(new: ReportVersion) -> bool:
    """Amounts need the estimator that made the newer version: the one that runs."""
    return new.estimator_version == ESTIMATOR_VERSION


def exact(value: Any) -> Decimal | None:
    """A figure as a decimal of 12 significant digits; None stays None."""
    if value is None or value != value:
        return None
    return _DIGITS.create_decimal(value if isinstance(value, (str, Decimal)) else repr(float(value)))


def figures_of(row: Mapping[str, Any]) -> dict[str, Figure | None]:
    """The figures of a row by metric."""
    amounts = {metric: exact(row[metric]) for metric in METRICS}
    return {
        metric: None
        if amount is None
        else Figure(amount=amount, currency=row["currency"] if metric == _MONEY else None)
        for metric, amount in amounts.items()
    }


def change_of(old: Figure | None, new: Figure | None) -> str | None:
    """New minus old; None where one of them is not there or their money is of two currencies."""
    if old is None or new is None or old.currency != new.currency:
        return None
    return format(new.amount - old.amount, "f")


def attribute(
    old: ReportVersion, pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]], causes: Sequence[RowCause]
) -> list[list[dict[str, Any]]]:
    """For each pair of an old and a new row, the causes with their amounts by metric, but those worth nothing.

    Raises:
        ResolutionError: The old inputs cannot be resolved by today's estimator.
    """
    stored, target = ([figures_of(pair[side]) for pair in pairs] for side in (0, 1))
    rows = [row for row, _new in pairs]
    snapshot = copy.deepcopy(dict(old.snapshot))
    sweep = _sweep(old, snapshot)
    steps: list[tuple[str, Values]] = [("estimator", _evaluate(sweep, rows))]
    for cause in causes:
        if not _touches(cause, sweep, rows):
            continue
        if cause.kind == PRICE:  # a price that came or went is its own cause
            prices = snapshot.setdefault("prices", {})
            prices.pop(cause.slug, None)
            if cause.new is not None:
                prices[cause.slug] = dict(cause.new)
        elif cause.old is None or cause.new is None:
            continue  # a row that only one version used came or went with the inputs
        else:
            snapshot["facts"][cause.kind][cause.slug] = dict(cause.new)
        steps.append((cause.label, _evaluate(_sweep(old, snapshot), rows)))
    steps.append(("inputs", target))
    return [_amounts(number, stored, steps) for number in range(len(pairs))]


def _touches(cause: RowCause, sweep: sweeps.Sweep, rows: Sequence[dict[str, Any]]) -> bool:
    if cause.kind == PRICE:
        return any(row["gpu"] == cause.slug for row in rows)
    return any(sweep.slug_of(cause.kind, row[cause.kind]) == cause.slug for row in rows)


def _sweep(old: ReportVersion, snapshot: dict[str, Any]) -> sweeps.Sweep:
    inputs = dict(old.inputs)
    if inputs["sweep"].get("batch_sizes") == UP_TO_FIT:
        # The batches are those of the rows: what fits need not be worked out for the whole sweep.
        inputs["sweep"] = dict(inputs["sweep"]) | {"batch_sizes": [1]}
    return sweeps.load(inputs, snapshot)


def _evaluate(sweep: sweeps.Sweep, rows: Sequence[dict[str, Any]]) -> Values:
    points = [sweep.point_of(row) for row in rows]
    if any(point is None for point in points):
        raise ResolutionError([])
    loads = Loads(
        batch=np.array([row["batch_size"] or 0 for row in rows], dtype=np.int64),
        rate=np.array([row["offered_requests_per_s"] for row in rows], dtype=np.float64),
        refined=np.zeros(len(rows), dtype=np.bool_),
    )
    columns = sweep.rows_of(np.array(points, dtype=np.int64), loads)
    currency = columns["currency"]
    assert isinstance(currency, TextValues)  # noqa: S101  what the column is
    figures = {metric: np.asarray(columns[metric]) for metric in METRICS}
    return [
        figures_of(
            {metric: values[number] for metric, values in figures.items()}
            | {"currency": currency.labels[code] if code >= 0 else None}
        )
        for number, code in enumerate(currency.codes)
    ]


def _amounts(number: int, stored: Values, steps: list[tuple[str, Values]]) -> list[dict[str, Any]]:
    found = []
    before = stored[number]
    for label, values in steps:
        after = values[number]
        amounts: dict[str, str | None] = {}
        for metric in METRICS:
            if before[metric] != after[metric]:
                amounts[metric] = change_of(before[metric], after[metric])
        if amounts:
            found.append({"cause": label, "amounts": amounts})
        before = after
    return found
