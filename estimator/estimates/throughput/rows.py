"""Loads of a workload as rows of the engine, with how their requests come."""

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.engine.codes import MODE_CODES
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.sweep import Rows
from estimator.question.traffic import Traffic
from estimator.question.workload import ResolvedWorkload


def traffic_columns(traffic: Traffic, concurrency: Any) -> dict[str, Any]:
    """Traffic as the engine's rows hold it; nothing of a service that asks for nothing else, which `STEADY` is."""
    if traffic == Traffic():
        return {}
    return {
        "waves": np.vectorize(traffic.waves, otypes=[float])(concurrency) + 0.0,
        "length_ratio": traffic.length_ratio,
        "ramp_s": traffic.ramp_s or 0.0,
        "client_s": traffic.client_s,
        "statistic": traffic.share,
        "ttft_at": traffic.place,
    }


_OF_TRAFFIC = ("waves", "length_ratio", "ramp_s", "client_s", "statistic", "ttft_at")
STEADY: dict[str, Any] = {one.name: one.default for one in fields(Rows) if one.name in _OF_TRAFFIC}
"""The columns of traffic of a service that asks for nothing else."""


def rows_of(
    workload: ResolvedWorkload,
    concurrency: Any,
    *,
    mode: WorkloadMode | None = None,
    rate: Any = None,
    key: npt.NDArray[np.intp] | None = None,
) -> Rows:
    """Rows of one workload at several concurrencies (or rates), of the first key where `key` does not name others."""
    count = np.broadcast_shapes(np.shape(concurrency), np.shape(rate))
    context = workload.context_tokens
    return Rows(
        key=np.zeros(count, dtype=np.intp) if key is None else key,
        mode=MODE_CODES[mode or workload.mode],
        input_tokens=float(workload.input_tokens),
        output_tokens=float(workload.output_tokens),
        concurrency=concurrency,
        context_tokens=np.nan if context is None else float(context),
        prefix_cache_hit_rate=workload.prefix_cache_hit_rate,
        requests_per_s=workload.requests_per_s if rate is None else rate,
        burstiness_cv=workload.burstiness_cv,
        **traffic_columns(workload.traffic, concurrency),
    )
