"""Layers with a constant state as mixers of a decoder: the keys that hold their sizes, and how they are added."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from estimator.engine.reading.blocks import LayerBuilder
from estimator.engine.reading.fields import MAX_COUNT, Fields
from estimator.engine.reading.shape import HEADS, head_width
from estimator.engine.reading.state_blocks import (
    DeltaNet,
    Mamba1,
    Mamba2,
    add_delta_net,
    add_kimi_delta,
    add_lightning,
    add_mamba1,
    add_mamba2,
    add_short_convolution,
)
from estimator.engine.reading.switches import Switch, switch

Part = Callable[[LayerBuilder, Fields, int], None]
KERNEL_LIMIT = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDelta:
    """Gated delta net of the `linear_` keys; `fused` names its input maps as Qwen3-Next does."""

    fused: bool = False

    def __call__(self, layer: LayerBuilder, fields: Fields, hidden: int) -> None:
        """Add the mixer to a layer."""
        net = DeltaNet(
            key_heads=fields.whole("linear_num_key_heads", high=MAX_COUNT),
            value_heads=fields.whole("linear_num_value_heads", high=MAX_COUNT),
            key_dim=fields.whole("linear_key_head_dim"),
            value_dim=fields.whole("linear_value_head_dim"),
            kernel=fields.whole("linear_conv_kernel_dim", high=KERNEL_LIMIT),
            fused=self.fused,
        )
        add_delta_net(layer, fields, hidden, net)


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiDelta:
    """Kimi delta attention; its sizes stand flat or in `linear_attn_config`, its maps have full or low rank."""

    full_rank_gate: Switch = False
    full_rank_decay: bool = False

    def __call__(self, layer: LayerBuilder, fields: Fields, hidden: int) -> None:
        """Add the mixer to a layer."""
        settings = fields.sub("linear_attn_config") or fields
        # beside a flat linear_head_dim, head_dim is another one's
        add_kimi_delta(
            layer,
            hidden,
            heads=settings.optional_whole("linear_num_heads", "num_heads", high=MAX_COUNT)
            or fields.whole(*HEADS, high=MAX_COUNT),
            head_dim=settings.whole("linear_head_dim", "head_dim"),
            kernel=settings.whole("short_conv_kernel_size", "linear_conv_kernel_dim", high=KERNEL_LIMIT, default=4),
            full_rank_gate=switch(settings, self.full_rank_gate),
            full_rank_decay=self.full_rank_decay,
        )


def lightning(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Add lightning attention with the heads of the model's attention."""
    heads = fields.whole(*HEADS, high=MAX_COUNT)
    add_lightning(layer, fields, hidden, heads, head_width(fields, hidden, heads))


def short_convolution(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Add the gated short convolution of LFM2 and LFM3."""
    add_short_convolution(layer, hidden, fields.whole("conv_L_cache", high=KERNEL_LIMIT), bias=fields.flag("conv_bias"))


def _auto(fields: Fields, name: str, otherwise: int) -> int:
    """A size that a config may leave to be computed."""
    return otherwise if fields.raw(name) in (None, "auto") else fields.whole(name)


def auto_rank(fields: Fields, name: str, hidden: int) -> int:
    """The rank of the time step; `auto` is hidden / 16 rounded up."""
    return _auto(fields, name, -(-hidden // 16))


def jamba_mamba(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Add the Mamba 1 of Jamba, with inner norms."""
    size = Mamba1(
        inner=fields.whole("mamba_expand", high=64) * hidden,
        state=fields.whole("mamba_d_state"),
        dt_rank=auto_rank(fields, "mamba_dt_rank", hidden),
        kernel=fields.whole("mamba_d_conv", high=KERNEL_LIMIT),
        conv_bias=fields.flag("mamba_conv_bias", default=True),
        bias=fields.flag("mamba_proj_bias"),
        inner_norms=True,
    )
    add_mamba1(layer, fields, hidden, size)


def _prefixed(fields: Fields, hidden: int) -> Mamba2:
    """Mamba-2 sizes under the `mamba_` keys of Bamba, Granite 4 and Falcon-H1."""
    width = fields.optional_whole("mamba_d_ssm") or fields.whole("mamba_expand", high=64) * hidden
    heads = fields.whole("mamba_n_heads", high=MAX_COUNT)
    bias = fields.flag("mamba_proj_bias")
    return Mamba2(
        heads=heads,
        head_dim=_auto(fields, "mamba_d_head", width // heads),
        groups=fields.whole("mamba_n_groups", high=MAX_COUNT),
        state=fields.whole("mamba_d_state"),
        kernel=fields.whole("mamba_d_conv", high=KERNEL_LIMIT),
        inner=width,
        conv_bias=fields.flag("mamba_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias,
    )


def prefixed_mamba2(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Add the Mamba 2 of Bamba and Granite 4."""
    add_mamba2(layer, fields, hidden, _prefixed(fields, hidden))


def beside_mamba2(attention: Part) -> Part:
    """Attention and Mamba 2 side by side in one layer (Falcon-H1)."""

    def add(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
        attention(layer, fields, hidden)
        size = replace(
            _prefixed(fields, hidden), norm=fields.flag("mamba_rms_norm"), out_bias=fields.flag("projectors_bias")
        )
        add_mamba2(layer, fields, hidden, size)

    return add
