"""The nearest settings that would fit, least change first; and the cache of other attention kinds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from estimator.engine.memory.fit import BriefFit, MemoryFit, brief_fit, longest_context, shortfall_bytes
from estimator.engine.memory.plan import MemoryPlan, share_of_memory
from estimator.engine.memory.weight_parts import fold, same_family
from estimator.engine.model.cache import attention_elements, kv_element_bytes, splits_over
from estimator.engine.model.spec import Architecture, AttentionKind
from estimator.engine.specs import Parallelism

_KV_STEPS = ("fp8", "int4", "q8_0", "q4_0")
_WEIGHT_STEPS = ("fp8", "int4")
_FILE_STEPS = ("q8_0", "q4_k_m")
_PUBLISHED = ("fp8", "int8", "int4", "nvfp4", "mxfp4", "nf4")
_LATENT_ELEMENTS = 512 + 64
"""Latent and rotary width of DeepSeek's MLA, the usual what-if (DeepSeek V2, 2024)."""
_WINDOW_WHAT_IF = 4096
# Settings that are tried in turn.
_UTILIZATION_STEPS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.95)
_BATCHED_TOKENS_STEPS = (4096, 2048, 1024, 512)
_PIPELINE_STEPS = (2, 4, 8, 16)
# A search over GPUs by memory: a share of 0 divides nothing, rounding to blocks and pages may lack 3 %, and the
# next GPU tried has 2 % more at least. Only what is tried depends on them; what is suggested is counted.
_LEAST_SHARE, _ROUNDING, _NEXT_GPU = 0.01, 0.97, 0.02
_SIXTEEN_BIT = ("bf16", "fp16", "fp32")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuChoice:
    """A GPU that may be suggested: bytes the profile counts with, and how many stand in one scale-up domain.

    The kernel family decides which defaults the engine takes on it.
    """

    slug: str
    memory_bytes: int
    family: str | None = None
    scale_up_gpus: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One change that makes the load fit; `value` is the new setting, `max_sequences` and the length what then fits."""

    change: str
    value: str | int | float | Mapping[str, int]
    max_sequences: int
    max_context_tokens: int
    verdict: str


def suggestions(
    plan: MemoryPlan,
    fit: MemoryFit,
    *,
    window_tokens: int | None = None,
    scale_up_gpus: int = 8,
    gpus: Sequence[GpuChoice] = (),
) -> tuple[Suggestion, ...]:
    """Single changes that make an infeasible load fit: lengths, settings of the engine, formats, tp, GPU.

    Where no single change does, the replica over several nodes (tp and pp together).

    Args:
        plan: the plan that does not fit.
        fit: its answer.
        window_tokens: the model's longest context.
        scale_up_gpus: GPUs of one scale-up domain, the largest tp to try.
        gpus: other GPUs, any order.

    Returns:
        At most one change of each kind, least change first; empty when the load fits.
    """
    if fit.feasible:
        return ()
    found: list[Suggestion] = []
    shorter = longest_context(plan, sequences=fit.sequences, at_most=fit.context_tokens)
    if shorter >= fit.rank.allocation.main_block_tokens:
        _add(found, "context_tokens", shorter, _try(plan, fit.sequences, shorter, window_tokens))
    if 0 < fit.max_sequences < fit.sequences:
        _add(found, "sequences", fit.max_sequences, _try(plan, fit.max_sequences, fit.context_tokens, window_tokens))
    _add_utilization(found, plan, fit, window_tokens)
    _add_batched_tokens(found, plan, fit, window_tokens)
    _add_limit(found, plan, fit, window_tokens)
    _add_format(found, plan, fit, window_tokens, field="kv_cache", steps=_cache_steps(plan))
    _add_format(found, plan, fit, window_tokens, field="weights", steps=_weight_steps(plan))
    _add_parallel(found, plan, fit, window_tokens, scale_up_gpus)
    _add_gpu(found, plan, fit, window_tokens, gpus)
    if not found:
        _add_nodes(found, plan, fit, window_tokens, scale_up_gpus)
    return tuple(found)


def _try(plan: MemoryPlan, sequences: int, tokens: int, window: int | None) -> BriefFit | None:
    """The fit of a changed plan, None when it does not fit (found out before anything else is computed)."""
    changed = _no_longer_than(plan, tokens)
    return brief_fit(changed, sequences=sequences, context_tokens=tokens, window_tokens=window)


def _no_longer_than(plan: MemoryPlan, tokens: int) -> MemoryPlan:
    """The plan with passes no longer than the length asked for, where the engine's passes follow the context."""
    if plan.policy.batched_tokens_follow_context and tokens < plan.longest_tokens:
        return replace(plan, longest_tokens=tokens)
    return plan


