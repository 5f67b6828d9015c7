"""How fast a plan serves: ceiling and expectation with its band, concurrency, work, targets, speculation."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from estimator.engine.codes import Reason
from estimator.engine.forward_pass.roofline import StepFloor, step_floor
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.replica_cache import ReplicaCache, replica_cache
from estimator.engine.serving.capacity import running_tokens
from estimator.engine.serving.load import context_tokens, prefix_tokens
from estimator.engine.serving.steps import micro_batch
from estimator.engine.specs import WorkloadMode
from estimator.engine.speculation.cost import Speculation, reversal_sequences, speculate
from estimator.engine.speed.prepared import PreparedKey
from estimator.engine.speed.work import Work, decode_work, prefill_work
from estimator.estimates.memory_fit.load import load_fits
from estimator.estimates.throughput.figures import SpeedFigures, figures_at, rows_at
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import Setting, draft_key, setting_of, workload_of
from estimator.estimates.throughput.targets import TargetResult, targets_met
from estimator.question.workload import ResolvedWorkload
from estimator.resolvers.plan import Plan

_DOUBLED = np.array([float(2**power) for power in range(13)])


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculationResult:
    """Speculation at the plan's load, and the batch at which it starts to slow down (None within 4,096)."""

    at_load: Speculation
    speedup: float
    verify_cost_ratio: float
    draft_cost_ratio: float
    tpot_s: float | None
    tokens_per_s_total: float | None
    reversal_batch_size: int | None
    draft_cache_bytes_per_token: float | None


@dataclass(frozen=True)
class Throughput:
    """The answer of a plan: figures at its load, one set for each batch size asked for, and what they rest on."""

    plan: Plan
    workload: ResolvedWorkload
    prepared: PreparedKey
    figures: SpeedFigures
    rows: list[dict[str, Any]]
    targets: TargetResult | None
    speculation: SpeculationResult | None
    memory_cache: ReplicaCache
    memory: MemoryPlan

    @property
    def sequences(self) -> float:
        """Sequences of a decode step: those that decode, at least one."""
        return max(self.figures.decoding_sequences or self.figures.effective_concurrency or 1.0, 1.0)

    @property
    def serves(self) -> bool:
        """Whether weights and one sequence with its whole answer fit: else no time or rate is said."""
        return self.figures.reason is not Reason.DOES_NOT_FIT

    @property
    def feasible(self) -> bool:
        """Whether the asked load fits with its whole answers: what memory-fit says of it."""
        return load_fits(self.plan, self.figures.full_length_sequences)

    @property
    def may_evict(self) -> bool:
        """Whether more sequences run than the cache holds with their whole answers."""
        full = self.figures.full_length_sequences
        return full is not None and (self.figures.effective_concurrency or 0.0) > full

    @property
    def waits_for(self) -> Literal["cache", "engine"] | None:
        """What requests beyond the limit wait for: room in the cache, or a place among those the engine runs at once.

        None where everything asked for is inside, or nothing fits.
        """
        if not self.figures.saturated:
            return None
        limit = self.prepared.cache.engine_sequences
        return "engine" if (self.figures.max_sequences or 0.0) >= limit else "cache"

    @cached_property
    def context_tokens(self) -> float:
        """Cache length at which decode is evaluated, tokens."""
        return _decode_context(self.workload)

    @property
    def running_tokens(self) -> float:
        """Tokens of the cache for which a running sequence has room."""
        return self._held(self.prepared.reserved_share)

    @property
    def full_tokens(self) -> float:
        """Tokens of the cache that a sequence takes at its end."""
        return self._held(1.0)

    def _held(self, share_of_output: float) -> float:
        load = self.workload
        if load.context_tokens is not None:
            return float(load.context_tokens)
        return float(running_tokens(load.input_tokens, load.output_tokens, share_of_output))

    @property
    def cached_tokens(self) -> float:
        """Prompt tokens that the prefix cache spares."""
        if not self.workload.prefix_cache_hit_rate:
            return 0.0
        return float(prefix_tokens(float(self.workload.input_tokens), self.workload.prefix_cache_hit_rate))

    @cached_property
    def decode(self) -> Work:
        """FLOPs and bytes of one decode step of the replica."""
        return decode_work(self.prepared, sequences=self.sequences, context_tokens=self.context_tokens)

    @cached_property
    def prefill(self) -> Work:
        """FLOPs and bytes of one prompt."""
        cached = self.cached_tokens
        return prefill_work(
            self.prepared, new_tokens=max(self.workload.input_tokens - cached, 0.0), cached_tokens=cached
        )

    @cached_property
    def floor(self) -> StepFloor:
        """Least seconds of a decode step of one GPU, by bytes and by FLOPs; the source documents' count for `ideal`."""
        floor = self.prepared.ideal if self.prepared.ideal is not None else self.prepared.ceiling
        return step_floor(floor, micro_batch(self.sequences, float(self.plan.parallelism.pp)), self.context_tokens)

    @property
    def peak_flops_per_s(self) -> float:
        """Dense peak of one GPU in the format that most products run in, FLOP/s."""
        gemms = self.prepared.layout.gemms
        return gemms[-1].format.peak_flops_per_s if gemms else self.prepared.layout.head.format.peak_flops_per_s


