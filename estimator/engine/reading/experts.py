"""Where a family writes its experts, and the mixture of one layer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from estimator.engine.model.spec import Component, Split
from estimator.engine.reading.blocks import LayerBuilder, add_experts
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.switches import Switch, switch

Sparse = Callable[[Fields, int], Sequence[bool]]
"""Says which layers have experts."""
_SHARED_COUNTS = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeRule:
    """Where a family writes its experts.

    `shared`: "" none, "experts" (a key counts experts of the routed width), "width" (`shared_key` is the width of one
    wide expert), or "always" (one expert of the routed width). `inner` is the key of the width the experts work in
    where it is not the model's; `inner_names` are the maps into it and back, `inner_norms` counts norms of that width.
    `parts` is what a layer with experts holds besides, `sparse_layers` says which layers those are (None: all).
    """

    experts: tuple[str, ...] = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
    top_k: tuple[str, ...] = (
        "num_experts_per_tok",
        "moe_topk",
        "moe_k",
        "num_experts_per_token",
        "experts_per_token",
        "moe_top_k",
    )
    width: tuple[str, ...] = ("moe_intermediate_size",)
    gated: bool = True
    shared: str = ""
    shared_key: str | tuple[str, ...] = "n_shared_experts"
    shared_width_of: tuple[str, ...] = ()
    shared_gate: bool = False
    router_bias: Switch = False
    expert_bias: bool = False
    shared_bias: Switch = False
    router: str = "gate"
    prefix: str = "mlp"
    inner: str = ""
    inner_names: tuple[str, str] = ("latent_in_proj", "latent_out_proj")
    inner_norms: int = 0
    inner_bias: Switch = False
    parts: tuple[Callable[[LayerBuilder, Fields, int], None], ...] = ()
    sparse_layers: Sparse | None = None


def _shared_width(fields: Fields, rule: MoeRule, width: int) -> int:
    """The width of all shared experts together."""
    keys = (rule.shared_key,) if isinstance(rule.shared_key, str) else rule.shared_key
    if rule.shared == "experts":
        count = fields.whole(*keys, *_SHARED_COUNTS, low=0, high=MAX_LAYERS, default=0)
        return count * (fields.whole(*rule.shared_width_of, default=width) if rule.shared_width_of else width)
    if rule.shared == "width":
        return fields.whole(*keys, low=0, default=0)
    return width if rule.shared == "always" else 0


def add_moe(layer: LayerBuilder, fields: Fields, rule: MoeRule, hidden: int, *, gated: bool = True) -> None:
    """Add the family's mixture of experts to a layer.

    Raises:
        InvalidInputError: more experts are used than there are.
    """
    experts = fields.whole(*rule.experts, high=MAX_COUNT)
    top_k = fields.whole(*rule.top_k, high=MAX_COUNT)
    if top_k > experts:
        raise fields.error(rule.top_k[0], f"must not exceed the {experts} experts, not {top_k}")
    width = fields.whole(*rule.width)
    inner = fields.optional_whole(rule.inner) if rule.inner else None
    add_experts(
        layer,
        hidden,
        experts=experts,
        top_k=top_k,
        width=width,
        shared_width=_shared_width(fields, rule, width),
        gated=gated and rule.gated,
        bias=rule.expert_bias,
        router_bias=switch(fields, rule.router_bias),
        shared_gate=rule.shared_gate,
        shared_bias=switch(fields, rule.shared_bias),
        prefix=rule.prefix,
        router=rule.router,
        expert_input=inner,
    )
    if inner is not None:
        into, back = rule.inner_names
        bias, whole = switch(fields, rule.inner_bias), Split.REPLICATED
        layer.matrix(f"{rule.prefix}.{into}", inner, hidden, Component.MLP, 1, whole, bias=bias)
        layer.matrix(f"{rule.prefix}.{back}", hidden, inner, Component.MLP, 1, whole, bias=bias)
        layer.norms += rule.inner_norms * inner
    for part in rule.parts:
        part(layer, fields, hidden)
