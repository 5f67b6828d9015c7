"""A plan: every input of an estimate resolved into engine specs, with the origin of each figure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from estimator.engine.model.parameters import ParameterTotals
from estimator.engine.model.spec import Architecture
from estimator.engine.options import Lora, MemoryOverrides
from estimator.engine.specs import EngineProfile, Gpu, Parallelism, Precision
from estimator.question.workload import Power, ResolvedWorkload, Speculative, Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where one figure is from: `what` is its dotted name in the request or answer, `unit` a base unit."""

    what: str
    value: float | int | str | bool | None
    unit: str
    source: str
    date: str | None = None
    confidence: str | None = None


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
class Plan(Resolved):
    """Model, GPU, engine and settings of one estimate, resolved.

    `workload`, `slo`, `speculative` and `power` are those of the question; `workload` is None where it has none.
    """

    model: ResolvedModel
    gpu: ResolvedGpu
    engine: EngineProfile
    parallelism: Parallelism
    precision: Precision
    memory: MemoryOverrides
    workload: ResolvedWorkload | None = None
    slo: Targets | None = None
    speculative: Speculative | None = None
    draft_model: ResolvedModel | None = None
    lora: Lora | None = None
    mtp_layers_loaded: int = 0
    power: Power | None = None
    catalog_revision: int = 0
