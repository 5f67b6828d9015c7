"""Folds a key (model, GPU, engine, precision, parallelism) to the seconds that its passes are made of."""

from math import ceil, hypot, inf, log, sqrt
from typing import Any

from estimator.constants.kernels import AttentionRow, KernelConstants, KernelRow, shipped
from estimator.engine.errors import InvalidInputError
from estimator.engine.forward_pass.collectives import exchange
from estimator.engine.forward_pass.doubts import Doubt, DoubtKind
from estimator.engine.forward_pass.experts import expert_times
from estimator.engine.forward_pass.kernels import (
    GroupedKernel,
    attention_row,
    expert_kernel,
    gemm_row,
    is_judged,
    is_of_amd,
    kernel_family,
    sixteen_bit_peak,
)
from estimator.engine.forward_pass.launch import launch_times_s
from estimator.engine.forward_pass.operators import Folded
from estimator.engine.forward_pass.roofline import log_miss
from estimator.engine.forward_pass.traffic import CacheGroup, ExpertGroup, Gemm, RankLayout
from estimator.engine.specs import Gpu, ServingConstants

_MICROSECOND = 1e-6


def fold(
    layout: RankLayout,
    gpu: Gpu,
    serving: ServingConstants,
    constants: KernelConstants | None = None,
    *,
    max_batched_tokens: int,
    library: str = "trtllm",
) -> tuple[Folded, tuple[Doubt, ...]]:
    """Folds one key; also the parts that no measurement of this GPU stands behind, in words.

    Args:
        layout: what one rank holds and computes.
        gpu: bandwidth, peaks, kernel family, link.
        serving: constants of the engine profile.
        constants: constants of kernels and operators; None takes the shipped ones.
        max_batched_tokens: tokens that one pass may hold: prompts are packed up to it.
        library: whose grouped products, latent attention and exchanges the engine runs (`kernels.kernel_library`).

    Raises:
        MissingFigureError: no measured kernels or link stand for this GPU, so that only a ceiling can be given.

    Source: docs/model.md, one forward pass.

    Equation: docs/model.md, eq. (16).
    """
    return _Folder(layout, gpu, serving, constants or shipped(), library).fold(max_batched_tokens)


