"""A plan: every input of an estimate resolved into engine specs, with the origin of each figure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from estimator.constants.engine_settings import Value
from estimator.engine.model.parameters import ParameterTotals
from estimator.engine.model.spec import Architecture
from estimator.engine.options import Lora, MemoryOverrides
from estimator.engine.recent import Recent
from estimator.engine.specs import EngineProfile, Gpu, Parallelism, Precision
from estimator.question.traffic import Traffic
from estimator.question.workload import Power, ResolvedWorkload, Speculative, Targets


class Provenance(BaseModel):
    """Where one figure of the answer is from."""

    model_config = ConfigDict(
        extra="forbid", allow_inf_nan=False, frozen=True, json_schema_serialization_defaults_required=True
    )

    what: str = Field(description="Dotted name of the figure, as in the request or answer.")
    value: float | int | str | bool | None = Field(description="The figure, in `unit`.")
    unit: str = Field(description="Base unit of the value, such as bytes or bytes/s; 1 for a pure number.")
    source: str = Field(description="Document, page, data file or measurement the figure is from.")
    date: str | None = Field(default=None, description="Date of the source, ISO 8601; null when it has none.")
    confidence: str | None = Field(default=None, description="high, medium or low; null when not graded.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Bytes that a published checkpoint stores at a precision; files beat formulas."""

    precision: str
    stored_weight_bytes: int
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel:
    """The model of a plan; `slug` is None for one given by config or shape, the context window None if unknown."""

    slug: str | None
    name: str
    architecture: Architecture
    parameters: ParameterTotals
    checkpoints: tuple[Checkpoint, ...] = ()
    context_window_tokens: int | None = None
    config_sha256: str | None = None
    override: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedGpu:
    """The GPU of a plan: the engine's spec (with the memory figure the profile uses) and what else is known of it."""

    slug: str | None
    name: str
    spec: Gpu
    memory_basis: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What every resolved thing carries for the answer: assumptions, warnings, gaps and provenance."""

    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
    provenance: tuple[Provenance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """One run: its load and what was measured, seconds; None for a figure that the run does not have.

    `traffic` is how the requests came and which statistic of the first token the run states.
    """

    input_tokens: float
    output_tokens: float
    concurrency: int
    tpot_s: float | None
    ttft_s: float | None
    traffic: Traffic = field(default_factory=Traffic)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A calibration as stored; `owner` is None for one that an editor shared.

    `scope` is what `scope_of` says of its plan; `metrics` are the figures that its left-out runs let it correct.
    """

    id: str
    name: str
    owner: int | None
    scope: Mapping[str, Any]
    metrics: tuple[str, ...]
    points: tuple[MeasuredPoint, ...]
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Resolved):
    """Model, GPU, engine and settings of one estimate, resolved.

    `engine_settings` are those stated by the engine's own names; `tuned`: kernels were picked by flags.
    `workload`, `slo`, `speculative` and `power` are those of the question; `workload` is None where it has none.
    `calibration` is what runs of this setting say, where whoever asks may use it.
    `kv_settings_assumed`: the format of the cache or the share of memory is a default that nobody stated, so that a
    first token that waits for room in the cache is not said.
    """

    model: ResolvedModel
    gpu: ResolvedGpu
    engine: EngineProfile
    parallelism: Parallelism
    precision: Precision
    memory: MemoryOverrides
    engine_settings: Mapping[str, Value] = field(default_factory=dict)
    tuned: bool = True
    workload: ResolvedWorkload | None = None
    slo: Targets | None = None
    speculative: Speculative | None = None
    draft_model: ResolvedModel | None = None
    lora: Lora | None = None
    mtp_layers_loaded: int = 0
    power_cap_w: float | None = None
    power: Power | None = None
    calibration: Calibration | None = None
    kv_settings_assumed: bool = False
    catalog_revision: int = 0
    # What was made of the setting alone (all but workload, targets and power); shared by the plans of one setting,
    # and never by a plan that `replace` made, which may have another.
    kept: Recent = field(init=False, repr=False, compare=False, default_factory=Recent)