def estimate_throughput(plan: Plan) -> Throughput:
    """Speed of a plan at its workload.

    Args:
        plan: resolved model, GPU, engine, settings and workload; targets, batch sizes and speculation if any.

    Raises:
        EngineError: a format or figure the engine does not know.
    """
    workload = workload_of(plan)
    setting = setting_of(plan)
    prepared, sweep = setting.speed, setting.sweep
    sizes = np.array([float(workload.concurrency), *map(float, workload.batch_sizes or ())])
    columns = {name: column.tolist() for name, column in sweep.evaluate(rows_of(workload, sizes)).items()}
    figures = figures_at(columns, 0, sizes[0])
    rows = rows_at(columns, sizes.tolist()) if len(sizes) > 1 else []
    targets = targets_met(sweep, workload, plan.slo, figures) if plan.slo is not None else None
    return Throughput(
        plan=plan,
        workload=workload,
        prepared=prepared,
        figures=figures,
        rows=rows,
        targets=targets,
        speculation=_speculation(plan, prepared, workload, figures),
        memory_cache=_memory_cache(setting),
        memory=setting.memory,
    )


def _memory_cache(setting: Setting) -> ReplicaCache:
    """The cache as memory-fit counts it; of llama.cpp speed takes one stream, memory as many as it is started for."""
    if setting.speed.llama_cpp is None:
        return setting.speed.cache
    return replica_cache(setting.memory)


def _speculation(
    plan: Plan, prepared: PreparedKey, workload: ResolvedWorkload, figures: SpeedFigures
) -> SpeculationResult | None:
    asked = plan.speculative
    if asked is None or figures.reason is Reason.DOES_NOT_FIT:
        return None
    load = max(figures.decoding_sequences or float(workload.concurrency), 1.0)
    batches = np.array([load, *_DOUBLED])
    draft = draft_key(plan)
    result = speculate(
        prepared,
        sequences=batches,
        context_tokens=_decode_context(workload),
        acceptance_rate=asked.acceptance_rate,
        draft_tokens=asked.draft_tokens,
        draft_cost_ratio=asked.draft_cost_ratio,
        draft=draft,
    )
    gain = np.broadcast_to(result.speedup, batches.shape)
    tpot = figures.expected["tpot_s"].mid
    total = figures.expected["tokens_per_s_total"].mid
    return SpeculationResult(
        at_load=result,
        speedup=float(gain[0]),
        verify_cost_ratio=float(np.broadcast_to(result.verify_cost_ratio, batches.shape)[0]),
        draft_cost_ratio=float(np.broadcast_to(result.draft_cost_ratio, batches.shape)[0]),
        tpot_s=tpot / float(gain[0]) if tpot is not None else None,
        tokens_per_s_total=total * float(gain[0]) if total is not None and workload.mode in _STEADY else None,
        reversal_batch_size=reversal_sequences(_DOUBLED, gain[1:]),
        draft_cache_bytes_per_token=_cache_per_token(draft) if draft is not None else None,
    )


def _decode_context(workload: ResolvedWorkload) -> float:
    """Cache length at which decode is evaluated: as asked, else the mean of a running sequence."""
    if workload.context_tokens is not None:
        return float(workload.context_tokens)
    return float(context_tokens(workload.input_tokens, workload.output_tokens))


_STEADY = (WorkloadMode.DECODE_STEP, WorkloadMode.OFFLINE, WorkloadMode.SINGLE_STREAM)


def _cache_per_token(draft: PreparedKey) -> float:
    allocation = draft.cache.stages[0].allocation
    return float(allocation.short_bytes_per_token)
