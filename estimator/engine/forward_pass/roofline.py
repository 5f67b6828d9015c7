"""The roofline: what bandwidth and dense peak allow, and the teaching profile `ideal` on the same function.

`ceiling` is the roofline at 100 % of bandwidth and peak over the bytes a rank really touches: nothing is faster.
`ideal` is the same function with a share of the peak and, like the source documents, all parameters in both terms.
"""

from dataclasses import dataclass
from math import inf, log1p
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.engine.elementwise import any_of
from estimator.engine.forward_pass.flops import active_parameters, attended_pairs
from estimator.engine.forward_pass.kernels import weight_format
from estimator.engine.forward_pass.traffic import CacheGroup, ExpertGroup, Gemm, RankLayout
from estimator.engine.model.spec import Architecture
from estimator.engine.specs import Gpu, Parallelism, Precision

Floats = npt.NDArray[np.float64]
# Stands for log(0): its exponential is 0, and no sum with it is NaN.
_LOG_OF_NOTHING = -700.0


def roofline(*, memory_s: Any, compute_s: Any, compute_efficiency: Any = 1.0) -> Any:
    """Seconds of a step whose transfers and products overlap fully: the larger of the two.

    Args:
        memory_s: bytes / bandwidth.
        compute_s: FLOPs / dense peak.
        compute_efficiency: share of the dense peak in (0, 1]; 1 for the ceiling.

    Equation: docs/model.md, eq. (9). Source: Williams, Waterman and Patterson 2009, doi 10.1145/1498765.1498785.

    >>> float(roofline(memory_s=2.0, compute_s=1.0))
    2.0
    >>> float(roofline(memory_s=2.0, compute_s=1.0, compute_efficiency=0.4))
    2.5
    """
    return np.maximum(memory_s, compute_s / compute_efficiency)


def added(*, memory_s: Any, compute_s: Any) -> Any:
    """Seconds of a step that first transfers and then computes: the sum, the other end of no overlap at all.

    Equation: docs/model.md, eq. (10). Source: definition.

    >>> added(memory_s=2.0, compute_s=1.0)
    3.0
    """
    return memory_s + compute_s


def ridge_flops_per_byte(*, peak_flops_per_s: float, bandwidth_bytes_per_s: float) -> float:
    """Arithmetic intensity above which the peak, not the bandwidth, limits.

    Unit: FLOP/byte. Equation: docs/model.md, eq. (11). Source: Williams, Waterman and Patterson 2009, doi
    10.1145/1498765.1498785.

    >>> round(ridge_flops_per_byte(peak_flops_per_s=989e12, bandwidth_bytes_per_s=3.35e12))
    295
    """
    return peak_flops_per_s / bandwidth_bytes_per_s


def expert_coverage(log_miss: Any, tokens: Any) -> Any:
    """Share of experts that `tokens` tokens touch under random routing, `1 − (1 − k/E)^tokens`.

    Args:
        log_miss: log(1 − k/E), see `log_miss`.
        tokens: tokens of the step, over all ranks.

    Equation: docs/model.md, eq. (12). Source: independent draws of k from E experts.

    >>> from math import log
    >>> [round(float(expert_coverage(log(1 - 2 / 8), tokens)), 3) for tokens in (1, 8, 16)]
    [0.25, 0.9, 0.99]
    """
    return -np.expm1(tokens * log_miss)


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """Constants of the roofline of one rank, folded to seconds; each field a number or an array over rows or keys.

    `weights_s` reads the weights every step touches, `experts_s` all routed experts of the rank, of which
    `1 − exp(tokens·log_miss)` is touched. `token_s`, `expert_token_s` and `head_s` are products per token at full
    peak. The cache slots pair a window in tokens (inf for none) with seconds to read one cached token, and to multiply
    one query with it in decode and in prefill.
    """

    weights_s: Any
    experts_s: tuple[Any, ...]
    log_miss: tuple[Any, ...]
    token_s: Any
    expert_token_s: Any
    head_s: Any
    state_s: Any
    windows: tuple[Any, ...]
    read_s: tuple[Any, ...]
    decode_attention_s: tuple[Any, ...]
    prefill_attention_s: tuple[Any, ...]
    attention_dp: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFloor:
    """Seconds of one decode step that its bytes and its FLOPs need at least; they may overlap fully."""

    memory_s: Any
    compute_s: Any

    def time_s(self, compute_efficiency: Any = 1.0) -> Any:
        """The larger of the two, FLOPs at a share of the peak."""
        return roofline(memory_s=self.memory_s, compute_s=self.compute_s, compute_efficiency=compute_efficiency)


