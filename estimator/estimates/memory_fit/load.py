"""From a resolved plan to the inputs of the memory model: one place for the estimate, the sweep and the validation."""

from math import ceil

from estimator.engine.memory.kv_allocation import kv_allocation
from estimator.engine.memory.ledger import MemoryPlan
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.memory.weights import fold, rank_weights
from estimator.engine.model.cache import attention_elements, kv_element_bytes
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


def memory_plan(plan: Plan, *, longest_tokens: int | None = None) -> MemoryPlan:
    """The memory model's inputs for a plan.

    Args:
        plan: the resolved plan.
        longest_tokens: longest sequence the server is to take; None takes the length of the load.
    """
    policy = plan.engine.memory
    draft_weights, draft_cache = _draft(plan, policy)
    return MemoryPlan(
        architecture=plan.model.architecture,
        memory_bytes=plan.gpu.spec.memory_bytes,
        gpu_family=plan.gpu.spec.kernel_family,
        policy=policy,
        precision=plan.precision,
        parallelism=plan.parallelism,
        overrides=plan.memory,
        longest_tokens=load_of(plan)[1] if longest_tokens is None else longest_tokens,
        stored_weight_bytes=_stored(plan),
        stored_by_format=tuple((stored.precision, stored.stored_weight_bytes) for stored in plan.model.checkpoints),
        lora=plan.lora,
        mtp_layers_loaded=plan.mtp_layers_loaded,
        draft_weight_bytes=draft_weights,
        draft_cache_bytes_per_token=draft_cache,
    )


def _stored(plan: Plan) -> int | None:
    """Bytes of the checkpoint's files at the weight format asked for, when known; they beat the formula."""
    if plan.precision.attention_weights or plan.precision.expert_weights:
        return None
    for checkpoint in plan.model.checkpoints:
        if checkpoint.precision == plan.precision.weights:
            return checkpoint.stored_weight_bytes
    return None


def _draft(plan: Plan, policy: MemoryPolicy) -> tuple[float, float]:
    """Weight bytes and cache bytes per token on each rank of what speculation adds: a draft model, MTP layers."""
    weights = cache = 0.0
    tp = plan.parallelism.tp
    if plan.draft_model is not None:
        folded = fold(plan.draft_model.architecture)
        weights = rank_weights(folded, plan.precision, plan.parallelism, nominal=policy.nominal_weights).total_bytes
        cache = kv_allocation(folded, plan.precision.kv_cache, policy, tp=tp).bytes_per_token
    if plan.mtp_layers_loaded:
        cache += _mtp_cache(plan.model.architecture, plan.precision.kv_cache, plan.mtp_layers_loaded, tp)
    return weights, cache


def _mtp_cache(architecture: Architecture, kv_format: str, layers: int, tp: int) -> float:
    """Cache bytes per token of MTP layers: as many layers like the last attending group."""
    attending = [group.attention for group in architecture.layer_groups if group.attention is not None]
    if not attending:
        return 0.0
    return float(attention_elements(attending[-1], tp) * kv_element_bytes(kv_format)) * layers