def _add(
    found: list[Suggestion], change: str, value: str | int | float | Mapping[str, int], fit: BriefFit | None
) -> bool:
    """Add a change that fits."""
    if fit is None:
        return False
    found.append(
        Suggestion(
            change=change,
            value=value,
            max_sequences=fit.max_sequences,
            max_context_tokens=fit.max_context_tokens,
            verdict=fit.verdict.value,
        )
    )
    return True


def _lacking(fit: MemoryFit) -> int:
    """Bytes that the worst rank lacks; a change that cannot free so many is not worth trying."""
    return max(-fit.ledger.slack_bytes, 0)


def _add_utilization(found: list[Suggestion], plan: MemoryPlan, fit: MemoryFit, window: int | None) -> None:
    """A larger share of the memory, as long as what the engine pays from outside its budget keeps room."""
    current = share_of_memory(plan)
    if plan.policy.nominal_weights or plan.overrides.kv_cache_tokens_observed is not None:
        return
    outside = fit.rank.outside_activation_bytes + fit.rank.outside_graph_bytes
    for share in _UTILIZATION_STEPS:
        if share <= current or (1.0 - share) * plan.memory_bytes < outside:
            continue
        if (share - current) * plan.memory_bytes < _lacking(fit):
            continue
        changed = replace(plan, overrides=replace(plan.overrides, utilization=share))
        if _add(found, "memory.utilization", share, _try(changed, fit.sequences, fit.context_tokens, window)):
            return


def _add_batched_tokens(found: list[Suggestion], plan: MemoryPlan, fit: MemoryFit, window: int | None) -> None:
    """Smaller passes, where the tokens of a pass are what the activations (or kept windows) are made of."""
    if not fit.rank.allocation.shares_chunks and fit.ledger.activation_bytes < _lacking(fit):
        return
    for tokens in _BATCHED_TOKENS_STEPS:
        if tokens >= fit.rank.batched_tokens:
            continue
        changed = replace(plan, overrides=replace(plan.overrides, max_batched_tokens=tokens))
        if _add(found, "memory.max_batched_tokens", tokens, _try(changed, fit.sequences, fit.context_tokens, window)):
            return


