"""Decoders of equal blocks: grouped-query attention and a dense MLP or a mixture of experts, told apart by a rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, Component, LayerGroup
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_dense, add_experts, collect
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, MAX_TOKENS, Fields
from estimator.engine.reading.shape import Shape, read_mlp_width, read_shape, window_layers

Switch = bool | str
"""True or False for the whole family, or the name of the key that decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeRule:
    """Where a family writes its experts and which layers have them.

    `shared`: "" none, "experts" (`shared_key` counts experts of the routed width), "width" (`shared_key` is the width
    of one wide expert), or "always" (one expert of the routed width). `sparse_layers` gives a flag for each layer.
    """

    experts: tuple[str, ...] = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
    top_k: tuple[str, ...] = ("num_experts_per_tok", "moe_topk", "moe_k", "num_experts_per_token", "experts_per_token")
    width: tuple[str, ...] = ("moe_intermediate_size",)
    dense_width: tuple[str, ...] = ("intermediate_size",)
    shared: str = ""
    shared_key: str = "n_shared_experts"
    shared_gate: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    shared_bias: Switch = False
    router: str = "gate"
    prefix: str = "mlp"
    sparse_layers: Callable[[Fields, int], Sequence[bool]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardRule:
    """What sets one family of standard decoders apart.

    `norms` counts the full-width norms of a block; `norm_width` is 1, or 2 when norms have a bias (0: no parameters).
    `qk_norm`: "" none, "head" (one of head_dim each), "width" (over the whole projection), "per_head" (a row a head).
    `post_norms_if` is the key that adds two norms to a block; `sub_norms` are norms before the output projections of
    attention and MLP (BitNet); `output_gate` is a gate as wide as the queries on what attention gives.
    `qk_norm_width` is 2 when those norms have a bias; `activation_scalars` counts learned numbers of an activation.
    `positions` is the key of a learned position table with `position_offset` extra rows.
    """

    qkv_bias: Switch = False
    out_bias: Switch = False
    mlp_bias: Switch = False
    gated: bool = True
    norms: int = 2
    post_norms_if: str = ""
    sub_norms: bool = False
    output_gate: bool = False
    norm_width: int = 1
    qk_norm: str = ""
    qk_norm_if: str = ""
    qk_norm_width: int = 1
    activation_scalars: int = 0
    sinks: bool = False
    window: str = "none"
    window_interval: int = 0
    positions: str = ""
    position_offset: int = 0
    embedding_norm: bool = False
    lm_head_bias: Switch = False
    always_tied: bool = False
    mlp_width_divisor: int = 1
    moe: MoeRule | None = None


def switch(fields: Fields, value: Switch) -> bool:
    """A family's constant, or the flag the config decides by."""
    return fields.flag(value) if isinstance(value, str) else value


def norm_elements(rule: StandardRule, hidden: int) -> int:
    """Parameters of one full-width norm."""
    return rule.norm_width * hidden


def add_query_key_norm(layer: LayerBuilder, kind: str, attention: Attention, norm_width: int = 1) -> None:
    """Add the parameters of query and key norms of the given kind to the layer's norms."""
    heads, kv_heads, width = attention.query_heads, attention.kv_heads, attention.head_dim_qk
    if kind == "head":
        layer.norms += 2 * width * norm_width
    elif kind in ("width", "per_head"):
        layer.norms += (heads + kv_heads) * width


def read_standard(fields: Fields, rule: StandardRule, *, family: str) -> Architecture:
    """Read a standard decoder by its family's rule."""
    shape = read_shape(fields)
    kinds = window_layers(fields, shape.layers, rule.window, rule.window_interval)
    window = fields.optional_whole("sliding_window", high=MAX_TOKENS) if AttentionKind.WINDOW in kinds else None
    sparse = sparse_flags(fields, rule.moe, shape.layers)
    keys = list(zip(kinds, sparse, strict=True))
    block = _BlockReader(fields, rule, shape, window)
    groups = [block.group(kind, is_sparse) for kind, is_sparse in dict.fromkeys(keys)]
    layer_groups, order = collect(keys, groups)
    return finish(fields, rule, shape, layer_groups, order, family=family)


def sparse_flags(fields: Fields, moe: MoeRule | None, layers: int) -> Sequence[bool]:
    """For each layer whether it has experts."""
    if moe is None:
        return [False] * layers
    if moe.sparse_layers is None:
        return [True] * layers
    return moe.sparse_layers(fields, layers)


@dataclass(frozen=True, slots=True)
class _BlockReader:
    """Builds the block of one kind."""

    fields: Fields
    rule: StandardRule
    shape: Shape
    window: int | None

    def group(self, kind: AttentionKind, is_sparse: bool) -> LayerGroup:
        """One layer of this attention kind, dense or with experts."""
        fields, rule, shape = self.fields, self.rule, self.shape
        layer = LayerBuilder()
        attention = Attention(
            kind=kind,
            query_heads=shape.heads,
            kv_heads=shape.kv_heads,
            head_dim_qk=shape.head_dim,
            head_dim_v=shape.head_dim,
            window_tokens=self.window if kind is AttentionKind.WINDOW else None,
        )
        qkv_bias, out_bias = switch(fields, rule.qkv_bias), switch(fields, rule.out_bias)
        add_attention(layer, attention, shape.hidden, qkv_bias=qkv_bias, out_bias=out_bias)
        if rule.sinks:
            layer.vector(Component.ATTENTION, shape.heads)
        if rule.output_gate:
            layer.matrix("self_attn.gate_proj", shape.heads * shape.head_dim, shape.hidden, Component.ATTENTION)
        norms = rule.norms + (2 if rule.post_norms_if and fields.flag(rule.post_norms_if) else 0)
        layer.norms += norms * norm_elements(rule, shape.hidden)
        if rule.qk_norm and (not rule.qk_norm_if or fields.flag(rule.qk_norm_if)):
            add_query_key_norm(layer, rule.qk_norm, attention, rule.qk_norm_width)
        layer.vector(Component.MLP, rule.activation_scalars)
        if is_sparse and rule.moe is not None:
            add_moe(layer, fields, rule.moe, shape.hidden, gated=rule.gated)
        else:
            width_keys = rule.moe.dense_width if rule.moe is not None else ()
            width = read_mlp_width(fields, shape.hidden, *width_keys) // rule.mlp_width_divisor
            add_dense(layer, shape.hidden, width, gated=rule.gated, bias=switch(fields, rule.mlp_bias))
            if rule.sub_norms:
                layer.norms += shape.hidden + width
        return layer.group(1)


def add_moe(layer: LayerBuilder, fields: Fields, rule: MoeRule, hidden: int, *, gated: bool = True) -> None:
    """Add a mixture of experts as a family writes it."""
    experts = fields.whole(*rule.experts, high=MAX_COUNT)
    top_k = fields.whole(*rule.top_k, high=MAX_COUNT)
    if top_k > experts:
        raise fields.error(rule.top_k[0], f"must not exceed the {experts} experts, not {top_k}")
    width = fields.whole(*rule.width)
    shared_width = 0
    if rule.shared == "experts":
        shared_width = fields.whole(rule.shared_key, low=0, high=MAX_LAYERS, default=0) * width
    elif rule.shared == "width":
        shared_width = fields.whole(rule.shared_key, low=0, default=0)
    elif rule.shared == "always":
        shared_width = width
    add_experts(
        layer,
        hidden,
        experts=experts,
        top_k=top_k,
        width=width,
        shared_width=shared_width,
        gated=gated,
        bias=rule.expert_bias,
        router_bias=rule.router_bias,
        shared_gate=rule.shared_gate,
        shared_bias=switch(fields, rule.shared_bias),
        prefix=rule.prefix,
        router=rule.router,
    )


def finish(
    fields: Fields,
    rule: StandardRule,
    shape: Shape,
    layer_groups: tuple[LayerGroup, ...],
    order: tuple[int, ...],
    *,
    family: str,
) -> Architecture:
    """Add the embedding, the head, the final norm and position tables to the layer groups."""
    hidden = shape.hidden
    tied = rule.always_tied or fields.flag("tie_word_embeddings", "tie_embedding")
    lookup = 0
    if rule.positions:
        rows = fields.whole(rule.positions, "max_position_embeddings", high=MAX_TOKENS)
        lookup = (rows + rule.position_offset) * hidden
    head = 0 if tied else shape.vocab * hidden
    if switch(fields, rule.lm_head_bias):
        head += shape.vocab
    norms = norm_elements(rule, hidden) * (2 if rule.embedding_norm else 1)
    return Architecture(
        family=family,
        layer_groups=layer_groups,
        layer_order=order,
        hidden_size=hidden,
        vocab_size=shape.vocab,
        max_context_tokens=shape.context,
        tied_embeddings=tied,
        embedding_parameters=shape.vocab * hidden,
        lm_head_parameters=head,
        final_norm_parameters=norms,
        lookup_parameters=lookup,
    )
