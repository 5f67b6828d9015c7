"""What one rank of a replica holds, reads and computes: the layout every speed figure starts from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from estimator.constants.kernels import OperatorConstants, shipped
from estimator.engine.errors import InvalidInputError
from estimator.engine.forward_pass.flops import read_window_tokens
from estimator.engine.forward_pass.kernels import WeightFormat, cache_bytes_per_element, weight_format
from estimator.engine.forward_pass.layer_sizes import (
    attention_weights,
    attention_widths,
    dense_weights,
    replicated_weights,
    state_bytes,
)
from estimator.engine.model.spec import Architecture, Attention, AttentionKind, FeedForward, LayerGroup
from estimator.engine.specs import Gpu, Parallelism, Precision

_LATENT = (AttentionKind.LATENT, AttentionKind.SPARSE_LATENT)
_HEAD_BYTES = 2.0
# Gate, up and down.
_GATED_MATRICES = 3
# Mixtures of this many experts and more are fine-grained: their 8-bit checkpoints have a scale for each block.
_FINE_GRAINED_EXPERTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """Matrix products of `layers` equal layers: elements of one layer on the rank, effective width, kernel count."""

    part: str
    layers: int
    weights: float
    width: float
    kernels: int
    format: WeightFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertGroup:
    """Routed experts of `layers` equal layers.

    `local_experts` experts lie on the rank, each cut to `share` of its `weights` elements; a token costs
    `weights_per_token` weight elements on this rank.
    """

    layers: int
    experts: int
    per_token: int
    local_experts: float
    share: float
    weights: float
    weights_per_token: float
    width: float
    format: WeightFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheGroup:
    """Attention of `layers` equal layers on one rank.

    A step reads `read_bytes_per_token` of the last `read_window_tokens` tokens and `index_bytes_per_token` of all.
    `window_tokens` is the sliding window of the model. Windows are inf where there is none.
    `prefill_width` is query heads times the mean of key and value width, `decode_flops_per_token` the FLOPs of one
    new token over one cached token; `queries_per_kv_head` query heads share each KV head (1 for latent caches).
    `query_heads` lie on the rank.
    """

    layers: int
    latent: bool
    window_tokens: float
    read_window_tokens: float
    read_bytes_per_token: float
    index_bytes_per_token: float
    prefill_width: float
    decode_flops_per_token: float
    index_flops_per_token: float
    sparse: bool
    queries_per_kv_head: float
    query_heads: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLayout:
    """Everything of a model on one rank (one GPU) of a replica; elements, bytes and widths, no times."""

    parallelism: Parallelism
    hidden_size: int
    layers: int
    attention_layers: int
    latent_layers: int
    head_norm_layers: int
    state_layers: int
    expert_layers: int
    reduces: int
    gemms: tuple[Gemm, ...]
    head: Gemm
    experts: tuple[ExpertGroup, ...]
    caches: tuple[CacheGroup, ...]
    state_bytes_per_sequence: float
    feed_forward_width: float
    weight_bytes: float
    expert_ranks: int
    cache_bytes_per_element: float
    other_weight_bytes: float
    unusual: tuple[str, ...]


def without_uniform_window(layout: RankLayout) -> RankLayout:
    """The layout of an engine that reads the whole context where every layer has the same window.

    Attention over more than the window is what such an engine computes unless it is told the window (Mistral-7B); a
    window of some layers only belongs to the model and stays.
    """
    windows = {group.window_tokens for group in layout.caches}
    if len(windows) != 1 or windows == {inf}:
        return layout
    caches = tuple(replace(g, window_tokens=inf, read_window_tokens=inf) for g in layout.caches)
    return replace(layout, caches=caches)


def harmonic(a: float, b: float) -> float:
    """Harmonic mean of two matrix sides, 2ab/(a+b).

    Unit: elements, as the sides. Equation: docs/model.md, eq. (17). Source: definition.

    >>> harmonic(2.0, 6.0)
    3.0
    """
    return 2.0 * a * b / (a + b) if a > 0 and b > 0 else 0.0


def rank_layout(architecture: Architecture, gpu: Gpu, precision: Precision, parallelism: Parallelism) -> RankLayout:
    """The layout of one rank: tensor parallel divides heads and widths, latent caches and their projections stay whole.

    Args:
        architecture: layer groups with exact parameter counts.
        gpu: peaks decide how a weight format runs.
        precision: formats of attention, other and expert weights, and of the cache; embeddings and head are 16-bit.
        parallelism: tp, pp, ep, dp of one replica.

    Source: docs/model.md, written as a sum over layer groups.
    """
    if min(parallelism.tp, parallelism.pp, parallelism.ep, parallelism.dp) < 1:
        raise InvalidInputError("tp, pp, ep and dp must be 1 or more", field="parallelism")
    builder = _Builder(architecture, gpu, precision, parallelism)
    groups = architecture.layer_groups
    head = builder.head()
    gemms = [*builder.attention_gemms(groups), *builder.feed_forward_gemms(groups)]
    experts = [builder.expert_group(group) for group in groups if _experts(group)]
    layers = sum(group.layers for group in groups)
    ranks = parallelism.pp
    body = sum(g.layers * g.weights * g.format.bytes_per_weight for g in gemms)
    body += sum(e.layers * e.local_experts * e.share * e.weights * e.format.bytes_per_weight for e in experts)
    edges = 1 if architecture.tied_embeddings else 2
    return RankLayout(
        parallelism=parallelism,
        hidden_size=architecture.hidden_size,
        layers=layers,
        attention_layers=sum(g.layers * g.attention_blocks for g in groups if g.attention),
        latent_layers=sum(g.layers * g.attention_blocks for g in groups if g.attention and g.attention.latent_rank),
        head_norm_layers=sum(g.layers * g.attention_blocks for g in groups if _has_head_norms(g, architecture)),
        state_layers=sum(g.layers for g in groups if g.state),
        expert_layers=sum(e.layers for e in experts),
        reduces=sum(g.layers * (bool(g.attention or g.state) + _has_feed_forward(g)) for g in groups),
        gemms=tuple(gemms),
        head=head,
        experts=tuple(experts),
        caches=tuple(builder.cache_group(g, g.attention) for g in groups if g.attention),
        state_bytes_per_sequence=sum(state_bytes(g) for g in groups) / parallelism.tp,
        feed_forward_width=sum(g.layers * builder.active_width(g.feed_forward) for g in groups),
        weight_bytes=body / ranks + head.weights * _HEAD_BYTES * edges,
        expert_ranks=parallelism.expert_ranks,
        cache_bytes_per_element=builder.cache_bytes,
        other_weight_bytes=builder.other_bytes(groups),
        unusual=_unusual(groups),
    )


class _Builder:
    """Holds the inputs while the groups of one layout are made."""

    def __init__(self, architecture: Architecture, gpu: Gpu, precision: Precision, parallelism: Parallelism) -> None:
        self.architecture = architecture
        self.constants: OperatorConstants = shipped().operators
        self.hidden = architecture.hidden_size
        self.tp = parallelism.tp
        self.parallelism = parallelism
        asked = precision.activations
        self.attention_format = weight_format(precision.attention_weights or precision.weights, gpu, activations=asked)
        self.format = weight_format(precision.weights, gpu, activations=asked)
        self.expert_format = weight_format(
            precision.expert_weights or precision.weights, gpu, experts=True, activations=asked
        )
        self.head_format = weight_format("bf16", gpu)
        self.cache_bytes = cache_bytes_per_element(precision.kv_cache)
        self.shared_width = self._feed_forward_side()

    def head(self) -> Gemm:
        weights = self.architecture.lm_head_parameters
        if not weights and self.architecture.tied_embeddings:
            weights = self.architecture.embedding_parameters
        return Gemm(part="head", layers=1, weights=weights / self.tp, width=0.0, kernels=1, format=self.head_format)

    def attention_gemms(self, groups: Sequence[LayerGroup]) -> list[Gemm]:
        out = []
        for group in groups:
            if group.attention:
                out.append(self._attention_gemm(group, group.attention))
            if group.state:
                weights = group.parameters.state
                columns = weights / self.hidden
                wide = self.constants.linear_attention_width * columns / self.constants.linear_attention_columns
                out.append(
                    Gemm(
                        part="state",
                        layers=group.layers,
                        weights=weights / self.tp,
                        width=harmonic(self.hidden, wide / self.tp),
                        kernels=int(self.constants.state_kernels),
                        format=self.attention_format,
                    )
                )
        return out

    def _attention_gemm(self, group: LayerGroup, attention: Attention) -> Gemm:
        total = float(group.parameters.attention or attention_weights(attention, self.hidden))
        if group.parameters.other and not group.parameters.attention and not group.matrices:
            total = min(total, float(group.parameters.other))
        constants = self.constants
        if attention.latent_rank:
            whole = min(replicated_weights(attention, self.hidden), total)
            width = harmonic(
                constants.latent_query_width, attention.query_heads * constants.latent_head_width / self.tp
            )
            weights, kernels = (total - whole) / self.tp + whole, constants.latent_attention_kernels
        else:
            width = harmonic(self.hidden, attention.query_heads * attention.head_dim_qk / self.tp)
            weights, kernels = total / self.tp, constants.attention_kernels
        return Gemm(
            part="latent_attention" if attention.latent_rank else "attention", layers=group.layers, weights=weights,
            width=width, kernels=int(kernels), format=self.attention_format,
        )  # fmt: skip

    def feed_forward_gemms(self, groups: Sequence[LayerGroup]) -> list[Gemm]:
        out = []
        width = harmonic(self.hidden, self.constants.gated_side_factor * self.shared_width / self.tp)
        for group in groups:
            dense, shared = dense_weights(group, self.hidden), group.parameters.shared_experts
            if dense:
                own = harmonic(self.hidden, self.constants.gated_side_factor * self._dense_side(group) / self.tp)
                out.append(self._mlp("mlp", group.layers, dense, own))
            if group.matrices and group.parameters.other:
                out.append(self._mlp("other", group.layers, group.parameters.other, self.hidden))
            if shared:
                out.append(self._mlp("shared_experts", group.layers, shared, width))
        return out

    def _mlp(self, part: str, layers: int, weights: float, width: float) -> Gemm:
        kernels = int(self.constants.feed_forward_kernels)
        return Gemm(
            part=part, layers=layers, weights=weights / self.tp, width=width, kernels=kernels, format=self.format
        )

    def _dense_side(self, group: LayerGroup) -> float:
        """Width of a dense feed-forward; an inline shape gives only its weights."""
        feed = group.feed_forward
        if feed and feed.intermediate_size:
            return float(feed.intermediate_size)
        return dense_weights(group, self.hidden) / (_GATED_MATRICES * self.hidden)

    def _feed_forward_side(self) -> float:
        """Widest dense feed-forward of the model; without one, the shared expert's (the reference fit's size term)."""
        groups = self.architecture.layer_groups
        dense = [self._dense_side(g) for g in groups if dense_weights(g, self.hidden)]
        shared = [float(g.feed_forward.shared_intermediate_size) for g in groups if g.feed_forward]
        return max(dense, default=0.0) or max(shared, default=0.0)

    def expert_group(self, group: LayerGroup) -> ExpertGroup:
        feed = group.feed_forward
        if feed is None:
            raise InvalidInputError("a group of experts needs its feed-forward", field="model")
        ranks = self.parallelism.expert_ranks
        share = self.parallelism.ep / ranks
        weights = (
            group.parameters.routed_experts
            or _GATED_MATRICES * self.hidden * feed.expert_intermediate_size * feed.experts
        )
        one = weights / feed.experts
        return ExpertGroup(
            layers=group.layers,
            experts=feed.experts,
            per_token=feed.experts_per_token,
            local_experts=feed.experts / self.parallelism.ep,
            share=share,
            weights=one,
            weights_per_token=feed.experts_per_token * one / ranks,
            width=feed.expert_intermediate_size * share,
            format=self._grouped_format(feed),
        )

    def _grouped_format(self, feed: FeedForward) -> WeightFormat:
        """The experts' format; 8-bit ones with scales of blocks where the checkpoint has them.

        A checkpoint that says nothing of it is one of 16 bits run in 8. Fine-grained mixtures are published in blocks,
        those of few experts or one a token with a scale a tensor.
        """
        found = self.expert_format
        stored = self.architecture.quantization
        blocks = stored.weight_format == "fp8_block" if stored else False
        fine = feed.experts >= _FINE_GRAINED_EXPERTS and feed.experts_per_token > 1
        is_blocks = blocks or (fine and (stored is None or not stored.weight_format.startswith("fp8")))
        return replace(found, kernel="fp8_block") if found.kernel == "fp8" and is_blocks else found

    def active_width(self, feed: FeedForward | None) -> float:
        """Feed-forward width a token passes on this rank."""
        if feed is None:
            return 0.0
        wide = feed.intermediate_size if not feed.experts else 0
        experts = feed.experts_per_token * feed.expert_intermediate_size + feed.shared_intermediate_size
        return (wide + (experts if feed.experts else 0)) / self.tp

    def cache_group(self, group: LayerGroup, attention: Attention) -> CacheGroup:
        latent = attention.kind in _LATENT
        compressed = attention.kind is AttentionKind.COMPRESSED
        elements, share, width, flops = attention_widths(attention, self.tp)
        read = elements * self.cache_bytes * share
        sparse = attention.kind is AttentionKind.SPARSE_LATENT and attention.index_top_k > 0
        has_index = sparse and attention.stores_index
        index = (attention.index_head_dim + self.constants.sparse_index_bytes_overhead) if has_index else 0.0
        if compressed and attention.compress_ratio:
            index = read / attention.compress_ratio + attention.index_head_dim / attention.compress_ratio
        return CacheGroup(
            layers=group.layers * group.attention_blocks,
            latent=latent or compressed,
            window_tokens=float(attention.window_tokens or inf),
            read_window_tokens=read_window_tokens(attention),
            read_bytes_per_token=read,
            index_bytes_per_token=index,
            prefill_width=width / self.tp,
            decode_flops_per_token=flops / self.tp,
            index_flops_per_token=2.0 * attention.index_heads * attention.index_head_dim if has_index else 0.0,
            sparse=sparse,
            queries_per_kv_head=1.0 if attention.latent_rank else attention.query_heads / max(attention.kv_heads, 1),
            query_heads=attention.query_heads / self.tp,
        )

    def other_bytes(self, groups: Sequence[LayerGroup]) -> float:
        """Router, norms and the like, 16-bit, whole on every rank."""
        small = sum(g.layers * (g.parameters.router + g.parameters.norms) for g in groups)
        return 2.0 * (small + self.architecture.final_norm_parameters) / self.parallelism.pp


def _has_head_norms(group: LayerGroup, architecture: Architecture) -> bool:
    """Whether query and key heads are normed: the norms of the layer are then no multiple of the model's width."""
    if group.attention is None or group.attention.latent_rank:
        return False
    return group.parameters.norms > architecture.hidden_size and group.parameters.norms % architecture.hidden_size != 0


def _experts(group: LayerGroup) -> bool:
    return bool(group.feed_forward and group.feed_forward.experts)


def _has_feed_forward(group: LayerGroup) -> bool:
    parameters = group.parameters
    inline = parameters.other and not group.matrices
    return bool(parameters.mlp or parameters.routed_experts or parameters.shared_experts or inline)


def _unusual(groups: Sequence[LayerGroup]) -> tuple[str, ...]:
    """Parts that the measurements behind the constants never held: they are estimated by the nearest measured part."""
    found = []
    kinds = {group.attention.kind for group in groups if group.attention}
    if AttentionKind.CHUNK in kinds:
        found.append("chunked attention")
    if AttentionKind.COMPRESSED in kinds:
        found.append("compressed attention")
    states = {group.state.kind.value for group in groups if group.state}
    found += sorted(f"{kind} state" for kind in states if kind != "linear_attention")
    shapes = {(g.attention.kv_heads, g.attention.head_dim_qk, g.attention.head_dim_v) for g in groups if g.attention}
    if len(shapes) > 1:
        found.append("KV heads that differ between layers")
    return tuple(found)
