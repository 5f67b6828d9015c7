"""The columns of a sweep's rows, in their fixed order: the one list that files, hashes, filters and schemas follow."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray

from estimator.engine.serving.queue_table import PERCENTILES
from estimator.figures.energy import ENERGY
from estimator.figures.speed import FIGURES, SIDES, Figure


class ColumnKind(StrEnum):
    """How a column is stored: text by code and label, money as an exact decimal, the rest as numbers."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    MONEY = "money"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Name, kind, unit and meaning of one column."""

    name: str
    kind: ColumnKind
    unit: str
    help: str | Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class TextValues:
    """Text of many rows as codes into labels; code −1 is null."""

    codes: NDArray[np.int32]
    labels: tuple[str, ...]


ColumnValues = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.int8] | TextValues
Rows = dict[str, ColumnValues]

_TEXT, _INT, _NUM, _BOOL, _MONEY = (
    ColumnKind.TEXT,
    ColumnKind.INTEGER,
    ColumnKind.NUMBER,
    ColumnKind.BOOLEAN,
    ColumnKind.MONEY,
)


def _metric(figure: Figure) -> list[Column]:
    sides = [Column(name=f"{figure.name}_{side}", kind=_NUM, unit=figure.unit, help=figure.said) for side in SIDES]
    return [*sides, Column(name=f"{figure.name}_ceiling", kind=_NUM, unit=figure.unit, help=figure.least)]


