"""Optional parts of a plan: memory overrides, targets, speculative decoding, adapters and power."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from estimator.engine.specs import WorkloadMode


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOverrides:
    """Overrides of the engine profile's memory policy; None leaves the profile's value.

    `utilization`: share of the GPU's memory the engine may use, in (0, 1]. `kv_cache_tokens_observed`: what the server
    printed at start, tokens of KV cache of one replica; it beats the model (basis `observed`).
    """

    utilization: float | None = None
    runtime_overhead_bytes: int | None = None
    max_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    kv_cache_tokens_observed: int | None = None


class BandSide(StrEnum):
    """Which end of the error band is held against a target."""

    MID = "mid"
    CONSERVATIVE = "conservative"


TARGETS = ("ttft_s", "tpot_s", "e2e_s")
OPEN_PERCENTILE = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevel:
    """Targets of one request, seconds; a missing target is not checked.

    `percentile` is the share of requests that must meet them; `conservative` takes the slow end of the band.
    """

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None
    percentile: int | None = None
    band_side: BandSide = BandSide.CONSERVATIVE

    def percentile_in(self, mode: WorkloadMode) -> int:
        """Share of requests that must meet the targets, percent: the one asked for, 95 in open loop, else 50."""
        return self.percentile or (OPEN_PERCENTILE if mode is WorkloadMode.OPEN_LOOP else 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculative:
    """Speculative decoding: chance that one drafted token is accepted, and drafted tokens a step.

    The draft costs `draft_cost_ratio` of a step of the target model, or is a model of its own (`draft_model` slug).
    """

    acceptance_rate: float
    draft_tokens: int
    draft_cost_ratio: float | None = None
    draft_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Adapters held on the GPU at once and their largest rank."""

    max_loras: int
    max_rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Price of electricity: power usage effectiveness of the building and money per kWh."""

    pue: float
    price_per_kwh: Decimal
    currency: str
