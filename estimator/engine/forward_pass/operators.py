"""The calibrated operator model of one forward pass, with everything that does not depend on the load folded once."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from estimator.constants.kernels import AttentionRow, KernelConstants, KernelRow, shipped
from estimator.engine.codes import Binding
from estimator.engine.errors import InvalidInputError
from estimator.engine.forward_pass.collectives import exchange
from estimator.engine.forward_pass.kernels import attention_row, expert_row, gemm_row, is_judged, kernel_family
from estimator.engine.forward_pass.roofline import expert_coverage, log_miss
from estimator.engine.forward_pass.traffic import CacheGroup, ExpertGroup, Gemm, RankLayout
from estimator.engine.specs import Gpu, ServingConstants

_MICROSECOND = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A key (architecture, GPU, engine, precision, parallelism) folded to seconds; fields are numbers or arrays.

    Tuples are slots: each distinct shape of matrix product, of experts, and each distinct attention window has one.
    Names in `_s2` are squares of seconds: transfer and products of one kernel overlap as the root of their squares.
    """

    gemm_memory_s2: tuple[Any, ...]
    gemm_token_s2: tuple[Any, ...]
    expert_memory_s2: tuple[Any, ...]
    expert_token_s2: tuple[Any, ...]
    log_miss: tuple[Any, ...]
    head_memory_s2: Any
    head_token_s2: Any
    windows: tuple[Any, ...]
    cache_read_s: tuple[Any, ...]
    prefill_attention_s: tuple[Any, ...]
    decode_fixed_s: Any
    decode_token_s: Any
    prefill_fixed_s: Any
    prefill_token_s: Any
    head_fixed_s: Any
    link_fixed_s: Any
    link_token_s: Any
    prefill_half_length_tokens: Any
    attention_dp: Any
    prefill_spread: Any
    pipeline: Any
    launch_floor_s: Any
    steal_floor_s: Any
    step_s: Any
    per_sequence_s: Any
    ttft0_s: Any
    burst_weight: Any
    burst_per_sequence_s: Any
    first_token_steps: Any
    pipeline_bubble: Any
    batched_tokens: Any


def fold(
    layout: RankLayout,
    gpu: Gpu,
    serving: ServingConstants,
    constants: KernelConstants | None = None,
    *,
    max_batched_tokens: int,
) -> tuple[Folded, tuple[str, ...]]:
    """Folds one key; also the parts that no measurement of this GPU stands behind, in words.

    Args:
        layout: what one rank holds and computes.
        gpu: bandwidth, peaks, kernel family, link.
        serving: constants of the engine profile.
        constants: constants of kernels and operators; None takes the shipped ones.
        max_batched_tokens: tokens that one pass may hold: prompts are packed up to it.

    Raises:
        MissingFigureError: no measured kernels or link stand for this GPU, so that only a ceiling can be given.

    Source: docs/model.md, one forward pass.

    Equation: docs/model.md, eq. (16).
    """
    return _Folder(layout, gpu, serving, constants or shipped()).fold(max_batched_tokens)


