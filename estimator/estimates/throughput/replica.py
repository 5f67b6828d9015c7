"""How fast one replica of a plan is: the figures that money needs, from the same evaluation as estimates/throughput."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.engine.codes import Reason
from estimator.engine.errors import MissingFigureError
from estimator.engine.specs import WorkloadMode
from estimator.estimates.answers import Band
from estimator.estimates.memory_fit.load import load_fits
from estimator.estimates.throughput.figures import Triple, band_part
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import setting_of
from estimator.figures.energy import SIDES
from estimator.resolvers.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSpeed:
    """Rates of one replica at the plan's load; `low` is the slow end of the band.

    `prefill_time_share` is requests_per_s · prefill_s, the share of busy time spent on prompts; None where no request
    rate is defined (a single decode step). `feasible` is memory-fit's word on the load. `reason` says why there are no
    figures. Rates are those at full load: of an open loop those of its highest stable rate, and `load_share` is the
    share of it that arrives, else 1. `watts_per_gpu` is the power at the load that was asked for, W; None where the
    design power of the GPU is not known.
    """

    tokens_per_s_output_low: float | None
    tokens_per_s_output: float | None
    tokens_per_s_output_high: float | None
    requests_per_s: float | None
    load_share: float
    prefill_s: float | None
    ttft_s: float | None
    tpot_s: float | None
    basis: str
    feasible: bool
    watts_per_gpu: Band | None = None
    reason: str | None = None

    @property
    def prefill_time_share(self) -> float | None:
        """Share of busy time spent on prompts, at most 1."""
        if self.requests_per_s is None or self.prefill_s is None:
            return None
        return min(self.requests_per_s * self.prefill_s, 1.0)


_RATES = ("tokens_per_s_total_low", "tokens_per_s_total_mid", "tokens_per_s_total_high", "requests_per_s_mid")


def replica_speed(plan: Plan) -> ReplicaSpeed:
    """Speed of one replica under the plan's workload.

    Raises:
        MissingFigureError: The plan has no workload.
    """
    if plan.workload is None:
        raise MissingFigureError("tokens_per_s_output, or a workload to compute it for", field="workload")
    setting = setting_of(plan)
    columns = setting.sweep.evaluate(rows_of(plan.workload, np.array([float(plan.workload.concurrency)])))
    reason = Reason(int(columns["reason"][0]))
    arriving, stable = plan.workload.requests_per_s, None
    if plan.workload.mode is WorkloadMode.OPEN_LOOP:
        stable = _figure(columns, "max_stable_requests_per_s")
    share = min(arriving / stable, 1.0) if arriving and stable else 1.0
    busy = {name: _figure(columns, name) for name in _RATES}
    if stable is not None:
        # The rate of arrivals says nothing of what the machine could yield.
        busy = dict.fromkeys(_RATES) | {
            # As under any load: the token that a prompt's pass yields counts where no answer is asked for.
            "tokens_per_s_total_mid": stable * max(plan.workload.output_tokens, 1.0),
            "requests_per_s_mid": stable,
        }
    return ReplicaSpeed(
        tokens_per_s_output_low=busy["tokens_per_s_total_low"],
        tokens_per_s_output=busy["tokens_per_s_total_mid"],
        tokens_per_s_output_high=busy["tokens_per_s_total_high"],
        requests_per_s=busy["requests_per_s_mid"],
        load_share=share,
        prefill_s=_figure(columns, "prefill_s"),
        ttft_s=_figure(columns, "ttft_s_mid"),
        tpot_s=_figure(columns, "tpot_s_mid"),
        basis=str(setting.speed.basis),
        feasible=load_fits(plan, _figure(columns, "full_length_sequences")),
        watts_per_gpu=_watts(columns),
        reason=None if reason is Reason.NONE else reason.label,
    )


def _watts(columns: dict[str, Any]) -> Band | None:
    return band_part(Triple(**{side: _figure(columns, f"watts_per_gpu_{side}") for side in SIDES}))


def _figure(columns: dict[str, Any], name: str) -> float | None:
    value = float(columns[name][0])
    return value if np.isfinite(value) else None
