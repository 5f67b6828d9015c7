"""Which of the options of a sizing to measure, and with which command."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.options import TARGETS
from estimator.engine.specs import WorkloadMode
from estimator.estimates.sizing.compute import Option
from estimator.estimates.sizing.question import Demand
from estimator.estimates.throughput.next_measurement import NextMeasurement, most_telling, next_measurement
from estimator.estimates.throughput.odds import odds_at
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import setting_of, workload_of
from estimator.estimates.throughput.targets import binding_targets
from estimator.question.workload import Targets
from estimator.resolvers.facts import Facts

# Options that somebody may still choose; what is behind them decides nothing.
_FIRST_OPTIONS = 10


class SizingMeasurement(NextMeasurement):
    """The benchmark that would narrow the choice among the options most: of which one, at the load it carries."""

    gpu: str | None = Field(description="GPU of the option to measure; null where nothing is to be measured.")
    precision: str | None = Field(description="Format of its weights.")
    tp: int | None = Field(description="Its tensor parallel degree.")


def sizing_measurement(order: Sequence[Option], demand: Demand, slo: Targets, facts: Facts) -> SizingMeasurement | None:
    """The measurement of the option whose outcome would change the choice most; None without targets."""
    if all(getattr(slo, name) is None for name in TARGETS):
        return None
    first = order[:_FIRST_OPTIONS]
    chances = [option.replica.chance for option in first if option.replica is not None]
    known = [chance for chance in chances if chance is not None]
    if not known or len(known) < len(first):
        return _nothing(_("No chance of meeting the targets is known."))
    place = most_telling(known)
    if place is None:
        return _nothing(_("The decision is sure already: no measurement is likely to change it."))
    return _of(first[place], demand, slo, facts)


def _of(option: Option, demand: Demand, slo: Targets, facts: Facts) -> SizingMeasurement:
    served, candidate = option.served, option.candidate
    assert served is not None  # noqa: S101  ranked options are served
    load: dict[str, object] = {"concurrency": served.capacity.concurrency}
    if demand.requests_per_s_peak is not None:
        rate = {"requests_per_s": served.capacity.requests_per_s, "burstiness_cv": demand.burstiness_cv}
        load = {"mode": WorkloadMode.OPEN_LOOP, **rate}
    workload = workload_of(candidate.plan).model_copy(update=load)
    plan = replace(candidate.plan, workload=workload, slo=slo)
    columns = setting_of(plan).sweep.evaluate(rows_of(workload, np.array([float(workload.concurrency)])))
    found = odds_at(columns, workload, binding_targets(slo, workload))
    said = next_measurement(plan, found, facts, None)
    return SizingMeasurement(**said.model_dump(), gpu=candidate.gpu, precision=candidate.precision, tp=candidate.tp)


def _nothing(reason: str) -> SizingMeasurement:
    unsaid = dict.fromkeys(name for name in SizingMeasurement.model_fields if name != "reason")
    return SizingMeasurement(reason=reason, **unsaid)
