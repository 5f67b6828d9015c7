"""Building blocks of a layer: weight matrices, biases and norms of attention, dense MLP and mixture of experts."""

from collections.abc import Sequence
from dataclasses import replace

from estimator.engine.model.spec import (
    Attention,
    Component,
    FeedForward,
    LayerGroup,
    LayerParameters,
    Matrix,
    RecurrentState,
    Split,
)


class LayerBuilder:
    """Collects what one layer holds and turns it into a layer group with exact parameter counts."""

    __slots__ = ("attention", "attention_blocks", "feed_forward", "matrices", "norms", "state", "vectors")

    def __init__(self) -> None:
        self.matrices: list[Matrix] = []
        self.vectors: dict[Component, int] = {}
        self.norms = 0
        self.attention: Attention | None = None
        self.state: RecurrentState | None = None
        self.feed_forward: FeedForward | None = None
        self.attention_blocks = 1

    def matrix(
        self,
        name: str,
        rows: int,
        columns: int,
        component: Component,
        copies: int = 1,
        split: Split = Split.TENSOR,
        *,
        bias: bool = False,
        quantisable: bool = True,
    ) -> None:
        """Add `copies` matrices of `rows` outputs by `columns` inputs, each with a bias of `rows` when asked."""
        self.matrices.append(Matrix(name, rows, columns, component, copies, split, quantisable))
        if bias:
            self.vectors[component] = self.vectors.get(component, 0) + rows * copies

    def vector(self, component: Component, elements: int) -> None:
        """Add `elements` that belong to a component but to no matrix."""
        self.vectors[component] = self.vectors.get(component, 0) + elements

    def group(self, layers: int, parameter_copies: int | None = None) -> LayerGroup:
        """The collected parts as a group of `layers` equal layers."""
        counts = dict(self.vectors)
        for matrix in self.matrices:
            component = matrix.component
            counts[component] = counts.get(component, 0) + matrix.rows * matrix.columns * matrix.copies
        return LayerGroup(
            layers=layers,
            attention=self.attention,
            state=self.state,
            feed_forward=self.feed_forward,
            parameters=LayerParameters(
                norms=self.norms, **{component.value: count for component, count in counts.items()}
            ),
            parameter_copies=parameter_copies,
            attention_blocks=self.attention_blocks,
            matrices=tuple(self.matrices),
        )


def add_attention(
    layer: LayerBuilder,
    attention: Attention,
    hidden: int,
    *,
    prefix: str = "self_attn",
    qkv_bias: bool = False,
    out_bias: bool = False,
    input_width: int | None = None,
    key_equals_value: bool = False,
    own_keys: bool = True,
) -> None:
    """Add grouped-query attention: q, k, v and output projections.

    `input_width` differs from `hidden` where the block reads a wider input (Zamba2); `key_equals_value` drops v, no
    `own_keys` both k and v. An output gate doubles the query projection.
    """
    width = input_width or hidden
    queries = attention.query_heads * attention.head_dim_qk * (2 if attention.output_gate else 1)
    part = Component.ATTENTION
    layer.attention = attention
    layer.matrix(f"{prefix}.q_proj", queries, width, part, bias=qkv_bias)
    if own_keys:
        keys = attention.kv_heads * attention.head_dim_qk
        layer.matrix(f"{prefix}.k_proj", keys, width, part, 1, Split.KV_HEADS, bias=qkv_bias)
    if own_keys and not key_equals_value:
        values = attention.kv_heads * attention.head_dim_v
        layer.matrix(f"{prefix}.v_proj", values, width, part, 1, Split.KV_HEADS, bias=qkv_bias)
    layer.matrix(f"{prefix}.o_proj", hidden, attention.query_heads * attention.head_dim_v, part, bias=out_bias)


def add_mlp(
    layer: LayerBuilder,
    hidden: int,
    width: int,
    *,
    gated: bool = True,
    bias: bool = False,
    prefix: str = "mlp",
    component: Component = Component.MLP,
) -> None:
    """Add a dense MLP of `width`: up and down, and a gate when gated (3 matrices), biases of each when asked."""
    if gated:
        layer.matrix(f"{prefix}.gate_proj", width, hidden, component, bias=bias)
    layer.matrix(f"{prefix}.up_proj", width, hidden, component, bias=bias)
    layer.matrix(f"{prefix}.down_proj", hidden, width, component, bias=bias)


def add_dense(layer: LayerBuilder, hidden: int, width: int, *, gated: bool = True, bias: bool = False) -> None:
    """Add a dense MLP and say so in the layer's feed-forward description."""
    add_mlp(layer, hidden, width, gated=gated, bias=bias)
    layer.feed_forward = FeedForward(intermediate_size=width, matrices=3 if gated else 2)


def add_experts(
    layer: LayerBuilder,
    hidden: int,
    *,
    experts: int,
    top_k: int,
    width: int,
    shared_width: int = 0,
    gated: bool = True,
    bias: bool = False,
    router_bias: bool = False,
    shared_gate: bool = False,
    prefix: str = "mlp",
    router: str | None = "gate",
    expert_input: int | None = None,
    shared_bias: bool = False,
) -> None:
    """Add a mixture of `experts` experts with a router, and shared experts of `shared_width` in all.

    `expert_input` is the width the experts work on where it is not the hidden size (latent experts of Nemotron 3).
    Without a `router` the caller adds one.
    """
    inner = expert_input or hidden
    part = Component.ROUTED_EXPERTS
    if gated:
        layer.matrix(f"{prefix}.experts.*.gate_proj", width, inner, part, experts, Split.EXPERTS, bias=bias)
    layer.matrix(f"{prefix}.experts.*.up_proj", width, inner, part, experts, Split.EXPERTS, bias=bias)
    layer.matrix(f"{prefix}.experts.*.down_proj", inner, width, part, experts, Split.EXPERTS, bias=bias)
    if router is not None:
        _add_replicated(layer, f"{prefix}.{router}", experts, hidden, bias=router_bias)
    if shared_width:
        shared = Component.SHARED_EXPERTS
        name = f"{prefix}.shared_experts"
        add_mlp(layer, hidden, shared_width, gated=gated, bias=shared_bias, prefix=name, component=shared)
        if shared_gate:
            _add_replicated(layer, f"{prefix}.shared_expert_gate", 1, hidden)
    layer.feed_forward = FeedForward(
        matrices=3 if gated else 2,
        experts=experts,
        experts_per_token=top_k,
        expert_intermediate_size=width,
        shared_intermediate_size=shared_width,
    )


def _add_replicated(layer: LayerBuilder, name: str, rows: int, hidden: int, *, bias: bool = False) -> None:
    """Add a router's matrix: whole on every rank, and never quantised."""
    layer.matrix(name, rows, hidden, Component.ROUTER, 1, Split.REPLICATED, bias=bias, quantisable=False)


def collect(kinds: Sequence[object], groups: Sequence[LayerGroup]) -> tuple[tuple[LayerGroup, ...], tuple[int, ...]]:
    """Merge equal layer groups in order of first appearance.

    Args:
        kinds: for each layer the key of its group.
        groups: one single-layer group for each distinct key, in order of first appearance.

    Returns:
        The groups with their layer counts, and the group index of each layer.
    """
    index: dict[object, int] = {}
    order = [index.setdefault(kind, len(index)) for kind in kinds]
    counts = [0] * len(index)
    for position in order:
        counts[position] += 1
    return tuple(replace(group, layers=count) for group, count in zip(groups, counts, strict=True)), tuple(order)
