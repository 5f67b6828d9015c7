"""Cost columns of a sweep's rows from the prices that its snapshot holds."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.cost import money
from estimator.engine.cost.self_hosted import cost_per_mtok, electricity_per_hour
from estimator.estimates.sweep.columns import Rows, TextValues
from estimator.question.workload import Power

SIGNIFICANT_DIGITS = 9
_RATE = "tokens_per_s_total_mid"
Floats = NDArray[np.float64]


def rounded(values: Floats) -> Floats:
    """Amounts derived from physics, rounded once to 9 significant digits, half to even; NaN stays NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = SIGNIFICANT_DIGITS - 1 - np.floor(np.log10(np.abs(values)))
        scale = np.power(10.0, np.abs(np.nan_to_num(digits, posinf=0.0, neginf=0.0)))
        up = digits >= 0
        return np.asarray(np.where(up, np.rint(values * scale) / scale, np.rint(values / scale) * scale))


def cost_columns(
    *, gpu: TextValues, gpus: Floats, per_second: Mapping[str, Floats], prices: Mapping[str, Mapping[str, Any]]
) -> Rows:
    """The cost columns of rows.

    Args:
        gpu: Accelerator of each row.
        gpus: GPUs of one replica, per row.
        per_second: `low`, `mid`, `high` output tokens per second of the replica; NaN where there is no figure.
        prices: By accelerator {"price_per_gpu_hour": decimal text, "currency": ISO 4217}; a missing one costs null.

    Returns:
        currency, price_per_hour and cost_per_mtok_output_{low,mid,high}; low belongs to the fast end.
    """
    known = [prices.get(label) for label in gpu.labels]
    by_label = np.array(
        [float(Decimal(price["price_per_gpu_hour"])) if price else np.nan for price in known] or [np.nan]
    )
    currencies = tuple(sorted({price["currency"] for price in known if price}))
    codes = np.array([currencies.index(price["currency"]) if price else -1 for price in known] or [-1], dtype=np.int32)
    per_hour = by_label[gpu.codes] * gpus
    columns: Rows = {
        "currency": TextValues(codes=codes[gpu.codes], labels=currencies),
        "price_per_hour": per_hour,
    }
    for side, speed in (("low", "high"), ("mid", "mid"), ("high", "low")):
        rate = per_second[speed]
        cost = np.full(rate.shape, np.nan)
        some = (rate > 0) & ~np.isnan(per_hour)
        cost[some] = rounded(cost_per_mtok(per_hour[some], rate[some]))
        columns[f"cost_per_mtok_output_{side}"] = cost
    return columns


def electricity_columns(power: Power | None, count: Floats, columns: Rows) -> Rows:
    """Electricity of rows, as the cost estimate says it, beside the price of the GPUs.

    Args:
        power: price of a kWh and PUE; null columns without it, and for a GPU whose power is not known.
        count: GPUs of one replica, per row.
        columns: with the power of a GPU and the output tokens per second of the replica.
    """
    watts, rate = (np.asarray(columns[name], dtype=np.float64) for name in ("watts_per_gpu_mid", _RATE))
    per_hour = np.full(len(watts), np.nan)
    if power is not None:
        price = money.to_physics(Decimal(power.price_per_kwh))
        per_hour = np.asarray(electricity_per_hour(gpus=count, watts=watts, pue=power.pue, price_per_kwh=price))
    made = (rate > 0) & ~np.isnan(per_hour)
    per_mtok = np.full(len(watts), np.nan)
    per_mtok[made] = rounded(cost_per_mtok(per_hour[made], rate[made]))
    known = np.where(np.isnan(per_hour), -1, 0).astype(np.int32)
    return {
        "electricity_currency": TextValues(codes=known, labels=(power.currency,) if power is not None else ()),
        "electricity_per_hour": rounded(per_hour),
        "electricity_per_mtok_output": per_mtok,
    }
