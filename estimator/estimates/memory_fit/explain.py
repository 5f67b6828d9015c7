"""The working of a memory estimate, step by step, with the numbers put in."""

from typing import TYPE_CHECKING

from estimator.engine.explain import Step
from estimator.engine.memory.activations import adds_up, expert_workspace_bytes, mlp_width
from estimator.engine.memory.plan import share_of_memory

if TYPE_CHECKING:
    from estimator.estimates.memory_fit.compute import MemoryEstimate

_LOGS = "vLLM start-up logs (llm-d-planner, 2025-11 and 2026-04), docs/memory.md"
_CONFIG = "config.json of the model"
_LEDGER = "definition of the ledger"


def explain_fit(estimate: "MemoryEstimate") -> list[Step]:
    """Steps from the usable memory to the number of sequences, for the worst rank."""
    fit, policy = estimate.fit, estimate.memory.policy
    rank = fit.rank
    steps = [*_weight_steps(estimate), *_activation_steps(estimate)]
    if policy.utilization_of_free:
        steps.append(_plain("usable_bytes", rank.usable_bytes, "bytes", "share of the memory free after weights"))
    else:
        utilization = share_of_memory(estimate.memory)
        steps.append(
            Step.worked(
                name="usable_bytes",
                formula="round(utilization · memory_bytes)",
                values={"utilization": utilization, "memory_bytes": rank.memory_bytes},
                value=rank.usable_bytes,
                unit="bytes",
                source="engine profile; GPU: catalog or request",
            )
        )
    steps.append(
        Step.worked(
            name="kv_budget_bytes",
            formula="usable_bytes − weights_bytes − runtime_overhead_bytes − activation_bytes − cuda_graph_bytes",
            values={
                "usable_bytes": rank.usable_bytes,
                "weights_bytes": rank.weights_bytes,
                "runtime_overhead_bytes": rank.runtime_overhead_bytes,
                "activation_bytes": rank.activation_bytes,
                "cuda_graph_bytes": rank.cuda_graph_bytes,
            },
            value=rank.kv_budget_bytes,
            unit="bytes",
            source=_LEDGER,
        )
    )
    return [*steps, *_cache_steps(estimate), _slack_step(estimate)]


def _plain(name: str, value: float, unit: str, source: str) -> Step:
    return Step.worked(name=name, formula="value", values={"value": value}, value=value, unit=unit, source=source)


def _weight_steps(estimate: "MemoryEstimate") -> list[Step]:
    """Weights of the rank by part."""
    rank = estimate.fit.rank
    weights = rank.weights
    stored = estimate.memory.stored_weight_bytes
    if stored is not None or rank.lora_bytes or rank.mtp_bytes or rank.draft_bytes or not weights.embedding_bytes:
        source = "bytes of the checkpoint's files" if stored is not None else _CONFIG
        return [_plain("weights_bytes", rank.weights_bytes, "bytes", f"{source}; adapters, draft and MTP included")]
    values = {
        "layer_bytes": weights.layer_bytes,
        "embedding_bytes": weights.embedding_bytes,
        "head_bytes": weights.head_bytes,
        "other_bytes": weights.other_bytes,
    }
    return [
        Step.worked(
            name="weights_bytes",
            formula="round(layer_bytes + embedding_bytes + head_bytes + other_bytes)",
            values=values,
            value=rank.weights_bytes,
            unit="bytes",
            source=f"{_CONFIG}; bits of the format with scales",
        )
    ]


def _activation_steps(estimate: "MemoryEstimate") -> list[Step]:
    """Activation peak, where the policy computes it."""
    rank, policy, plan = estimate.fit.rank, estimate.memory.policy, estimate.memory
    if not policy.activation_mlp_copies or not rank.activation_bytes or rank.stage != plan.parallelism.pp - 1:
        return [_plain("activation_bytes", rank.activation_bytes, "bytes", policy.evidence or "engine profile")]
    if adds_up(plan):
        return [_summed_activation(estimate)]
    return [
        Step.worked(
            name="activation_bytes",
            formula=(
                "round(max(batched_tokens · 2 · (mlp_copies · mlp_width + hidden_copies · hidden_size) + constant, "
                "logits_copies · max_num_seqs · vocab_size · 4) + expert_workspace)"
            ),
            values={
                "batched_tokens": rank.batched_tokens,
                "mlp_copies": policy.activation_mlp_copies,
                "mlp_width": mlp_width(plan.architecture, plan.parallelism.tp),
                "hidden_copies": policy.activation_hidden_copies,
                "hidden_size": plan.architecture.hidden_size,
                "constant": policy.activation_constant_bytes,
                "logits_copies": policy.logits_copies,
                "max_num_seqs": rank.max_num_seqs,
                "vocab_size": plan.architecture.vocab_size,
                "expert_workspace": expert_workspace_bytes(plan),
            },
            value=rank.activation_bytes,
            unit="bytes",
            source=_LOGS,
        )
    ]


