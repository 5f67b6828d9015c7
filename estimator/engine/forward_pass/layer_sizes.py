"""Sizes of layers before they are split: projections of attention, dense feed-forward, cached token, state."""

from estimator.engine.forward_pass.flops import attention_flops_per_token
from estimator.engine.model.spec import Attention, LayerGroup


def dense_weights(group: LayerGroup, hidden: int) -> float:
    """Weights of the dense feed-forward of one layer; of a model known by its totals, all that attention leaves.

    Unit: elements. Equation: docs/model.md, eq. (16). Source: definition.

    >>> from estimator.engine.forward_pass import worked_key
    >>> dense_weights(worked_key.model().layer_groups[0], 4096)
    176160768.0
    """
    parameters = group.parameters
    if parameters.other and not group.matrices and not parameters.attention and group.attention is not None:
        return max(parameters.mlp + parameters.other - attention_weights(group.attention, hidden), 0.0)
    return float(parameters.mlp)


def attention_weights(attention: Attention, hidden: int) -> float:
    """Elements of the projections of one layer, biases and norms left out.

    Unit: elements. Equation: docs/model.md, eq. (16). Source: reference model classes (transformers 5.24).

    >>> from estimator.engine.model.spec import AttentionKind
    >>> grouped = Attention(kind=AttentionKind.FULL, query_heads=32, kv_heads=8, head_dim_qk=128, head_dim_v=128)
    >>> attention_weights(grouped, 4096)
    41943040
    """
    heads, key, value = attention.query_heads, attention.head_dim_qk, attention.head_dim_v
    if attention.latent_rank:
        key = attention.latent_nope_dim + attention.latent_rope_dim
        query_side = attention.query_latent_rank or hidden
        split = query_side * heads * key + attention.latent_rank * heads * (attention.latent_nope_dim + value)
        return split + heads * value * hidden + replicated_weights(attention, hidden)
    gate = heads * key if attention.output_gate else 0
    return hidden * (heads * (key + value) + gate + attention.kv_heads * (key + value))


def replicated_weights(attention: Attention, hidden: int) -> float:
    """Elements that every tensor-parallel rank holds whole: the down projections of MLA and the sparse indexer.

    Unit: elements. Equation: docs/model.md, eq. (16). Source: reference model classes (transformers 5.24).

    >>> from estimator.engine.model.spec import AttentionKind
    >>> sizes = {"query_heads": 128, "kv_heads": 128, "head_dim_qk": 192, "head_dim_v": 128}
    >>> latent = {"latent_rank": 512, "latent_rope_dim": 64, "latent_nope_dim": 128, "query_latent_rank": 1536}
    >>> replicated_weights(Attention(kind=AttentionKind.LATENT, **sizes, **latent), 7168)
    15138816.0
    """
    down = hidden * (attention.query_latent_rank + attention.latent_rank + attention.latent_rope_dim)
    index = attention.index_heads * attention.index_head_dim
    if not index:
        return float(down)
    query_side = attention.query_latent_rank or hidden
    return float(down + query_side * index + hidden * attention.index_head_dim + hidden * attention.index_heads)


def attention_widths(attention: Attention, tp: int) -> tuple[float, float, float, float]:
    """Cache elements per token, share of them on a rank, prefill width, and decode FLOPs per cached token.

    Units: elements, a share, elements, FLOPs. Equation: docs/model.md, eq. (20) and eq. (22). Source: definition.

    >>> from estimator.engine.model.spec import AttentionKind
    >>> grouped = Attention(kind=AttentionKind.FULL, query_heads=32, kv_heads=8, head_dim_qk=128, head_dim_v=128)
    >>> attention_widths(grouped, 2)
    (2048, 0.5, 4096.0, 16384.0)
    """
    width = attention_flops_per_token(attention, absorbed=False) / 4.0
    flops = attention_flops_per_token(attention)
    if attention.latent_rank:
        return attention.latent_rank + attention.latent_rope_dim, 1.0, width, flops
    elements = attention.kv_heads * (attention.head_dim_qk + attention.head_dim_v)
    return elements, max(1.0 / tp, 1.0 / max(attention.kv_heads, 1)), width, flops


def state_bytes(group: LayerGroup) -> float:
    """Recurrent state of one sequence in all layers of a group, bytes.

    Equation: docs/model.md, eq. (20). Source: definition.

    >>> from estimator.engine.forward_pass import worked_key
    >>> state_bytes(worked_key.model().layer_groups[0])  # a model of attention alone has none
    0.0
    """
    if group.state is None:
        return 0.0
    return float(group.layers * group.state.recurrent_elements * group.state.state_bytes_per_element)