class _Folder:
    """Holds the inputs of one folding and collects what had to be taken from a nearest family."""

    def __init__(self, layout: RankLayout, gpu: Gpu, serving: ServingConstants, constants: KernelConstants) -> None:
        self.layout, self.gpu, self.serving = layout, gpu, serving
        self.kernels, self.constants = constants, constants.operators
        self.family = kernel_family(gpu, of_2024=serving.amd_kernels_of_2024)
        self.is_judged = self.family != gpu.kernel_family or is_judged(self.family, constants)
        self.doubts: list[str] = [f"kernels of {self.family}"] if self.is_judged else []
        self.doubts += layout.unusual
        if serving.basis == "judgement":
            self.doubts.append("constants of the engine")
        self.scale = serving.kernel_time_scale
        self.weight_bandwidth = gpu.memory_bandwidth_bytes_per_s * serving.bandwidth_factor
        self.bandwidth = gpu.memory_bandwidth_bytes_per_s

    def fold(self, max_batched_tokens: int) -> tuple[Folded, tuple[str, ...]]:
        layout, serving, constants = self.layout, self.serving, self.constants
        parallel = layout.parallelism
        links = exchange(layout, self.gpu, self.kernels, serving.collective_latency_scale)
        if not links.own_link:
            self.doubts.append("link")
        if parallel.pp > 1 and {"pipeline_hop_s", "pipeline_offline_bubble"} & constants.judged:
            self.doubts.append("pipeline stages")
        bubble = constants.pipeline_offline_bubble * (parallel.pp - 1) if parallel.pp > 1 else 0.0
        spread = 1.0 + constants.attention_dp_prefill_factor * (parallel.dp - 1)
        stream = constants.elementwise_bandwidth_share * self.bandwidth
        elementwise = constants.elementwise_hidden_factor * layout.hidden_size * layout.layers
        elementwise = 2.0 * (elementwise + constants.elementwise_ffn_factor * layout.feed_forward_width) / stream
        state = 2.0 * layout.state_bytes_per_sequence / stream
        shared_fixed, decode_only_fixed = self._fixed()
        head, head_fixed = self._head()
        link_token = links.token_s + links.all_rank_token_s * parallel.dp
        folded = Folded(
            **self._gemm_slots(),
            **self._expert_slots(),
            head_memory_s2=head[0] ** 2,
            head_token_s2=head[1] ** 2,
            head_fixed_s=head_fixed,
            **self._cache_slots(),
            decode_fixed_s=shared_fixed + decode_only_fixed + head_fixed + links.fixed_s,
            decode_token_s=elementwise + state + link_token,
            prefill_fixed_s=shared_fixed + links.fixed_s,
            prefill_token_s=elementwise + links.token_s + links.all_rank_token_s * spread,
            link_fixed_s=links.fixed_s,
            link_token_s=link_token,
            prefill_half_length_tokens=constants.prefill_half_length_tokens,
            attention_dp=float(parallel.dp),
            prefill_spread=spread,
            pipeline=float(parallel.pp),
            launch_floor_s=layout.layers * serving.prefill_floor_s_per_layer,
            steal_floor_s=layout.layers * constants.prefill_steal_floor_s_per_layer,
            step_s=serving.step_s,
            per_sequence_s=serving.per_sequence_s,
            ttft0_s=serving.ttft0_s,
            burst_weight=serving.burst_weight_w,
            burst_per_sequence_s=serving.burst_per_sequence_s,
            first_token_steps=serving.first_token_steps,
            pipeline_bubble=1.0 + bubble,
            batched_tokens=float(max_batched_tokens),
        )
        return folded, tuple(dict.fromkeys(self.doubts))

    def _row(self, row: tuple[KernelRow, bool], name: str) -> KernelRow:
        """The row; named as a doubt where it is another kernel's, or where it is judgement."""
        if not row[1] or (row[0].judged and not self.is_judged):
            self.doubts.append(f"{name} kernels")
        return row[0]

    def _gemm_slots(self) -> dict[str, Any]:
        slots: dict[tuple[float, float, str, float], tuple[float, float]] = {}
        for gemm in self.layout.gemms:
            key = (gemm.weights, gemm.width, gemm.format.kernel, gemm.format.peak_flops_per_s)
            memory, token = self._gemm(gemm)
            before = slots.get(key, (0.0, 0.0))
            slots[key] = (before[0] + memory, before[1] + token)
        return {
            "gemm_memory_s2": tuple(s[0] ** 2 for s in slots.values()),
            "gemm_token_s2": tuple(s[1] ** 2 for s in slots.values()),
        }

    def _gemm(self, gemm: Gemm) -> tuple[float, float]:
        """Seconds to read the weights of these products, and to multiply one token with them."""
        row = self._row(gemm_row(self.family, gemm.format.kernel, self.kernels), gemm.format.name)
        if not gemm.format.native:
            self.doubts.append(f"{gemm.format.name} kernels")
        memory = gemm.weights * gemm.format.bytes_per_weight / (self.weight_bandwidth * row.bandwidth_share)
        compute = 2.0 * gemm.weights / (gemm.format.peak_flops_per_s * row.compute_share * _fill(gemm.width, row))
        return gemm.layers * memory, gemm.layers * compute

    def _expert_slots(self) -> dict[str, Any]:
        slots: dict[tuple[float, float, float], tuple[float, float]] = {}
        for group in self.layout.experts:
            key = (log_miss(group), group.weights, group.width)
            memory, token = self._experts(group)
            before = slots.get(key, (0.0, 0.0))
            slots[key] = (before[0] + memory, before[1] + token)
        return {
            "expert_memory_s2": tuple(s[0] ** 2 for s in slots.values()),
            "expert_token_s2": tuple(s[1] ** 2 for s in slots.values()),
            "log_miss": tuple(key[0] for key in slots),
        }

    def _experts(self, group: ExpertGroup) -> tuple[float, float]:
        """Seconds to read all experts of the rank, and to multiply one token with its share of them."""
        row = self._row(expert_row(self.family, group.format.kernel, self.kernels), f"{group.format.name} expert")
        held = group.local_experts * group.share * group.weights * group.format.bytes_per_weight
        memory = held / (self.weight_bandwidth * row.bandwidth_share)
        peak = group.format.peak_flops_per_s * row.compute_share * _fill(group.width, row)
        compute = 2.0 * group.weights_per_token * self.constants.expert_load_imbalance / peak
        return group.layers * memory, group.layers * compute

    def _head(self) -> tuple[tuple[float, float], float]:
        head = self.layout.head
        row = self._row(gemm_row(self.family, head.format.kernel, self.kernels), "head")
        memory = head.weights * head.format.bytes_per_weight / (self.weight_bandwidth * row.bandwidth_share)
        compute = 2.0 * head.weights / (head.format.peak_flops_per_s * row.compute_share)
        present = 1.0 if head.weights else 0.0
        return (memory, compute), present * self.scale * row.fixed_us * _MICROSECOND

    def _fixed(self) -> tuple[float, float]:
        """Fixed kernel times of one pass: those of decode and prefill alike, and those of decode alone."""
        layout, constants = self.layout, self.constants
        shared = layout.attention_layers * constants.attention_fixed_s + layout.layers * constants.elementwise_fixed_s
        for gemm in layout.gemms:
            row, _ = gemm_row(self.family, gemm.format.kernel, self.kernels)
            shared += gemm.layers * gemm.kernels * row.fixed_us * _MICROSECOND
        for group in layout.experts:
            row, _ = expert_row(self.family, group.format.kernel, self.kernels)
            shared += group.layers * row.fixed_us * _MICROSECOND
        sparse = sum(cache.layers for cache in layout.caches if cache.sparse)
        decode = layout.state_layers * constants.linear_attention_fixed_s + sparse * constants.sparse_attention_fixed_s
        return self.scale * shared, self.scale * decode

    def _attention(self, group: CacheGroup) -> AttentionRow:
        row, own = attention_row(self.family, latent=group.latent, constants=self.kernels)
        read = {
            "decode_fp8" if self._eight_bit else "decode_bf16",
            "prefill_fp8" if self._fp8_prefill else "prefill_bf16",
        }
        if not own or (read & row.judged and not self.is_judged):
            self.doubts.append("latent attention kernels" if group.latent else "attention kernels")
        return row

    @property
    def _eight_bit(self) -> bool:
        return self.layout.cache_bytes_per_element <= 1.0

    @property
    def _fp8_prefill(self) -> bool:
        return self.serving.fp8_prefill_attention and self.layout.cache_bytes_per_element == 1.0

    def _unshared(self, group: CacheGroup) -> float:
        """How often a cached token is read: once, or more often where the kernels do not share a KV head's reads."""
        share = max(self.serving.unshared_kv_reads, self._attention(group).unshared_kv_reads)
        return 1.0 + share * (group.queries_per_kv_head - 1.0)

    def _cache_slots(self) -> dict[str, Any]:
        peak = self.layout.head.format.peak_flops_per_s
        slots: dict[float, list[float]] = {inf: [0.0, 0.0]}
        for group in self.layout.caches:
            row = self._attention(group)
            reach = self.bandwidth * (row.decode_fp8 if self._eight_bit else row.decode_bf16)
            slot = slots.setdefault(group.read_window_tokens, [0.0, 0.0])
            slot[0] += group.layers * group.read_bytes_per_token * self._unshared(group) / reach
            share = row.prefill_bf16
            if self._fp8_prefill and row.prefill_fp8 is not None:
                share = row.prefill_fp8
            slot[1] += group.layers * 4.0 * group.prefill_width / (peak * share)
            slots[inf][0] += group.layers * group.index_bytes_per_token / reach
        return {
            "windows": tuple(slots),
            "cache_read_s": tuple(s[0] for s in slots.values()),
            "prefill_attention_s": tuple(s[1] for s in slots.values()),
        }


