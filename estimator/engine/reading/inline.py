"""Architectures that are not read from a file: given by a few figures, or a known one with another cache."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from estimator.engine.errors import InvalidInputError
from estimator.engine.model.spec import (
    Architecture,
    Attention,
    AttentionKind,
    FeedForward,
    LayerGroup,
    LayerParameters,
)
from estimator.engine.reading.reader import read_config

_MAX_PARAMETERS = 10**15


def architecture_from_shape(
    *,
    layers: int,
    heads: int,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    hidden_size: int | None = None,
    parameters: int | None = None,
    active_parameters: int | None = None,
    intermediate_size: int | None = None,
    vocab_size: int | None = None,
    tied_embeddings: bool = False,
    experts: int = 0,
    experts_per_token: int = 0,
    expert_intermediate_size: int | None = None,
    window_tokens: int | None = None,
    latent_rank: int | None = None,
    latent_rope_dim: int = 64,
    max_context_tokens: int | None = None,
) -> Architecture:
    """An architecture from a few figures.

    With `parameters` the totals are taken as given (weights = parameters × bytes, nothing left unquantised); without
    them they are counted by the llama (or Mixtral) rule, which needs hidden, MLP and vocabulary sizes.

    Args:
        layers: number of layers.
        heads: query heads.
        kv_heads: KV heads; None means as many as query heads.
        head_dim: width of a head; None means hidden size over heads.
        hidden_size: model width; needed for counting.
        parameters: total parameters, when known.
        active_parameters: parameters a token uses; None means all, or by top-k where experts are counted.
        intermediate_size: MLP width, for counting.
        vocab_size: rows of the token table, for counting.
        tied_embeddings: whether head and table are one, for counting.
        experts: routed experts, 0 for dense.
        experts_per_token: experts a token uses.
        expert_intermediate_size: expert width; None means `intermediate_size`.
        window_tokens: sliding window of every layer.
        latent_rank: rank of a latent (MLA) cache with `latent_rope_dim` beside it.
        latent_rope_dim: rotary width of the latent cache.
        max_context_tokens: longest context.

    Raises:
        InvalidInputError: figures contradict each other.
    """
    if parameters is None:
        config = _config(
            layers, heads, kv_heads, head_dim, hidden_size, intermediate_size, vocab_size, tied_embeddings, experts,
            experts_per_token, expert_intermediate_size, max_context_tokens,
        )  # fmt: skip
        built = replace(read_config(config), family="inline", model_type="inline")
    else:
        attention = _attention(heads, heads if kv_heads is None else kv_heads, head_dim, hidden_size)
        _check_totals(parameters, active_parameters)
        mlp_width = intermediate_size or 0
        feed_forward = FeedForward(
            intermediate_size=mlp_width,
            experts=experts,
            experts_per_token=experts_per_token,
            expert_intermediate_size=expert_intermediate_size or (mlp_width if experts else 0),
        )
        built = replace(
            _with_totals(layers, attention, feed_forward, parameters, active_parameters),
            hidden_size=hidden_size or heads * attention.head_dim_qk,
            vocab_size=vocab_size or 0,
            max_context_tokens=max_context_tokens,
        )
    return override_cache(built, window_tokens=window_tokens, latent_rank=latent_rank, latent_rope_dim=latent_rope_dim)


def _attention(heads: int, kv_heads: int, head_dim: int | None, hidden_size: int | None) -> Attention:
    """Full attention of the heads given; their width is given or the hidden size over the heads."""
    width = head_dim or (hidden_size // heads if hidden_size and hidden_size % heads == 0 else None)
    if width is None:
        raise InvalidInputError("head_dim, or a hidden_size that the heads divide, is needed", field="model.head_dim")
    if kv_heads > heads or heads % kv_heads:
        raise InvalidInputError(f"kv_heads must divide the {heads} heads, not {kv_heads}", field="model.kv_heads")
    return Attention(kind=AttentionKind.FULL, query_heads=heads, kv_heads=kv_heads, head_dim_qk=width, head_dim_v=width)


def _with_totals(
    layers: int, attention: Attention, feed_forward: FeedForward, parameters: int, active_parameters: int | None
) -> Architecture:
    """Equal layers that share the total given; what the division leaves over belongs to no layer."""
    per_layer, rest = divmod(parameters, layers)
    layer_parameters = _layer_parameters(per_layer, parameters, active_parameters, feed_forward)
    return Architecture(
        family="inline",
        model_type="inline",
        layer_groups=(
            LayerGroup(layers=layers, attention=attention, feed_forward=feed_forward, parameters=layer_parameters),
        ),
        hidden_size=0,
        vocab_size=0,
        max_context_tokens=None,
        tied_embeddings=True,
        embedding_parameters=0,
        lm_head_parameters=0,
        final_norm_parameters=0,
        other_parameters=rest,
        active_parameters_override=active_parameters or (None if feed_forward.experts else parameters),
    )


def _layer_parameters(
    per_layer: int, parameters: int, active_parameters: int | None, feed_forward: FeedForward
) -> LayerParameters:
    """Split a layer's share of the total between routed experts and the rest: active = rest + routed · k/E."""
    experts, top_k = feed_forward.experts, feed_forward.experts_per_token
    if not experts or active_parameters is None or top_k >= experts:
        return LayerParameters(other=per_layer)
    routed = per_layer * (parameters - active_parameters) * experts // (parameters * (experts - top_k))
    routed = min(routed, per_layer)
    return LayerParameters(routed_experts=routed, other=per_layer - routed)