def _add_limit(found: list[Suggestion], plan: MemoryPlan, fit: MemoryFit, window: int | None) -> None:
    """A smaller `max_num_seqs`, where the logits of so many sequences are what the activations are made of."""
    if not plan.policy.logits_copies or fit.ledger.activation_bytes < _lacking(fit):
        return
    limit = fit.rank.max_num_seqs // 4
    while limit >= max(-(-fit.sequences // plan.parallelism.dp), 16):
        changed = replace(plan, overrides=replace(plan.overrides, max_num_seqs=limit))
        if _add(found, "memory.max_num_seqs", limit, _try(changed, fit.sequences, fit.context_tokens, window)):
            return
        limit //= 4


def _cache_steps(plan: MemoryPlan) -> list[str]:
    """Narrower formats of the cache that the engine has."""
    known = plan.policy.cache_formats
    return [name for name in _KV_STEPS if (name in known if known else name in ("fp8", "int4"))]


def _weight_steps(plan: MemoryPlan) -> list[str]:
    """Narrower formats of the weights: that of the model's own files first, file types where the engine reads files."""
    if plan.policy.cache_formats and "fp8" not in plan.policy.cache_formats:
        return list(_FILE_STEPS)
    stored = plan.architecture.quantization
    own = [name for name in _PUBLISHED if stored is not None and same_family(name, stored.weight_format)]
    return list(dict.fromkeys((*own[:1], *_WEIGHT_STEPS)))


def _add_format(
    found: list[Suggestion],
    plan: MemoryPlan,
    fit: MemoryFit,
    window: int | None,
    *,
    field: str,
    steps: Sequence[str],
) -> None:
    """The first narrower format that fits."""
    current = getattr(plan.precision, field)
    if field == "kv_cache" and fit.rank.kv_budget_bytes <= 0:
        return
    later = steps if current in _SIXTEEN_BIT else (steps[1:] if current in ("fp8", "int8", "q8_0") else ())
    for name in later:
        if field == "weights":
            precision = replace(plan.precision, weights=name, expert_weights=None, attention_weights=None)
        else:
            precision = replace(plan.precision, kv_cache=name)
        stored = plan.stored_weight_bytes if field == "kv_cache" else dict(plan.stored_by_format).get(name)
        changed = replace(plan, precision=precision, stored_weight_bytes=stored)
        if _add(found, f"precision.{field}", name, _try(changed, fit.sequences, fit.context_tokens, window)):
            return


def _add_parallel(
    found: list[Suggestion], plan: MemoryPlan, fit: MemoryFit, window: int | None, scale_up_gpus: int
) -> None:
    """The next tp that fits: powers of two that every layer splits over, at most the scale-up domain."""
    tp = plan.parallelism.tp * 2
    while tp <= scale_up_gpus:
        if splits_over(plan.architecture, tp):
            changed = replace(plan, parallelism=replace(plan.parallelism, tp=tp))
            if _add(found, "parallelism.tp", tp, _try(changed, fit.sequences, fit.context_tokens, window)):
                return
        tp *= 2


def _add_gpu(
    found: list[Suggestion], plan: MemoryPlan, fit: MemoryFit, window: int | None, gpus: Sequence[GpuChoice]
) -> None:
    """The GPU with the least memory that fits; tried from the first that has enough for this ledger on.

    What one lacks, the next must have more: no engine gives the cache more than a byte for a byte of memory.
    """
    ledger = fit.ledger
    share = max(ledger.usable_bytes / ledger.memory_bytes, _LEAST_SHARE)
    needed = (ledger.memory_bytes - ledger.unmanaged_bytes - ledger.slack_bytes) / share
    parallel: Parallelism = plan.parallelism
    larger = sorted(
        (gpu for gpu in gpus if gpu.memory_bytes > plan.memory_bytes and gpu.memory_bytes >= _ROUNDING * needed),
        key=lambda gpu: (gpu.memory_bytes, gpu.slug),
    )
    least = 0.0
    for gpu in larger:
        if gpu.scale_up_gpus < parallel.tp or gpu.memory_bytes < least:
            continue
        changed = replace(plan, memory_bytes=gpu.memory_bytes, gpu_family=gpu.family or plan.gpu_family)
        asked = _no_longer_than(changed, fit.context_tokens)
        lacking = shortfall_bytes(asked, sequences=fit.sequences, context_tokens=fit.context_tokens)
        if lacking <= 0 and _add(found, "gpu", gpu.slug, _try(changed, fit.sequences, fit.context_tokens, window)):
            return
        least = gpu.memory_bytes + max(_ROUNDING * lacking, _NEXT_GPU * gpu.memory_bytes)


def _add_nodes(
    found: list[Suggestion], plan: MemoryPlan, fit: MemoryFit, window: int | None, scale_up_gpus: int
) -> None:
    """The widest tp of one scale-up domain, and as many pipeline stages as it takes."""
    tp = plan.parallelism.tp
    while tp * 2 <= scale_up_gpus and splits_over(plan.architecture, tp * 2):
        tp *= 2
    layers = sum(group.layers for group in plan.architecture.layer_groups)
    for pp in _PIPELINE_STEPS:
        if pp <= plan.parallelism.pp or pp > layers:
            continue
        changed = replace(plan, parallelism=replace(plan.parallelism, tp=tp, pp=pp))
        fitting = _try(changed, fit.sequences, fit.context_tokens, window)
        if _add(found, "parallelism", {"tp": tp, "pp": pp}, fitting):
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """The cache of the same model under another technique: bytes a token and, with a window, tokens kept."""

    name: str
    bytes_per_token: int
    window_tokens: int | None = None
    applies: bool = True


def alternatives(architecture: Architecture, kv_format: str) -> tuple[Alternative, ...]:
    """Cache bytes per token of the model as it is and under each technique of the source documents.

    MHA gives every query head its own K and V, MQA one pair, MLA one latent of 512 + 64; a window keeps the bytes but
    caps the tokens; fp8, int8 and int4 change the bytes of an element.

    Returns:
        One entry for each technique, in bytes for one token while it is inside every window.
    """
    folded = fold(architecture)
    key = ("alternatives", kv_format)
    kept = folded.kept.get(key)
    if isinstance(kept, tuple):
        return kept
    element = kv_element_bytes(kv_format)
    own = mha = mqa = latent = 0
    for group in architecture.layer_groups:
        attention = group.attention
        if attention is None or not attention.stores_kv:
            continue
        layers = group.layers * group.attention_blocks
        width = attention.head_dim_qk + attention.head_dim_v
        own += layers * attention_elements(attention)
        mha += layers * attention.query_heads * width
        mqa += layers * width
        latent += layers * _LATENT_ELEMENTS
    windows = [
        group.attention.window_tokens
        for group in architecture.layer_groups
        if group.attention is not None and group.attention.window_tokens is not None
    ]

    def entry(name: str, elements: int, width: Fraction = element, window: int | None = None) -> Alternative:
        size = elements * width
        return Alternative(name=name, bytes_per_token=-(-size.numerator // size.denominator), window_tokens=window)

    built = (
        entry("as_is", own, window=max(windows, default=None)),
        entry("mha", mha),
        entry("gqa_8", _grouped(architecture, 8)),
        entry("mqa", mqa),
        entry("mla", latent),
        entry("window_4096", own, window=_WINDOW_WHAT_IF),
        entry("kv_fp8", own, kv_element_bytes("fp8")),
        entry("kv_int8", own, kv_element_bytes("int8")),
        entry("kv_int4", own, kv_element_bytes("int4")),
    )
    folded.kept[key] = built
    return built


def _grouped(architecture: Architecture, heads: int) -> int:
    """Cache elements of a token with so many KV heads in every layer (at most the query heads)."""
    total = 0
    for group in architecture.layer_groups:
        attention = group.attention
        if attention is None or not attention.stores_kv:
            continue
        used = min(heads, attention.query_heads)
        total += group.layers * group.attention_blocks * used * (attention.head_dim_qk + attention.head_dim_v)
    return total


def attention_name(architecture: Architecture) -> str:
    """MHA, GQA, MQA, MLA or a mixture, for a sentence about the cache."""
    names = set()
    for group in architecture.layer_groups:
        attention = group.attention
        if attention is None:
            continue
        if attention.kind in (AttentionKind.LATENT, AttentionKind.SPARSE_LATENT):
            names.add("MLA")
        elif attention.kind is AttentionKind.COMPRESSED:
            names.add("compressed")
        elif attention.kv_heads == attention.query_heads:
            names.add("MHA")
        else:
            names.add("MQA" if attention.kv_heads == 1 else "GQA")
    return " + ".join(sorted(names)) or "none"