def step_floor(floor: Floor, tokens: Any, context_tokens: Any) -> StepFloor:
    """What one decode step of `tokens` sequences reads (weights, touched experts, cache, state) and multiplies.

    Equation: docs/model.md, eq. (13).
    """
    own = tokens / floor.attention_dp
    memory, compute = floor.state_s, floor.token_s + floor.head_s
    slots = zip(floor.windows, floor.read_s, floor.decode_attention_s, strict=True)
    for window, read, attention in slots:
        seen = np.minimum(context_tokens, window)
        memory = memory + read * seen
        compute = compute + attention * seen
    memory = floor.weights_s + own * memory
    for experts, miss in zip(floor.experts_s, floor.log_miss, strict=True):
        memory = memory + experts * expert_coverage(miss, tokens)
    return StepFloor(memory_s=memory, compute_s=own * compute + tokens * floor.expert_token_s)


def floor_step_s(floor: Floor, tokens: Any, context_tokens: Any, compute_efficiency: Any = 1.0) -> Any:
    """Seconds of one decode step: `max(bytes / BW, FLOPs / (efficiency · peak))`.

    Args:
        floor: folded constants.
        tokens: sequences in the step, over all attention-data ranks.
        context_tokens: cached tokens of each.
        compute_efficiency: 1 for the ceiling, the profile's share for `ideal`.

    Equation: docs/model.md, eq. (13). Source: the roofline over the bytes and FLOPs of a rank.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(floor_step_s(worked_key.floor(), 1.0, 8000.0)) * 1e3, 2)
    4.79
    """
    return step_floor(floor, tokens, context_tokens).time_s(compute_efficiency)


def floor_prefill_compute_s(floor: Floor, new_tokens: Any, cached_tokens: Any = 0.0, ranks: Any = 1.0) -> Any:
    """Seconds of the products of one prompt at full peak; the head runs for the last position only.

    Attention multiplies the pairs of the new positions (`flops.attended_pairs`). `ranks` attention-data ranks work on
    a prompt each, so that in a stream of prompts one takes that share of what is not the experts'.

    Equation: docs/model.md, eq. (14). Source: the roofline over the FLOPs of a rank.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(floor_prefill_compute_s(worked_key.floor(), 2000.0)) * 1e3, 1)
    29.3
    """
    total = new_tokens * floor.token_s + floor.head_s
    end = new_tokens + cached_tokens
    nothing_cached = not any_of(cached_tokens)
    for window, attention in zip(floor.windows, floor.prefill_attention_s, strict=True):
        pairs = attended_pairs(end, window)
        total = total + attention * (pairs if nothing_cached else pairs - attended_pairs(cached_tokens, window))
    return total / ranks + new_tokens * floor.expert_token_s


def floor_prefill_s(floor: Floor, new_tokens: Any, cached_tokens: Any = 0.0, compute_efficiency: Any = 1.0) -> Any:
    """Seconds of one prompt of `new_tokens` behind `cached_tokens`: `max(bytes / BW, FLOPs / (efficiency · peak))`.

    Equation: docs/model.md, eq. (9). Source: the roofline over the bytes and FLOPs of a rank.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(floor_prefill_s(worked_key.floor(), 2000.0)) * 1e3, 1)
    29.3
    """
    return roofline(
        memory_s=floor_prefill_memory_s(floor, new_tokens, cached_tokens),
        compute_s=floor_prefill_compute_s(floor, new_tokens, cached_tokens),
        compute_efficiency=compute_efficiency,
    )


def floor_prefill_memory_s(floor: Floor, new_tokens: Any, cached_tokens: Any = 0.0) -> Any:
    """Seconds to read the weights, the experts that the prompt touches, and the cache of its prefix.

    Equation: docs/model.md, eq. (15). Source: the roofline over the bytes of a rank.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(floor_prefill_memory_s(worked_key.floor(), 2000.0)) * 1e3, 2)
    4.48
    """
    memory = floor.weights_s
    for experts, miss in zip(floor.experts_s, floor.log_miss, strict=True):
        memory = memory + experts * expert_coverage(miss, new_tokens)
    if any_of(cached_tokens):
        for window, read in zip(floor.windows, floor.read_s, strict=True):
            memory = memory + read * np.minimum(cached_tokens, window)
    return memory


def ceiling_floor(layout: RankLayout, gpu: Gpu) -> Floor:
    """The roofline of one rank over what it really touches: no input embedding, experts by coverage, replicas whole."""
    bandwidth = gpu.memory_bandwidth_bytes_per_s
    return Floor(
        weights_s=(sum(_bytes(g) for g in (*layout.gemms, layout.head)) + layout.other_weight_bytes) / bandwidth,
        token_s=sum(2.0 * g.layers * g.weights / g.format.peak_flops_per_s for g in layout.gemms),
        head_s=2.0 * layout.head.weights / layout.head.format.peak_flops_per_s,
        state_s=2.0 * layout.state_bytes_per_sequence / bandwidth,
        **_expert_slots(layout.experts, bandwidth),
        **_cache_slots(layout, gpu),
        attention_dp=float(layout.parallelism.dp),
    )