class _Folder:
    """Holds the inputs of one folding and collects what had to be taken from a nearest family."""

    def __init__(
        self, layout: RankLayout, gpu: Gpu, serving: ServingConstants, constants: KernelConstants, library: str
    ) -> None:
        self.layout, self.gpu, self.serving, self.library = layout, gpu, serving, library
        self.kernels, self.constants = constants, constants.operators
        self.family = kernel_family(gpu, of_2024=serving.amd_kernels_of_2024)
        self.is_judged = self.family != gpu.kernel_family or is_judged(self.family, constants)
        self.doubts = [Doubt(f"kernels of {self.family}")] if self.is_judged else []
        self.doubts += map(Doubt, layout.unusual)
        if serving.basis == "judgement":
            self.doubts.append(Doubt("constants of the engine"))
        amd = is_of_amd(self.family)
        self.scale = (serving.amd_kernel_time_scale if amd else 0.0) or serving.kernel_time_scale
        self.per_sequence_s = (serving.amd_per_sequence_s if amd else 0.0) or serving.per_sequence_s
        self.weight_bandwidth = gpu.memory_bandwidth_bytes_per_s * serving.bandwidth_factor
        self.bandwidth = gpu.memory_bandwidth_bytes_per_s

    def fold(self, max_batched_tokens: int) -> tuple[Folded, tuple[Doubt, ...]]:
        layout, serving, constants = self.layout, self.serving, self.constants
        parallel = layout.parallelism
        links = exchange(layout, self.gpu, self.kernels, serving, self.library)
        if not links.own_link:
            self.doubts.append(Doubt("link"))
        if parallel.pp > 1 and {"pipeline_hop_s", "pipeline_offline_bubble"} & constants.judged:
            self.doubts.append(Doubt("pipeline stages"))
        bubble = constants.pipeline_offline_bubble * (parallel.pp - 1) if parallel.pp > 1 else 0.0
        spread = 1.0 + constants.attention_dp_prefill_factor * (parallel.dp - 1)
        offline_spread = 1.0 + constants.offline_prefill_factor * (parallel.dp - 1)
        stream = constants.elementwise_bandwidth_share * self.bandwidth
        elementwise = constants.elementwise_hidden_factor * layout.hidden_size * layout.layers
        elementwise = 2.0 * (elementwise + constants.elementwise_ffn_factor * layout.feed_forward_width) / stream
        state = layout.state_bytes_per_sequence / stream
        shared_fixed, decode_only_fixed = self._fixed()
        head, head_fixed = self._head()
        link_token = links.token_s + links.all_rank_token_s * parallel.dp
        launch_s, pieces_s = launch_times_s(layout, serving.launch_share)
        folded = Folded(
            **self._gemm_slots(),
            **self._expert_slots(),
            head_memory_s2=head[0] ** 2,
            head_token_s2=head[1] ** 2,
            head_fixed_s=head_fixed,
            **self._cache_slots(),
            decode_fixed_s=shared_fixed + decode_only_fixed + head_fixed + links.fixed_s,
            decode_token_s=elementwise + 2.0 * state + link_token,
            prefill_fixed_s=shared_fixed + links.fixed_s,
            prefill_token_s=elementwise + constants.recurrent_prefill_passes * state + links.token_s,
            link_fixed_s=links.fixed_s,
            link_token_s=link_token,
            prefill_half_length_tokens=constants.prefill_half_length_tokens,
            attention_dp=float(parallel.dp),
            unevenness=constants.rank_unevenness * sqrt(2.0 * log(parallel.dp)),
            all_rank_token_s=links.all_rank_token_s,
            prefill_spread=spread,
            offline_prefill_spread=offline_spread,
            pipeline=float(parallel.pp),
            launch_s=launch_s,
            launch_pieces_s=pieces_s,
            step_launch_s=0.0,
            step_s=serving.step_s,
            per_sequence_s=self.per_sequence_s,
            pipeline_bubble=1.0 + bubble,
            batched_tokens=float(max_batched_tokens),
        )
        return folded, tuple(dict.fromkeys(self.doubts))

    def _row(self, row: tuple[KernelRow, bool], name: str) -> KernelRow:
        """The row; named as a doubt where it is another kernel's, or where it is judgement."""
        if not row[1] or (row[0].judged and not self.is_judged):
            self.doubts.append(Doubt(f"{name} kernels"))
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
            self.doubts.append(Doubt(f"{gemm.format.name} kernels"))
        memory = gemm.weights * gemm.format.bytes_per_weight / (self.weight_bandwidth * row.bandwidth_share)
        share = row.compute_share * (self.serving.wide_int4_share if gemm.format.kernel == "int4" else 1.0)
        compute = 2.0 * gemm.weights / (gemm.format.peak_flops_per_s * share * _fill(gemm.width, row))
        return gemm.layers * memory, gemm.layers * compute

    def _expert_slots(self) -> dict[str, Any]:
        slots: dict[tuple[float, float, float], tuple[float, float]] = {}
        moved = 0.0
        for group in self.layout.experts:
            key = (log_miss(group), group.weights, group.width)
            kernel = self._expert_kernel(group)
            if not kernel.own or kernel.row.judged:
                self.doubts.append(Doubt(f"{group.format.name} expert kernels", DoubtKind.EXPERTS))
            times = expert_times(
                group,
                kernel.row,
                self.constants,
                hidden_size=self.layout.hidden_size,
                peak_flops_per_s=sixteen_bit_peak(self.gpu) if kernel.sixteen_bit else group.format.peak_flops_per_s,
                weight_bytes_per_s=self.weight_bandwidth,
                bytes_per_s=self.bandwidth,
            )
            before = slots.get(key, (0.0, 0.0))
            slots[key] = (before[0] + times.memory_s, before[1] + times.product_token_s)
            moved += times.moved_token_s
        return {
            "expert_memory_s2": tuple(s[0] ** 2 for s in slots.values()),
            "expert_token_s2": tuple(s[1] ** 2 for s in slots.values()),
            "log_miss": tuple(key[0] for key in slots),
            "expert_moved_token_s": moved,
            "routing_exponent": self.constants.routing_exponent,
        }

    def _expert_kernel(self, group: ExpertGroup) -> GroupedKernel:
        return expert_kernel(self.library, self.family, group.format.kernel, self.kernels)

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
        module = self.kernels.latent_module.get((self.library, self.family))
        latent = layout.latent_layers if module else 0
        shared = (layout.attention_layers - latent) * constants.attention_fixed_s
        shared += layout.layers * constants.elementwise_fixed_s
        shared += layout.head_norm_layers * constants.head_norm_fixed_s
        for gemm in layout.gemms:
            if not (module and gemm.part == "latent_attention"):
                row, _ = gemm_row(self.family, gemm.format.kernel, self.kernels)
                shared += gemm.layers * gemm.kernels * row.fixed_us * _MICROSECOND
        slower = self.kernels.fixed_time.get(self.family)
        shared *= slower.share if slower else 1.0
        if module:
            shared += latent * module.fixed_us * _MICROSECOND
        for group in layout.experts:
            shared += group.layers * self._expert_kernel(group).row.fixed_us * _MICROSECOND
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
            self.doubts.append(Doubt("latent attention kernels" if group.latent else "attention kernels"))
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
        slots: dict[float, list[float]] = {inf: [0.0, 0.0, 0.0]}
        for group in self.layout.caches:
            row = self._attention(group)
            reach = self.bandwidth * (row.decode_fp8 if self._eight_bit else row.decode_bf16)
            slot = slots.setdefault(group.read_window_tokens, [0.0, 0.0, 0.0])
            read = group.read_bytes_per_token * self._unshared(group) / reach
            slot[0] += group.layers * self._decode_token_s(group, row, read, peak)
            share = row.prefill_bf16
            if self._fp8_prefill and row.prefill_fp8 is not None:
                share = row.prefill_fp8
            plain = group.layers * 4.0 * group.prefill_width / (peak * share)
            slot[1] += plain
            slot[2] += self._long_prefill_s(group, row, peak * share) if group.sparse else plain
            slots[inf][0] += group.layers * group.index_bytes_per_token / reach
        return {
            "windows": tuple(slots),
            "cache_read_s": tuple(s[0] for s in slots.values()),
            "prefill_attention_s": tuple(s[1] for s in slots.values()),
            "long_prefill_attention_s": tuple(s[2] for s in slots.values()),
        }

    def _decode_token_s(self, group: CacheGroup, row: AttentionRow, read_s: float, peak: float) -> float:
        """Seconds of a layer for one cached token: read it and, over a latent cache, multiply it with every head.

        Equation: docs/model.md, eq. (69).
        """
        if row.decode_product is None:
            return read_s
        if row.decode_product and "decode_product" in row.judged and not self.is_judged:
            self.doubts.append(Doubt("latent attention kernels"))
        flops = group.decode_flops_per_token * self._padding(group, row)
        return hypot(read_s, flops / (peak * row.decode_product))

    def _padding(self, group: CacheGroup, row: AttentionRow) -> float:
        """Heads that a kernel of sparse latent attention computes for each head of the rank."""
        if not group.sparse or not row.padded_heads:
            return 1.0
        return ceil(group.query_heads / row.padded_heads) * row.padded_heads / group.query_heads

    def _long_prefill_s(self, group: CacheGroup, row: AttentionRow, reached_flops_per_s: float) -> float:
        """Seconds for one pair of query and token, all layers, where a prompt is longer than the index picks.

        Equation: docs/model.md, eq. (70).
        """
        flops = group.decode_flops_per_token * self._padding(group, row)
        return group.layers * self.constants.sparse_prefill_share * flops / reached_flops_per_s


def _fill(width: float, row: KernelRow) -> float:
    """Share of the peak that a matrix side of `width` reaches: `width / (width + half_size)`; 1 without a half-size."""
    if row.half_size <= 0:
        return 1.0
    if width <= 0:
        raise InvalidInputError("a matrix side of the model is 0", field="model")
    return width / (width + row.half_size)
