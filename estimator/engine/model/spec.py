"""What a model is to the estimator: groups of equal layers with exact parameter counts and cache rules."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class AttentionKind(StrEnum):
    """How a layer's attention reads and stores its past."""

    FULL = "full"
    WINDOW = "window"
    CHUNK = "chunk"
    LATENT = "latent"
    SPARSE_LATENT = "sparse_latent"
    COMPRESSED = "compressed"


class StateKind(StrEnum):
    """The kind of per-sequence state of a layer without a growing cache."""

    MAMBA1 = "mamba1"
    MAMBA2 = "mamba2"
    LINEAR_ATTENTION = "linear_attention"
    SHORT_CONVOLUTION = "short_convolution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Attention of one layer; widths in elements, windows in tokens.

    `query_heads`, `kv_heads`, `head_dim_qk`, `head_dim_v` describe GQA, MHA and MQA. Latent attention (MLA) caches
    `latent_rank + latent_rope_dim` elements a token, whatever the heads, on every tensor-parallel rank.
    `stores_kv` is False for a layer that reads another layer's cache. `index_ratio` tokens share one key of the index.
    With `stores_entries` False a layer with compressed entries reads those of another.
    """

    kind: AttentionKind
    query_heads: int
    kv_heads: int
    head_dim_qk: int
    head_dim_v: int
    window_tokens: int | None = None
    output_gate: bool = False
    stores_kv: bool = True
    latent_rank: int = 0
    latent_rope_dim: int = 0
    latent_nope_dim: int = 0
    query_latent_rank: int = 0
    index_heads: int = 0
    index_head_dim: int = 0
    index_top_k: int = 0
    stores_index: bool = True
    compress_ratio: int = 0
    index_ratio: int = 1
    stores_entries: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentState:
    """State of one layer and sequence: `recurrent_elements` in the state's own dtype, `conv_elements` in the model's.

    `state_bytes_per_element` is the stated dtype of the recurrent part (4 when the config asks for fp32, else 2).
    `heads`, `key_dim`, `value_dim` size the work of linear attention and Mamba-2. `conv_elements` are those of
    `conv_kernel` - 1 rows (0: no convolution). `side_elements` are those of another convolution of the layer, which
    engines keep as a state of its own.
    """

    kind: StateKind
    recurrent_elements: int
    conv_elements: int
    state_bytes_per_element: int
    conv_kernel: int = 0
    heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    side_elements: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForward:
    """Feed-forward part of one layer: dense (`experts` 0) or a mixture of experts; widths in elements."""

    intermediate_size: int = 0
    matrices: int = 3
    experts: int = 0
    experts_per_token: int = 0
    expert_intermediate_size: int = 0
    shared_intermediate_size: int = 0


class Component(StrEnum):
    """The parts that parameters are counted by; the values are the field names of `LayerParameters`."""

    ATTENTION = "attention"
    STATE = "state"
    MLP = "mlp"
    ROUTED_EXPERTS = "routed_experts"
    SHARED_EXPERTS = "shared_experts"
    ROUTER = "router"
    OTHER = "other"


class Split(StrEnum):
    """How a weight matrix is spread over tensor-parallel ranks."""

    TENSOR = "tensor"
    KV_HEADS = "kv_heads"
    EXPERTS = "experts"
    REPLICATED = "replicated"


class Matrix(NamedTuple):
    """One kind of weight matrix of a layer: `copies` matrices of `rows` (outputs) by `columns` (inputs) elements.

    `name` is the module path below the layer as checkpoints write it, so that ignore lists of quantised checkpoints
    can be matched; experts are written `mlp.experts.*.gate_proj`. `quantisable` is False where the serving engines
    never quantise (routers, convolutions).
    """

    name: str
    rows: int
    columns: int
    component: Component
    copies: int = 1
    split: Split = Split.TENSOR
    quantisable: bool = True


class Stored(NamedTuple):
    """`layers` layers of a group hold a matrix in `weight_format` (a name of the quantisation table, or `native`)."""

    weight_format: str
    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantisation:
    """How the checkpoint of a config is stored.

    `matrices[g][m]` lists the formats of matrix `m` of layer group `g` with the number of layers stored so;
    `method` is the config's own word, `weight_format` the main format, `kv_cache_format` what it asks for the cache.
    `basis` tells where it is from: `config`, `file` (the quantiser's own file) or `name` (the model's name alone).
    """

    method: str
    weight_format: str
    matrices: tuple[tuple[tuple[Stored, ...], ...], ...]
    lm_head_format: str = "native"
    embedding_format: str = "native"
    basis: str = "config"
    kv_cache_format: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerParameters:
    """Exact parameter counts of one layer by component."""

    attention: int = 0
    state: int = 0
    mlp: int = 0
    routed_experts: int = 0
    shared_experts: int = 0
    router: int = 0
    norms: int = 0
    other: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGroup:
    """`layers` equal layers. A group may have attention, state, both or neither, and a feed-forward part or none.

    `parameter_copies` counts how often the parameters exist where layers share them (Zamba2); None means `layers`.
    `attention_blocks` is the number of attention blocks inside one layer (2 in LongCat-Flash, else 1).
    `matrices` are the weight matrices behind `parameters`; what they do not cover are biases, norms and scalars.
    An architecture given by its totals alone has none.
    """

    layers: int
    attention: Attention | None = None
    state: RecurrentState | None = None
    feed_forward: FeedForward | None = None
    parameters: LayerParameters
    parameter_copies: int | None = None
    attention_blocks: int = 1
    matrices: tuple[Matrix, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """One language model, as read from its config.json or given inline; all counts exact integers.

    `layer_order` names the group of each layer, first layer first (empty: the groups in sequence).
    `embedding_parameters` is the token table; `lookup_parameters` are tables read by row and never multiplied
    (positions, per-layer embeddings of Gemma 3n); `split_lookup_parameters` are those of them whose rows engines spread
    over tensor-parallel ranks (tables of n-grams), `lookup_columns` the width of such a row where it is known.
    `active_parameters_override` is set only where the model was given by its totals. `native_dtype` is the type of the
    stored weights that no quantisation covers: bf16, fp16 or fp32.
    """

    family: str
    layer_groups: tuple[LayerGroup, ...]
    hidden_size: int
    vocab_size: int
    max_context_tokens: int | None
    tied_embeddings: bool
    embedding_parameters: int
    lm_head_parameters: int
    final_norm_parameters: int
    other_parameters: int = 0
    vision_audio_parameters: int = 0
    mtp_layers: int = 0
    mtp_parameters: int = 0
    warnings: tuple[str, ...] = ()
    model_type: str = ""
    layer_order: tuple[int, ...] = ()
    lookup_parameters: int = 0
    split_lookup_parameters: int = 0
    lookup_columns: int = 0
    active_parameters_override: int | None = None
    native_dtype: str = "bf16"
    quantization: Quantisation | None = None

    @property
    def layers(self) -> int:
        """Layers of all groups, count."""
        return sum(group.layers for group in self.layer_groups)
