"""Published measurements as shipped with the product: one figure a row, with the setting it was measured in."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from estimator.engine.specs import Parallelism, Precision, WorkloadMode

DATA_DIR = Path(__file__).parent / "data"
_KEPT_OUT_ONE_IN = 5


class Metric(StrEnum):
    """What a row states: seconds, or tokens per second of a whole replica."""

    TPOT = "tpot_s"
    TTFT = "ttft_s"
    TTFT_ALONE = "ttft_single_s"
    ONLINE = "output_tokens_per_s"
    OFFLINE = "max_output_tokens_per_s"
    STATIC = "static_batch_output_tokens_per_s"
    SINGLE_STREAM = "single_stream_tokens_per_s"
    PREFILL = "prefill_tokens_per_s"

    @property
    def is_rate(self) -> bool:
        """True for tokens per second, where more is faster; False for seconds."""
        return self.value.endswith("tokens_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One published figure; `value` in the metric's unit, lengths in tokens.

    `core` marks the scored set (each physical run once, spread over settings); `excluded_by` names the rule that keeps
    a row out, "" for none. `launch` names how server and client were started (launches.csv), "" where nobody published
    it; `requests` are those of the whole run, 0 where unknown. `kv_cache_stated` is False where the cache format is the
    protocol's guess.
    """

    id: str
    metric: Metric
    value: float
    model: str
    gpu: str
    engine: str
    engine_version: str
    load: str
    parallelism: Parallelism
    precision: Precision
    kv_cache_stated: bool
    input_tokens: float
    output_tokens: float
    concurrency: float
    core: bool
    excluded_by: str
    source: str
    source_row: str
    date: str
    launch: str = ""
    requests: float = 0.0

    @property
    def mode(self) -> WorkloadMode:
        """The mode of the workload that the figure belongs to."""
        if self.metric is Metric.OFFLINE:
            return WorkloadMode.OFFLINE
        if self.metric is Metric.STATIC:
            return WorkloadMode.STATIC_BATCH
        return WorkloadMode.CLOSED_LOOP if self.load == "concurrency" else WorkloadMode.SINGLE_STREAM


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where rows are from: whom to name, the place, its licence, and the day it was read (for rows without a date).

    `kept_out`: one of the fifth of all families that a refit leaves out together; which they are follows from their
    names (`is_kept_out`), so that nobody chose them.
    """

    key: str
    attribution: str
    where: str
    licence: str
    seen: str
    kept_out: bool = False


def read_measurements(path: Path | None = None) -> tuple[Measurement, ...]:
    """All shipped rows, excluded ones too, or those of another file of the same form.

    Raises:
        ValueError: a row cannot be read; it names the row.
    """
    with (path or DATA_DIR / "measurements.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(_measurement(row) for row in csv.DictReader(stream))


def read_sources() -> tuple[Source, ...]:
    """Attribution of every source of the rows."""
    with (DATA_DIR / "sources.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(Source(**row | {"kept_out": row["kept_out"] == "yes"}) for row in csv.DictReader(stream))


def kept_out() -> frozenset[str]:
    """The families that a refit leaves out together."""
    return frozenset(source.key for source in read_sources() if source.kept_out)


def is_kept_out(key: str) -> bool:
    """The rule behind `kept_out`: the SHA-256 of the name, as a number, leaves no rest by 5."""
    return int(sha256(key.encode()).hexdigest(), 16) % _KEPT_OUT_ONE_IN == 0


def used(rows: Sequence[Measurement], *, core: bool = False) -> tuple[Measurement, ...]:
    """Rows that no rule excludes; with `core` only those of the scored set."""
    return tuple(row for row in rows if not row.excluded_by and (row.core or not core))


def _measurement(row: dict[str, str]) -> Measurement:
    try:
        return Measurement(
            id=row["id"],
            metric=Metric(row["metric"]),
            value=float(row["value"]),
            model=row["model"],
            gpu=row["gpu"],
            engine=row["engine"],
            engine_version=row["engine_version"],
            load=row["load"],
            parallelism=Parallelism(**{name: int(row[name]) for name in ("tp", "pp", "ep", "dp")}),
            precision=Precision(
                weights=_format(row["weights"]),
                attention_weights=_format(row["attention_weights"]),
                expert_weights=_format(row["expert_weights"]),
                kv_cache=row["kv_cache"],
            ),
            kv_cache_stated=row["kv_cache_stated"] == "yes",
            input_tokens=float(row["input_tokens"]),
            output_tokens=float(row["output_tokens"]),
            concurrency=float(row["concurrency"]),
            core=row["core"] == "1",
            excluded_by=row["excluded_by"],
            source=row["source"],
            source_row=row["source_row"],
            date=row["date"],
            launch=row.get("launch", ""),
            requests=float(row.get("requests") or 0.0),
        )
    except (KeyError, ValueError) as broken:
        raise ValueError(f"row {row.get('id', '?')}: {broken}") from broken


def _format(name: str) -> str:
    return {"q4km": "q4_k_m", "q8": "q8_0"}.get(name, name)
