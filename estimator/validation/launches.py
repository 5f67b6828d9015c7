"""How servers of measured rows were launched and which traffic their client sent, by group of rows."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from estimator.constants.engine_settings import Value
from estimator.engine.specs import WorkloadMode
from estimator.question.traffic import Statistic, Traffic, TrafficKind
from estimator.validation.rows import DATA_DIR, Measurement, Metric

_STEP = 64
# Lengths that nobody published are nearly equal.
_UNSTATED_RATIO = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One group: settings by the engine's own names, and the client's traffic.

    `statistic` is that of the first tokens. `length_ratio` and `client_s` as of `Load`. `tuned`: kernels were picked by
    flags.
    """

    id: str
    engine: str
    settings: Mapping[str, str | Value]
    tuned: bool
    length_ratio: float
    client_s: float
    statistic: Statistic
    source: str

    def settings_for(self, row: Measurement) -> dict[str, Value]:
        """The settings with what follows from a row's concurrency and prompt."""
        return {name: _figure(value, row) for name, value in self.settings.items()}


@cache
def launches() -> Mapping[str, Launch]:
    """All groups by name."""
    with (DATA_DIR / "launches.csv").open(encoding="utf-8", newline="") as stream:
        return {row["id"]: _launch(row) for row in csv.DictReader(stream, strict=True)}


def launch_of(row: Measurement) -> Launch | None:
    """The launch of a row, None where nobody published its traffic."""
    return launches()[row.launch] if row.launch else None


def traffic_of(row: Measurement) -> Traffic:
    """How the requests of a row came; where nobody published it, as benchmark clients send by default."""
    launch = launch_of(row)
    if row.mode is not WorkloadMode.CLOSED_LOOP:
        return Traffic()
    if launch is None:
        return Traffic(kind=TrafficKind.BENCHMARK, random_range_ratio=_UNSTATED_RATIO)
    percentile = launch.statistic if row.metric is Metric.TTFT else "mean"
    return Traffic(
        kind=TrafficKind.BENCHMARK,
        requests=round(row.requests),
        random_range_ratio=launch.length_ratio,
        client_s=launch.client_s,
        statistic=percentile,
    )


def _launch(row: Mapping[str, str]) -> Launch:
    return Launch(
        id=row["id"],
        engine=row["engine"],
        settings=json.loads(row["settings"]),
        tuned=row["launch"] == "tuned",
        length_ratio=float(row["random_range_ratio"]),
        client_s=float(row["client_s"]),
        statistic=cast(Statistic, row["ttft_statistic"]),
        source=row["source"],
    )


def _figure(value: str | Value, row: Measurement) -> Value:
    if not isinstance(value, str):
        return value
    concurrency = round(row.concurrency)
    if value == "concurrency":
        return concurrency
    # ceil64(concurrency + input + 64): the longest prompt of lengths whose mean the row states.
    longest = round(row.input_tokens * 2.0 / (1.0 + launches()[row.launch].length_ratio))
    return -(-(concurrency + longest + _STEP) // _STEP) * _STEP