def _bytes(gemm: Gemm) -> float:
    return gemm.layers * gemm.weights * gemm.format.bytes_per_weight


def _expert_slots(experts: tuple[ExpertGroup, ...], bandwidth: float) -> dict[str, Any]:
    """Experts of one shape share a slot, so that a model has as many slots as it has shapes of experts."""
    slots: dict[float, float] = {}
    compute = 0.0
    for group in experts:
        held = group.layers * group.local_experts * group.share * group.weights * group.format.bytes_per_weight
        miss = log_miss(group)
        slots[miss] = slots.get(miss, 0.0) + held / bandwidth
        compute += 2.0 * group.layers * group.weights_per_token / group.format.peak_flops_per_s
    return {"experts_s": tuple(slots.values()), "log_miss": tuple(slots), "expert_token_s": compute}


def log_miss(group: ExpertGroup) -> float:
    """log(1 − k/E): how the share of untouched experts falls with each token.

    Without unit: the log of a share of experts. Equation: docs/model.md, eq. (12). Source: independent draws of k
    from E experts.

    >>> from types import SimpleNamespace
    >>> round(log_miss(SimpleNamespace(per_token=2, experts=8)), 4)
    -0.2877
    """
    share = group.per_token / group.experts
    return log1p(-share) if share < 1 else _LOG_OF_NOTHING


def _cache_slots(layout: RankLayout, gpu: Gpu) -> dict[str, Any]:
    """Read seconds and attention products per cached token, one slot for each distinct window."""
    bandwidth = gpu.memory_bandwidth_bytes_per_s
    peak = _attention_peak(layout, gpu)
    slots: dict[float, list[float]] = {inf: [0.0, 0.0, 0.0]}
    for group in layout.caches:
        slot = slots.setdefault(group.read_window_tokens, [0.0, 0.0, 0.0])
        slot[0] += group.layers * group.read_bytes_per_token / bandwidth
        slot[1] += group.layers * group.decode_flops_per_token / peak
        slot[2] += group.layers * 4.0 * group.prefill_width / peak
        slots[inf][0] += group.layers * group.index_bytes_per_token / bandwidth
        slots[inf][1] += group.layers * group.index_flops_per_token / peak
    return {
        "windows": tuple(slots),
        "read_s": tuple(s[0] for s in slots.values()),
        "decode_attention_s": tuple(s[1] for s in slots.values()),
        "prefill_attention_s": tuple(s[2] for s in slots.values()),
    }


def _attention_peak(layout: RankLayout, gpu: Gpu) -> float:
    """Peak of attention products: the 16-bit one, or the fp8 one over an 8-bit cache where the GPU has it."""
    sixteen = layout.head.format.peak_flops_per_s
    if layout.cache_bytes_per_element <= 1.0:
        return max(sixteen, float(gpu.peak_flops_per_s.get("fp8") or 0.0))
    return sixteen


def ideal_floor(
    architecture: Architecture,
    gpu: Gpu,
    precision: Precision,
    parallelism: Parallelism,
    layout: RankLayout,
) -> Floor:
    """The roofline of the source documents: every parameter is read and multiplied, experts by coverage and top-k.

    `W = all non-expert parameters · bytes`, `2·N_active` FLOPs a token at the peak of the weight format, attention at
    `4·L·d_attn` FLOPs; tensor and pipeline parallel divide, without collectives.

    Equation: docs/model.md, eq. (9).
    """
    counts = active_parameters(architecture)
    fmt = weight_format(precision.weights, gpu, activations=precision.activations)
    experts = _expert_slots(layout.experts, gpu.memory_bandwidth_bytes_per_s)
    routed = sum(g.layers * g.parameters.routed_experts for g in architecture.layer_groups)
    bandwidth = gpu.memory_bandwidth_bytes_per_s
    experts.pop("expert_token_s")
    return Floor(
        weights_s=(counts.total - routed) * fmt.bytes_per_weight / parallelism.tp / bandwidth,
        token_s=2.0 * counts.active / fmt.peak_flops_per_s / parallelism.tp,
        expert_token_s=0.0,
        head_s=0.0,
        state_s=2.0 * layout.state_bytes_per_sequence / bandwidth,
        **experts,
        **_ideal_cache_slots(layout.caches, fmt.peak_flops_per_s, bandwidth),
        attention_dp=float(parallelism.dp),
    )


def _ideal_cache_slots(caches: tuple[CacheGroup, ...], peak: float, bandwidth: float) -> dict[str, Any]:
    windows = tuple(c.read_window_tokens for c in caches)
    return {
        "windows": windows,
        "read_s": tuple(c.layers * c.read_bytes_per_token / bandwidth for c in caches),
        "decode_attention_s": tuple(c.layers * 4.0 * c.prefill_width / peak for c in caches),
        "prefill_attention_s": tuple(c.layers * 4.0 * c.prefill_width / peak for c in caches),
    }