def _summed_activation(estimate: "MemoryEstimate") -> Step:
    """Activation peak of a model with states, whose parts add up."""
    rank, policy, plan = estimate.fit.rank, estimate.memory.policy, estimate.memory
    return Step.worked(
        name="activation_bytes",
        formula=(
            "round(batched_tokens · 2 · (mlp_copies · mlp_width + hidden_copies · hidden_size) + constant + "
            "logits_copies · max_num_seqs · vocab_size · 4 + expert_workspace)"
        ),
        values={
            "batched_tokens": rank.batched_tokens,
            "mlp_copies": policy.hybrid_mlp_copies,
            "mlp_width": mlp_width(plan.architecture, plan.parallelism.tp),
            "hidden_copies": policy.hybrid_hidden_copies,
            "hidden_size": plan.architecture.hidden_size,
            "constant": policy.hybrid_activation_bytes,
            "logits_copies": policy.logits_copies,
            "max_num_seqs": rank.max_num_seqs,
            "vocab_size": plan.architecture.vocab_size,
            "expert_workspace": expert_workspace_bytes(plan),
        },
        value=rank.activation_bytes,
        unit="bytes",
        source=_LOGS,
    )


def _cache_steps(estimate: "MemoryEstimate") -> list[Step]:
    """The cache of one sequence, logical and allocated, and of all."""
    fit, cache = estimate.fit, estimate.cache
    steps = [_per_token_step(estimate)]
    if not cache.window_bytes_per_token and not cache.fixed_bytes_per_sequence:
        steps.append(
            Step.worked(
                name="bytes_per_sequence",
                formula="bytes_per_token · context_tokens",
                values={"bytes_per_token": cache.bytes_per_token, "context_tokens": fit.context_tokens},
                value=cache.bytes_per_token * fit.context_tokens,
                unit="bytes",
                source="definition",
            )
        )
    share = -(-fit.sequences // estimate.memory.parallelism.dp)
    steps.append(
        Step.worked(
            name="needed_bytes",
            formula="round(sequences_per_rank · allocated_bytes_per_sequence)",
            values={
                "sequences_per_rank": share,
                "allocated_bytes_per_sequence": fit.rank.allocation.load_bytes(share, fit.context_tokens) / share,
            },
            value=fit.needed_bytes,
            unit="bytes",
            source="blocks, chunks and windows of the engine on the worst rank",
        )
    )
    return steps


def _per_token_step(estimate: "MemoryEstimate") -> Step:
    """Bytes of a token: 2 · layers · KV heads · head width · bytes for one group of equal layers, else the sum."""
    architecture = estimate.plan.model.architecture
    value = estimate.cache.bytes_per_token
    groups = [group for group in architecture.layer_groups if group.attention is not None]
    heads = {(g.attention.kv_heads, g.attention.head_dim_qk, g.attention.head_dim_v) for g in groups if g.attention}
    latent = any(g.attention.latent_rank or g.attention.compress_ratio for g in groups if g.attention)
    whole = len(heads) == 1 and not latent and not estimate.cache.window_bytes_per_token and value
    if not whole or not all(g.attention.stores_kv for g in groups if g.attention):
        return _plain("bytes_per_token", value, "bytes", f"{_CONFIG}: sum over layer groups by their kind of cache")
    kv_heads, head_dim, _ = next(iter(heads))
    layers = sum(group.layers for group in groups)
    element = value / (2 * layers * kv_heads * head_dim)
    return Step.worked(
        name="bytes_per_token",
        formula="ceil(2 · layers · kv_heads · head_dim · bytes_per_element)",
        values={"layers": layers, "kv_heads": kv_heads, "head_dim": head_dim, "bytes_per_element": element},
        value=value,
        unit="bytes",
        source=_CONFIG,
    )


def _slack_step(estimate: "MemoryEstimate") -> Step:
    ledger = estimate.fit.ledger
    return Step.worked(
        name="slack_bytes",
        formula=(
            "memory_bytes − unmanaged_bytes − weights_bytes − runtime_overhead_bytes − activation_bytes "
            "− cuda_graph_bytes − kv_cache_bytes"
        ),
        values={
            "memory_bytes": ledger.memory_bytes,
            "unmanaged_bytes": ledger.unmanaged_bytes,
            "weights_bytes": ledger.weights_bytes,
            "runtime_overhead_bytes": ledger.runtime_overhead_bytes,
            "activation_bytes": ledger.activation_bytes,
            "cuda_graph_bytes": ledger.cuda_graph_bytes,
            "kv_cache_bytes": ledger.kv_cache_bytes,
        },
        value=ledger.slack_bytes,
        unit="bytes",
        source=_LEDGER,
    )
