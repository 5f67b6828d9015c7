"""From a resolved plan to the inputs of the memory model: one place for the estimate, the sweep and the validation."""

from dataclasses import replace
from math import ceil

from estimator.engine.memory.layer_caches import CacheBytes, LayerCache, attention_cache, layer_caches
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.memory.replica_cache import length_decides
from estimator.engine.memory.weight_parts import fold
from estimator.engine.memory.weights import rank_weights
from estimator.engine.model.spec import Architecture
from estimator.resolvers.plan import Plan

DEFAULT_TOKENS = 4096
"""Length of the one conversation assumed where a request names no workload."""


def load_of(plan: Plan) -> tuple[int, int]:
    """Sequences at once and the length each reaches in tokens (input + output, or the context asked for)."""
    workload = plan.workload
    window = plan.model.context_window_tokens
    if workload is None:
        return 1, min(DEFAULT_TOKENS, window or DEFAULT_TOKENS)
    tokens = workload.context_tokens
    if tokens is None:
        tokens = workload.input_tokens + workload.output_tokens
    return max(ceil(workload.concurrency), 1), max(ceil(tokens), 1)


def load_fits(plan: Plan, held_sequences: float | None) -> bool:
    """Whether the load of a plan fits: `feasible` of every estimate.

    Args:
        plan: the resolved plan.
        held_sequences: sequences of the load's length that the cache holds with their whole answers.
    """
    return held_sequences is not None and load_of(plan)[0] <= held_sequences


def memory_plan(plan: Plan, *, longest_tokens: int | None = None) -> MemoryPlan:
    """The memory model's inputs for a plan.

    Args:
        plan: the resolved plan.
        longest_tokens: longest sequence the server is to take; None takes the length of the load. Counted only where
            it decides anything: the plans of one setting are one object where it does not.
    """
    longest = load_of(plan)[1] if longest_tokens is None else longest_tokens
    if not length_decides(plan.engine.memory, plan.memory):
        longest = 1
    return plan.kept.of(("memory", longest), lambda: _memory_plan(plan, longest))


def _memory_plan(plan: Plan, longest_tokens: int) -> MemoryPlan:
    policy = plan.engine.memory
    draft_weights, draft_caches = _draft(plan, policy)
    return MemoryPlan(
        architecture=plan.model.architecture,
        memory_bytes=plan.gpu.spec.memory_bytes,
        gpu_family=plan.gpu.spec.kernel_family,
        policy=policy,
        precision=plan.precision,
        parallelism=plan.parallelism,
        overrides=plan.memory,
        longest_tokens=longest_tokens,
        stored_weight_bytes=_stored(plan),
        stored_by_format=tuple((stored.precision, stored.stored_weight_bytes) for stored in plan.model.checkpoints),
        lora=plan.lora,
        mtp_layers_loaded=plan.mtp_layers_loaded,
        draft_weight_bytes=draft_weights,
        draft_caches=draft_caches,
        draft_tokens=plan.speculative.draft_tokens if plan.speculative is not None else 0,
    )


def _stored(plan: Plan) -> int | None:
    """Bytes of the checkpoint's files at the weight format asked for, when known; they beat the formula."""
    if plan.precision.attention_weights or plan.precision.expert_weights:
        return None
    for checkpoint in plan.model.checkpoints:
        if checkpoint.precision == plan.precision.weights:
            return checkpoint.stored_weight_bytes
    return None


def _draft(plan: Plan, policy: MemoryPolicy) -> tuple[float, tuple[LayerCache, ...]]:
    """Weight bytes on each rank and the cached layers of what speculation adds: a draft model, prediction layers."""
    weights = 0.0
    caches: tuple[LayerCache, ...] = ()
    size = CacheBytes(
        kv_format=plan.precision.kv_cache,
        tp=plan.parallelism.tp,
        latent_bytes=policy.fp8_latent_bytes,
        unrotated_latent_bytes=policy.fp8_unrotated_latent_bytes,
        index_bytes=policy.fp8_index_bytes,
        state_element_bytes=policy.state_element_bytes,
    )
    if plan.draft_model is not None:
        folded = fold(plan.draft_model.architecture)
        weights = rank_weights(folded, plan.precision, plan.parallelism, nominal=policy.nominal_weights).total_bytes
        caches = layer_caches(plan.draft_model.architecture, size)
    if plan.mtp_layers_loaded:
        caches = (*caches, *_prediction_caches(plan.model.architecture, size, plan.mtp_layers_loaded))
    return weights, caches


def _prediction_caches(architecture: Architecture, size: CacheBytes, layers: int) -> tuple[LayerCache, ...]:
    """As many layers like the last attending group; where it compresses, with its window alone."""
    attending = [group.attention for group in architecture.layer_groups if group.attention is not None]
    return (attention_cache(replace(attending[-1], compress_ratio=0), size, layers),) if attending else ()
