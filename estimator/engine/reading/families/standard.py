"""Decoders of equal blocks: grouped-query attention and a dense MLP or a mixture of experts, told apart by a rule."""

from dataclasses import dataclass
from functools import cache, partial

from estimator.engine.model.spec import Architecture, Component
from estimator.engine.reading.blocks import LayerBuilder
from estimator.engine.reading.decoder import Decoder, Part, Tables, read_decoder
from estimator.engine.reading.experts import MoeRule
from estimator.engine.reading.fields import Fields
from estimator.engine.reading.mixers import Grouped, both
from estimator.engine.reading.shape import MLP_WIDTH, window_layers
from estimator.engine.reading.switches import Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardRule:
    """What sets one family of standard decoders apart.

    `norms` counts the full-width norms of a block; `post_norms_if` is the key that adds two; `sub_norms` are norms
    before the output projections of attention and MLP (BitNet); `output_gate` is a gate as wide as the queries on what
    attention gives. `activation_scalars` counts learned numbers of an activation. `window` and `window_interval` are
    the rule of `window_layers`. The rest is as in `Grouped`, `Decoder` and `Tables`.
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


@cache
def standard_decoder(rule: StandardRule) -> Decoder:
    """The decoder that a rule describes."""
    attention = Grouped(
        qkv_bias=rule.qkv_bias,
        out_bias=rule.out_bias,
        qk_norm=rule.qk_norm,
        qk_norm_if=rule.qk_norm_if,
        qk_norm_width=rule.qk_norm_width,
        sinks=rule.sinks,
        gate="width" if rule.output_gate else "",
    )
    parts: list[Part] = []
    if rule.activation_scalars:
        parts.append(partial(_add_scalars, count=rule.activation_scalars))
    if rule.sub_norms:
        parts.append(_add_sub_norms)
    return Decoder(
        kinds=partial(window_layers, pattern=rule.window, implicit_interval=rule.window_interval),
        mixers=both(attention),
        moe=rule.moe,
        dense_width=("intermediate_size",) if rule.moe is not None else MLP_WIDTH,
        width_divisor=rule.mlp_width_divisor,
        gated=rule.gated,
        mlp_bias=rule.mlp_bias,
        norms=rule.norms,
        norms_if=rule.post_norms_if,
        parts=tuple(parts),
        tables=Tables(
            norm_width=rule.norm_width,
            embedding_norm=rule.embedding_norm,
            positions=rule.positions,
            position_offset=rule.position_offset,
            lm_head_bias=rule.lm_head_bias,
            always_tied=rule.always_tied,
        ),
    )


def read_standard(fields: Fields, rule: StandardRule, *, family: str) -> Architecture:
    """Read a standard decoder by its family's rule."""
    return read_decoder(fields, standard_decoder(rule), family=family)


def _add_scalars(layer: LayerBuilder, fields: Fields, hidden: int, *, count: int) -> None:
    """The learned numbers of an activation."""
    layer.vector(Component.MLP, count)


def _add_sub_norms(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Norms before the output projections of attention and MLP."""
    if layer.feed_forward is not None:
        layer.norms += hidden + layer.feed_forward.intermediate_size
