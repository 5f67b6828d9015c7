"""Building blocks of layers with constant state: Mamba, delta nets, lightning attention, short convolutions."""

from dataclasses import dataclass

from estimator.engine.model.spec import Component, RecurrentState, Split, StateKind
from estimator.engine.reading.blocks import LayerBuilder
from estimator.engine.reading.fields import Fields

_STATE = Component.STATE
_FP32_NAMES = ("float32", "torch.float32", "fp32")


def state_bytes_per_element(fields: Fields) -> int:
    """4 where the config asks for fp32 states, else 2 (the model's own 16-bit type)."""
    for name in ("mamba_ssm_cache_dtype", "mamba_ssm_dtype"):
        if fields.text(name) in _FP32_NAMES:
            return 4
    return 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba1:
    """Sizes of a Mamba-1 mixer in elements; `inner_norms` for the norms of dt, B and C that Jamba adds."""

    inner: int
    state: int
    dt_rank: int
    kernel: int
    conv_bias: bool = True
    bias: bool = False
    inner_norms: bool = False


def add_mamba1(layer: LayerBuilder, fields: Fields, hidden: int, size: Mamba1, prefix: str = "mamba") -> None:
    """Add a Mamba-1 mixer; state inner × state recurrent and inner × (kernel - 1) convolution elements."""
    layer.matrix(f"{prefix}.in_proj", 2 * size.inner, hidden, _STATE, bias=size.bias)
    layer.matrix(f"{prefix}.x_proj", size.dt_rank + 2 * size.state, size.inner, _STATE)
    layer.matrix(f"{prefix}.dt_proj", size.inner, size.dt_rank, _STATE, bias=True)
    layer.matrix(f"{prefix}.out_proj", hidden, size.inner, _STATE, bias=size.bias)
    layer.matrix(f"{prefix}.conv1d", size.inner, size.kernel, _STATE, bias=size.conv_bias, quantisable=False)
    layer.matrix(f"{prefix}.A_log", size.inner, size.state, _STATE, quantisable=False)
    layer.vector(_STATE, size.inner)
    if size.inner_norms:
        layer.vector(_STATE, size.dt_rank + 2 * size.state)
    layer.state = RecurrentState(
        kind=StateKind.MAMBA1,
        recurrent_elements=size.inner * size.state,
        conv_elements=size.inner * (size.kernel - 1),
        conv_kernel=size.kernel,
        state_bytes_per_element=state_bytes_per_element(fields),
        heads=size.inner,
        key_dim=size.state,
        value_dim=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2:
    """Sizes of a Mamba-2 mixer: heads × head_dim is its inner width; groups share B and C."""

    heads: int
    head_dim: int
    groups: int
    state: int
    kernel: int
    inner: int | None = None
    conv_bias: bool = True
    in_bias: bool = False
    out_bias: bool = False
    norm: bool = True


def add_mamba2(layer: LayerBuilder, fields: Fields, hidden: int, size: Mamba2, prefix: str = "mamba") -> None:
    """Add a Mamba-2 mixer; state heads × head_dim × state recurrent, (kernel - 1) × (inner + 2·groups·state) conv."""
    inner = size.inner or size.heads * size.head_dim
    conv = inner + 2 * size.groups * size.state
    layer.matrix(f"{prefix}.in_proj", inner + conv + size.heads, hidden, _STATE, bias=size.in_bias)
    layer.matrix(f"{prefix}.out_proj", hidden, inner, _STATE, bias=size.out_bias)
    layer.matrix(f"{prefix}.conv1d", conv, size.kernel, _STATE, bias=size.conv_bias, quantisable=False)
    layer.vector(_STATE, 3 * size.heads + (inner if size.norm else 0))
    layer.state = RecurrentState(
        kind=StateKind.MAMBA2,
        recurrent_elements=size.heads * size.head_dim * size.state,
        conv_elements=conv * (size.kernel - 1),
        conv_kernel=size.kernel,
        state_bytes_per_element=state_bytes_per_element(fields),
        heads=size.heads,
        key_dim=size.state,
        value_dim=size.head_dim,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaNet:
    """Sizes of a gated delta net: key and value heads and widths, convolution kernel."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    fused: bool = True


def add_delta_net(layer: LayerBuilder, fields: Fields, hidden: int, size: DeltaNet) -> None:
    """Add a gated delta net; state value_heads × key_dim × value_dim recurrent and (kernel - 1) × (2·keys + values)."""
    keys, values = size.key_heads * size.key_dim, size.value_heads * size.value_dim
    if size.fused:
        layer.matrix("linear_attn.in_proj_qkvz", 2 * keys + 2 * values, hidden, _STATE)
        layer.matrix("linear_attn.in_proj_ba", 2 * size.value_heads, hidden, _STATE)
    else:
        layer.matrix("linear_attn.in_proj_qkv", 2 * keys + values, hidden, _STATE)
        layer.matrix("linear_attn.in_proj_z", values, hidden, _STATE)
        layer.matrix("linear_attn.in_proj_b", size.value_heads, hidden, _STATE)
        layer.matrix("linear_attn.in_proj_a", size.value_heads, hidden, _STATE)
    layer.matrix("linear_attn.conv1d", 2 * keys + values, size.kernel, _STATE, quantisable=False)
    layer.matrix("linear_attn.out_proj", hidden, values, _STATE)
    layer.vector(_STATE, 2 * size.value_heads + size.value_dim)
    layer.state = RecurrentState(
        kind=StateKind.LINEAR_ATTENTION,
        recurrent_elements=size.value_heads * size.key_dim * size.value_dim,
        conv_elements=(2 * keys + values) * (size.kernel - 1),
        conv_kernel=size.kernel,
        state_bytes_per_element=state_bytes_per_element(fields),
        heads=size.value_heads,
        key_dim=size.key_dim,
        value_dim=size.value_dim,
    )


def add_kimi_delta(
    layer: LayerBuilder,
    hidden: int,
    *,
    heads: int,
    head_dim: int,
    kernel: int,
    full_rank_gate: bool = False,
    full_rank_decay: bool = False,
) -> None:
    """Add Kimi delta attention: decay by channel and an output gate, each of low or full rank.

    Its kernels keep the state in fp32 whatever the model's type (vLLM 0.33, layers/mamba/mamba_utils.py:133).
    """
    width = heads * head_dim
    for name in ("q_proj", "k_proj", "v_proj"):
        layer.matrix(f"self_attn.{name}", width, hidden, _STATE)
    layer.matrix("self_attn.conv1d", 3 * width, kernel, _STATE, quantisable=False)
    if full_rank_decay:
        layer.matrix("self_attn.f_proj", width, hidden, _STATE)
    else:
        layer.matrix("self_attn.f_a_proj", head_dim, hidden, _STATE, 1, Split.REPLICATED)
        layer.matrix("self_attn.f_b_proj", width, head_dim, _STATE)
    layer.matrix("self_attn.b_proj", heads, hidden, _STATE)
    if full_rank_gate:
        layer.matrix("self_attn.g_proj", width, hidden, _STATE)
    else:
        layer.matrix("self_attn.g_a_proj", head_dim, hidden, _STATE, 1, Split.REPLICATED)
        layer.matrix("self_attn.g_b_proj", width, head_dim, _STATE)
    layer.matrix("self_attn.o_proj", hidden, width, _STATE)
    layer.vector(_STATE, width + heads + head_dim)
    layer.state = RecurrentState(
        kind=StateKind.LINEAR_ATTENTION,
        recurrent_elements=heads * head_dim * head_dim,
        conv_elements=3 * width * (kernel - 1),
        conv_kernel=kernel,
        state_bytes_per_element=4,
        heads=heads,
        key_dim=head_dim,
        value_dim=head_dim,
    )


def add_lightning(layer: LayerBuilder, fields: Fields, hidden: int, heads: int, head_dim: int) -> None:
    """Add lightning attention (MiniMax): qkv, output gate and output, a norm; state heads × head_dim² recurrent."""
    width = heads * head_dim
    layer.matrix("self_attn.qkv_proj", 3 * width, hidden, _STATE)
    layer.matrix("self_attn.output_gate", width, hidden, _STATE)
    layer.matrix("self_attn.out_proj", hidden, width, _STATE)
    layer.norms += width
    layer.state = RecurrentState(
        kind=StateKind.LINEAR_ATTENTION,
        recurrent_elements=heads * head_dim * head_dim,
        conv_elements=0,
        state_bytes_per_element=state_bytes_per_element(fields),
        heads=heads,
        key_dim=head_dim,
        value_dim=head_dim,
    )


def add_short_convolution(layer: LayerBuilder, hidden: int, kernel: int, *, bias: bool) -> None:
    """Add a gated short convolution (LFM2); its state is hidden × (kernel - 1) elements of the model's type."""
    layer.matrix("conv.in_proj", 3 * hidden, hidden, _STATE, bias=bias)
    layer.matrix("conv.out_proj", hidden, hidden, _STATE, bias=bias)
    layer.matrix("conv.conv", hidden, kernel, _STATE, bias=bias, quantisable=False)
    layer.state = RecurrentState(
        kind=StateKind.SHORT_CONVOLUTION,
        recurrent_elements=0,
        conv_elements=hidden * (kernel - 1),
        conv_kernel=kernel,
        state_bytes_per_element=2,
    )