def _fill(width: float, row: KernelRow) -> float:
    """Share of the peak that a matrix side of `width` reaches: `width / (width + half_size)`; 1 without a half-size."""
    if row.half_size <= 0:
        return 1.0
    if width <= 0:
        raise InvalidInputError("a matrix side of the model is 0", field="model")
    return width / (width + row.half_size)


def decode_linear_s(folded: Folded, context_tokens: Any) -> Any:
    """Seconds of a decode pass per sequence of a rank: cache reads at this context, elementwise work, links, state.

    Equation: docs/model.md, eq. (20). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(decode_linear_s(worked_key.folded(), 1000.0)) * 1e6, 1)
    47.7
    """
    linear = folded.decode_token_s
    for window, read in zip(folded.windows, folded.cache_read_s, strict=True):
        linear = linear + read * np.minimum(context_tokens, window)
    return linear


def decode_pass_s(folded: Folded, tokens: Any, linear_s: Any) -> Any:
    """Seconds of one decode pass over `tokens` sequences (all attention-data ranks), n = tokens / dp on a rank.

    `fixed + n·linear + Σ sqrt(read² + (product·n)²)` over matrix products, head and touched experts; `linear_s` is
    `decode_linear_s` at the context.

    Equation: docs/model.md, eq. (21). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> folded = worked_key.folded()
    >>> round(float(decode_pass_s(folded, 8.0, decode_linear_s(folded, 1000.0))) * 1e3, 2)
    6.47
    """
    own = tokens / folded.attention_dp
    square = own * own
    total = folded.decode_fixed_s + own * linear_s + np.sqrt(folded.head_memory_s2 + folded.head_token_s2 * square)
    for memory, token in zip(folded.gemm_memory_s2, folded.gemm_token_s2, strict=True):
        total = total + np.sqrt(memory + token * square)
    return _with_experts(folded, total, tokens)