_KEY = [
    Column(name="row_index", kind=_INT, unit="", help=_("Place of the row in the sweep, from 0.")),
    Column(name="model", kind=_TEXT, unit="", help=_("Language model.")),
    Column(name="gpu", kind=_TEXT, unit="", help=_("Accelerator.")),
    Column(name="engine", kind=_TEXT, unit="", help=_("Engine profile, resolved to its version.")),
    Column(
        name="precision",
        kind=_TEXT,
        unit="",
        help=_("Weight format (own: each model's) / KV cache format (and others if set)."),
    ),
    Column(name="parallelism", kind=_TEXT, unit="", help=_("Degrees inside one replica, as tp8-pp1-ep1-dp1.")),
    Column(name="workload", kind=_TEXT, unit="", help=_("Workload: mode and lengths, or its given name.")),
    Column(name="tp", kind=_INT, unit="", help=_("Tensor parallel degree.")),
    Column(name="gpus", kind=_INT, unit="", help=_("GPUs of one replica.")),
    Column(name="input_tokens", kind=_INT, unit="tokens", help=_("Mean prompt length.")),
    Column(name="output_tokens", kind=_INT, unit="tokens", help=_("Mean answer length.")),
    Column(
        name="batch_size",
        kind=_INT,
        unit="sequences",
        help=_("Sequences asked for at once; null where the mode sets them (open_loop, offline)."),
    ),
    Column(
        name="offered_requests_per_s",
        kind=_NUM,
        unit="requests/s",
        help=_("Rate at which requests arrive; null outside open_loop."),
    ),
    Column(
        name="refined",
        kind=_BOOL,
        unit="",
        help=_("The load was not asked for: it is the largest within the targets, found between two that were."),
    ),
]
_VERDICT = [
    Column(name="status", kind=_TEXT, unit="", help=_("ok, does_not_fit or unsupported.")),
    Column(name="reason", kind=_TEXT, unit="", help=_("Why a row has no figures.")),
    Column(
        name="fits",
        kind=_BOOL,
        unit="",
        help=_("The KV cache holds the whole batch with its whole answers: feasible of memory-fit."),
    ),
    Column(name="effective_concurrency", kind=_NUM, unit="sequences", help=_("Sequences that run at once.")),
    Column(
        name="max_sequences",
        kind=_INT,
        unit="sequences",
        help=_("Most sequences that run at once, with half of their answer in the KV cache on average."),
    ),
    Column(
        name="full_length_sequences",
        kind=_INT,
        unit="sequences",
        help=_("Sequences that the KV cache holds with their whole answer: max_sequences of memory-fit."),
    ),
    Column(name="binding_term", kind=_TEXT, unit="", help=_("What limits this row.")),
    Column(name="basis", kind=_TEXT, unit="", help=_("calibrated, nearest_family, extrapolated or assumption.")),
]
_FIGURES = [column for figure in FIGURES for column in _metric(figure)]
_OPEN = [
    *(
        Column(
            name=f"ttft_s_p{percentile}",
            kind=_NUM,
            unit="s",
            help=_("Time to first token that this percentage of requests is within (open_loop)."),
        )
        for percentile in PERCENTILES
    ),
    Column(
        name="utilization",
        kind=_NUM,
        unit="",
        help=_("Arrivals over what the replica can serve; from 1 on the queue grows (open_loop)."),
    ),
    Column(
        name="max_stable_requests_per_s",
        kind=_NUM,
        unit="requests/s",
        help=_("Arrivals beyond which the queue grows (open_loop)."),
    ),
]
_SPECULATIVE = [
    Column(
        name="speculative_speedup",
        kind=_NUM,
        unit="",
        help=_("Decode speed with speculation over without, at this load; below 1 it slows down."),
    ),
    Column(
        name="speculative_tpot_s",
        kind=_NUM,
        unit="s",
        help=_("Mean time per output token with speculation; tpot_s is that without."),
    ),
]
_MEMORY = [
    Column(name=name, kind=_INT, unit="bytes", help=help_text)
    for name, help_text in (
        ("memory_bytes", _("Memory of one GPU that the profile counts with.")),
        ("unmanaged_bytes", _("Left outside the engine's budget.")),
        ("weights_bytes", _("Weights on the worst rank.")),
        ("runtime_overhead_bytes", _("Runtime and communication buffers.")),
        ("activation_bytes", _("Peak of activations.")),
        ("cuda_graph_bytes", _("Captured graphs.")),
        ("kv_cache_bytes", _("KV cache that this batch needs.")),
        ("slack_bytes", _("What is left; negative when it does not fit.")),
    )
]
_ENERGY = [
    Column(name=f"{name}_{side}", kind=_NUM, unit=unit, help=said)
    for name, (unit, said) in ENERGY.items()
    for side in SIDES
]
_POWER = [
    Column(name="electricity_currency", kind=_TEXT, unit="", help=_("Currency of the electricity (ISO 4217).")),
    Column(
        name="electricity_per_hour",
        kind=_MONEY,
        unit="per hour",
        help=_("Electricity of the replica's GPUs at this load with the PUE, beside their price; null without power."),
    ),
    Column(
        name="electricity_per_mtok_output",
        kind=_MONEY,
        unit="per million tokens",
        help=_("Electricity of a million output tokens at the middle of the band."),
    ),
]
_COST = [
    Column(name="currency", kind=_TEXT, unit="", help=_("Currency of the amounts (ISO 4217).")),
    Column(name="price_per_hour", kind=_MONEY, unit="per hour", help=_("Price of the replica's GPUs per hour.")),
    Column(name="cost_per_mtok_output_low", kind=_MONEY, unit="per million tokens", help=_("At the fast end.")),
    Column(name="cost_per_mtok_output_mid", kind=_MONEY, unit="per million tokens", help=_("At the middle.")),
    Column(name="cost_per_mtok_output_high", kind=_MONEY, unit="per million tokens", help=_("At the slow end.")),
]
GOODPUT, CHANCE = "goodput_requests_per_s", "chance_within_slo"
_SLO = [
    *(
        Column(
            name=f"{GOODPUT}_{side}",
            kind=_NUM,
            unit="requests/s",
            help=_("Requests per second within every target; null without targets."),
        )
        for side in (*SIDES, "ceiling")
    ),
    Column(
        name=CHANCE,
        kind=_NUM,
        unit="",
        help=_("Chance that every target is met at once, 0 to 1; null without targets or where it is not known."),
    ),
    Column(
        name="meets_slo",
        kind=_BOOL,
        unit="",
        help=_("All targets are met; null without targets or where that is not known."),
    ),
]

COLUMNS: tuple[Column, ...] = (
    *_KEY, *_VERDICT, *_FIGURES, *_OPEN, *_SPECULATIVE, *_MEMORY, *_ENERGY, *_POWER, *_COST, *_SLO,
)  # fmt: skip
COLUMN_BY_NAME: dict[str, Column] = {column.name: column for column in COLUMNS}
SETTING_COLUMNS: tuple[str, ...] = ("model", "gpu", "engine", "precision", "parallelism", "workload")
LOAD_COLUMNS: tuple[str, ...] = ("batch_size", "offered_requests_per_s")
KEY_COLUMNS: tuple[str, ...] = (*SETTING_COLUMNS, *LOAD_COLUMNS)
# Means of whole numbers: whole where every workload of the sweep has whole lengths.
MEAN_COLUMNS: tuple[str, ...] = ("input_tokens", "output_tokens")
COST_COLUMNS: tuple[str, ...] = tuple(column.name for column in _COST)
