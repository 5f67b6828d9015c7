"""Which row of a decision to measure, and with which command: the one whose outcome would change the choice most."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.specs import WorkloadMode
from estimator.estimates.sweep.axes import Axes, resolve_axes
from estimator.estimates.sweep.columns import CHANCE
from estimator.estimates.sweep.evaluation import plan_of
from estimator.estimates.throughput.next_measurement import NextMeasurement, most_telling, next_measurement
from estimator.estimates.throughput.odds import odds_at
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import setting_of
from estimator.estimates.throughput.targets import binding_targets
from estimator.question.sweep import Sweep
from estimator.question.workload import Targets
from estimator.resolvers.facts import StoredFacts


class RowMeasurement(NextMeasurement):
    """The benchmark that would narrow a decision most: of which row, at its load."""

    gpu: str | None = Field(description="GPU to measure, as rows say it; null where nothing is to be measured.")
    gpu_name: str | None = Field(description="Its name for people.")
    row_index: int | None = Field(description="Row of the version that is measured.")


class Measurements:
    """What to measure, for the rows of one version; its axes are resolved once.

    Raises:
        ResolutionError, LookupError: the snapshot is not one that this release resolves.
    """

    def __init__(self, sweep: Sweep, snapshot: Mapping[str, Any], slo: Targets) -> None:
        self._facts = StoredFacts(snapshot["facts"], catalog_revision=int(snapshot["catalog_revision"]))
        self._axes: Axes = resolve_axes(sweep, self._facts)
        self._slo = slo

    def among(self, rows: Sequence[Mapping[str, Any]]) -> RowMeasurement:
        """The measurement of the row that tells most of several of which the first that meets the targets is taken.

        Args:
            rows: whole rows with figures, in the order in which they would be taken: the cheapest first.
        """
        chances = [row[CHANCE] for row in rows]
        if not chances or None in chances:
            return _nothing(_("No chance of meeting the targets is known."))
        place = most_telling(chances)
        if place is None:
            return _nothing(
                _("Whether the cheapest meet the targets is sure already: a benchmark is not likely to change it.")
            )
        return self._of(rows[place])

    def _of(self, row: Mapping[str, Any]) -> RowMeasurement:
        codes = tuple(labels.index(row[name]) for name, labels in self._axes.labels.items())
        plan = plan_of(self._axes, codes)
        assert plan.workload is not None  # noqa: S101  every point of a sweep has one
        load: dict[str, Any] = {} if row["batch_size"] is None else {"concurrency": int(row["batch_size"])}
        if plan.workload.mode is WorkloadMode.OPEN_LOOP:
            load = {"requests_per_s": row["offered_requests_per_s"]}
        workload = plan.workload.model_copy(update=load)
        plan = replace(plan, workload=workload, slo=self._slo)
        columns = setting_of(plan).sweep.evaluate(rows_of(workload, np.array([float(workload.concurrency or 1)])))
        found = odds_at(columns, workload, binding_targets(self._slo, workload))
        said = next_measurement(plan, found, self._facts, None)
        return RowMeasurement(**said.model_dump(), gpu=row["gpu"], gpu_name=None, row_index=row["row_index"])


def _nothing(reason: str) -> RowMeasurement:
    unsaid = dict.fromkeys(name for name in RowMeasurement.model_fields if name != "reason")
    return RowMeasurement(reason=reason, **unsaid)