def prefill_attention_s(folded: Folded, new_tokens: Any, cached_tokens: Any = 0.0) -> Any:
    """Seconds of attention of one prompt of `new_tokens` behind `cached_tokens`: each new token over the mean context.

    `4·(l + 400)·min(cached + l/2, window)·width / (share·peak)`: short prompts reach less of the peak, `l / (l + 400)`.

    Equation: docs/model.md, eq. (22). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(prefill_attention_s(worked_key.folded(), 2000.0)) * 1e3, 2)
    1.69
    """
    middle = cached_tokens + 0.5 * new_tokens
    attention: Any = 0.0
    for window, multiply in zip(folded.windows, folded.prefill_attention_s, strict=True):
        attention = attention + multiply * np.minimum(middle, window)
    return attention * (new_tokens + folded.prefill_half_length_tokens)


def prefill_body_s(folded: Folded, prompts: Any, new_tokens: Any, attention_s: Any) -> Any:
    """Seconds of one prefill of `prompts` prompts whose attention takes `attention_s` each.

    Without the head and without the host's launch floor.

    Equation: docs/model.md, eq. (23). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> folded = worked_key.folded()
    >>> attention_s = prefill_attention_s(folded, 2000.0)
    >>> round(float(prefill_body_s(folded, 1.0, 2000.0, attention_s)) * 1e3, 1)
    41.9
    """
    tokens = prompts * new_tokens
    square = tokens * tokens
    total = folded.prefill_fixed_s + tokens * folded.prefill_token_s + prompts * attention_s
    for memory, token in zip(folded.gemm_memory_s2, folded.gemm_token_s2, strict=True):
        total = total + np.sqrt(memory + token * square)
    return _with_experts(folded, total, tokens * folded.prefill_spread)


def prefill_head_s(folded: Folded, prompts: Any) -> Any:
    """Seconds of the head over the last position of each prompt.

    Equation: docs/model.md, eq. (24). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(prefill_head_s(worked_key.folded(), 1.0)) * 1e6)
    360
    """
    return folded.head_fixed_s + np.sqrt(folded.head_memory_s2 + folded.head_token_s2 * prompts * prompts)


def _with_experts(folded: Folded, total: Any, tokens: Any) -> Any:
    """Adds the routed experts, of which `1 − (1 − k/E)^tokens` is touched."""
    for memory, token, miss in zip(folded.expert_memory_s2, folded.expert_token_s2, folded.log_miss, strict=True):
        touched = expert_coverage(miss, tokens)
        total = total + np.sqrt(memory * touched * touched + token * tokens * tokens)
    return total


def step_parts_s(folded: Folded, sequences: Any, linear_s: Any) -> tuple[Any, dict[Binding, Any], Any]:
    """Seconds of one decode step of a micro-batch, its parts by what they wait for, and the cache reads among them.

    A kernel counts wholly to memory or to compute, whichever is longer; the parts add up to the step.

    Equation: docs/model.md, eq. (21).
    """
    own = sequences / folded.attention_dp
    square = own * own
    elementwise = folded.decode_token_s - folded.link_token_s
    cache = own * (linear_s - folded.decode_token_s)
    memory = cache + own * elementwise
    compute: Any = 0.0
    pairs = [(folded.head_memory_s2, folded.head_token_s2 * square)]
    pairs += [(m, t * square) for m, t in zip(folded.gemm_memory_s2, folded.gemm_token_s2, strict=True)]
    for read, token, miss in zip(folded.expert_memory_s2, folded.expert_token_s2, folded.log_miss, strict=True):
        touched = expert_coverage(miss, sequences)
        pairs.append((read * touched * touched, token * sequences * sequences))
    for read, product in pairs:
        both = np.sqrt(read + product)
        by_memory = both * (read >= product)
        memory = memory + by_memory
        compute = compute + (both - by_memory)
    overhead = folded.decode_fixed_s - folded.link_fixed_s + folded.step_s + folded.per_sequence_s * sequences
    link = folded.link_fixed_s + own * folded.link_token_s
    parts = {
        Binding.MEMORY_BANDWIDTH: memory,
        Binding.COMPUTE: compute,
        Binding.INTERCONNECT: link,
        Binding.OVERHEAD: overhead,
    }
    return memory + compute + link + overhead, parts, cache