def _check_totals(parameters: int, active_parameters: int | None) -> None:
    """Refuse totals that contradict each other."""
    if not 0 < parameters <= _MAX_PARAMETERS:
        raise InvalidInputError("parameters must be between 1 and 1e15", field="model.parameters")
    if active_parameters is not None and not 0 < active_parameters <= parameters:
        raise InvalidInputError(
            "active_parameters must be between 1 and the parameters", field="model.active_parameters"
        )


def _config(
    layers: int, heads: int, kv_heads: int | None, head_dim: int | None, hidden_size: int | None,
    intermediate_size: int | None, vocab_size: int | None, tied: bool, experts: int, experts_per_token: int,
    expert_width: int | None, context: int | None,
) -> Mapping[str, Any]:  # fmt: skip
    """The figures as a llama or Mixtral config."""
    needed = {"hidden_size": hidden_size, "vocab_size": vocab_size, "intermediate_size": intermediate_size}
    if experts and expert_width:
        needed["intermediate_size"] = expert_width
    for name, value in needed.items():
        if value is None:
            raise InvalidInputError(f"{name} is needed where parameters are not given", field=f"model.{name}")
    config: dict[str, Any] = {
        "model_type": "mixtral" if experts else "llama",
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "tie_word_embeddings": tied,
        "max_position_embeddings": context,
        **needed,
    }
    if experts:
        config |= {"num_local_experts": experts, "num_experts_per_tok": experts_per_token}
    return config


def override_cache(
    architecture: Architecture,
    *,
    kv_heads: int | None = None,
    window_tokens: int | None = None,
    latent_rank: int | None = None,
    latent_rope_dim: int = 64,
) -> Architecture:
    """The same model with another cache: a what-if that leaves weights and parameters as they are.

    Args:
        architecture: the model.
        kv_heads: KV heads of every layer with grouped-query attention (query heads = MHA, 1 = MQA).
        window_tokens: a sliding window on every layer with full attention.
        latent_rank: an MLA cache of this rank and `latent_rope_dim` instead of K and V.
        latent_rope_dim: rotary width beside the latent.

    Raises:
        InvalidInputError: `kv_heads` does not divide the query heads.
    """
    latent = None if latent_rank is None else (latent_rank, latent_rope_dim)
    changed, notes = architecture, []
    for name, value, change in (
        ("kv_heads", kv_heads, _with_kv_heads),
        ("latent_rank", latent, _with_latent),
        ("window_tokens", window_tokens, _with_window),
    ):
        if value is None:
            continue
        found = _each_attention(changed, change, value)
        if found.layer_groups == changed.layer_groups:
            notes.append(f"override.{name} changes nothing: {_WHY_NOT[name]}")
        changed = found
    if changed.layer_groups != architecture.layer_groups:
        notes.append("cache changed as a what-if; weights and parameters are those of the original model")
    return replace(changed, warnings=(*architecture.warnings, *notes)) if notes else architecture


_WHY_NOT = {
    "kv_heads": "every layer has as many KV heads, or a cache that does not depend on them",
    "latent_rank": "every layer has that latent cache already, or no attention",
    "window_tokens": "no layer with full or windowed attention has another window",
}
_GROUPED = (AttentionKind.FULL, AttentionKind.WINDOW, AttentionKind.CHUNK)


def _each_attention(
    architecture: Architecture, change: Callable[[Attention, Any], Attention], value: object
) -> Architecture:
    groups = tuple(
        group if group.attention is None else replace(group, attention=change(group.attention, value))
        for group in architecture.layer_groups
    )
    return replace(architecture, layer_groups=groups)


def _with_kv_heads(attention: Attention, kv_heads: int) -> Attention:
    """Other KV heads where attention is grouped; a latent cache does not depend on them."""
    if attention.kind not in _GROUPED or not attention.kv_heads:
        return attention
    if attention.query_heads % kv_heads:
        raise InvalidInputError(
            f"kv_heads must divide the {attention.query_heads} query heads, not {kv_heads}",
            field="model.override.kv_heads",
        )
    return replace(attention, kv_heads=kv_heads)


def _with_latent(attention: Attention, latent: tuple[int, int]) -> Attention:
    """A latent cache in place of keys and values."""
    rank, rope_dim = latent
    return replace(
        attention,
        kind=AttentionKind.LATENT,
        latent_rank=rank,
        latent_rope_dim=rope_dim,
        window_tokens=None,
    )


def _with_window(attention: Attention, window_tokens: int) -> Attention:
    """A window where attention is full or has one."""
    if attention.kind not in (AttentionKind.FULL, AttentionKind.WINDOW):
        return attention
    return replace(attention, kind=AttentionKind.WINDOW, window_tokens=window_tokens)
