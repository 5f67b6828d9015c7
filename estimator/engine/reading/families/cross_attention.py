"""Text parts with cross-attention to pictures on some layers: Llama 3.2 Vision."""

from collections.abc import Callable
from dataclasses import replace

from estimator.engine.model.spec import Architecture, Component, LayerGroup
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_dense, collect
from estimator.engine.reading.families.linear_hybrids import full_attention
from estimator.engine.reading.families.standard import StandardRule, finish
from estimator.engine.reading.fields import MAX_LAYERS, Fields
from estimator.engine.reading.shape import read_mlp_width, read_shape

EXTRA_ROWS = 8
"""Rows of the token table beyond the vocabulary: the picture token and seven spare ones."""


def read_mllama(fields: Fields) -> Architecture:
    """Llama 3.2 Vision: layers listed in `cross_attention_layers` read pictures through gates, not a text cache."""
    shape = read_shape(fields)
    listed = fields.sequence("cross_attention_layers")
    indices = {fields.check_whole("cross_attention_layers", entry, 0, MAX_LAYERS) for entry in listed or _EVERY_FIFTH}
    crossing = [layer in indices for layer in range(shape.layers)]

    def group(is_crossing: bool) -> LayerGroup:
        layer = LayerBuilder()
        attention = replace(full_attention(shape), stores_kv=not is_crossing)
        add_attention(layer, attention, shape.hidden, prefix="cross_attn" if is_crossing else "self_attn")
        add_dense(layer, shape.hidden, read_mlp_width(fields, shape.hidden))
        layer.norms += 2 * shape.hidden
        if is_crossing:
            layer.norms += 2 * shape.head_dim
            layer.vector(Component.OTHER, 2)
        return layer.group(1)

    layer_groups, order = collect(crossing, [group(flag) for flag in dict.fromkeys(crossing)])
    architecture = finish(fields, StandardRule(), shape, layer_groups, order, family="mllama")
    warnings: tuple[str, ...] = ()
    if any(crossing):
        warnings = (f"the cache of pictures in {sum(crossing)} cross-attention layers is not counted",)
    return replace(
        architecture,
        embedding_parameters=architecture.embedding_parameters + EXTRA_ROWS * shape.hidden,
        warnings=(*architecture.warnings, *warnings),
    )


_EVERY_FIFTH = (3, 8, 13, 18, 23, 28, 33, 38)


def cross_attention_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each of these model types."""
    return {"mllama_text_model": read_mllama}
