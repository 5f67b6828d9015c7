"""Decoders whose layers a token passes through several times: HRM Text, Dory.

Source: the reference model classes (transformers 5.24, 2026-11).
"""

from collections.abc import Mapping
from dataclasses import replace

from estimator.engine.model.spec import Architecture, Attention, Component
from estimator.engine.reading.blocks import LayerBuilder
from estimator.engine.reading.decoder import Decoder, Loop, Tables
from estimator.engine.reading.fields import MAX_LAYERS, Fields
from estimator.engine.reading.kinds import every, interval, listed
from estimator.engine.reading.mixers import Grouped, both
from estimator.engine.reading.shape import LAYERS

_CYCLES = 1024


def _stack(fields: Fields) -> int:
    """Layers of one of the two stacks; a saved file states all passes beside them."""
    return fields.whole("num_layers_per_stack", *LAYERS, high=MAX_LAYERS // 2)


def _hrm_initial(fields: Fields, architecture: Architecture) -> Architecture:
    """Each high cycle passes through the low stack `L_cycles` times and through the high one once.

    Both stacks exist once; the state that the low one starts with is stored too.
    """
    high, low = fields.whole("H_cycles", high=_CYCLES), fields.whole("L_cycles", high=_CYCLES)
    group, stack = architecture.layer_groups[0], _stack(fields)
    passes = stack * high * (low + 1)
    return replace(
        architecture,
        layer_groups=(replace(group, layers=passes, parameter_copies=2 * stack),),
        layer_order=(0,) * passes,
        other_parameters=architecture.hidden_size,
    )


def _halved(fields: Fields) -> Fields:
    """Dory: a saved file counts attention and feed-forward part as two layers each."""
    types = fields.raw("layer_types")
    if not isinstance(types, list | tuple) or "mlp" not in types:
        return fields
    names = ("num_hidden_layers", "n_input_layers", "n_recurrent_layers", "n_output_layers")
    counts = {name: fields.optional_whole(name, low=0, high=2 * MAX_LAYERS) for name in names if name in fields.config}
    return fields.over(
        {"layer_types": types[::2], **{name: count // 2 for name, count in counts.items() if count is not None}}
    )


def _dory_uses(fields: Fields, layers: int) -> list[int]:
    first = fields.whole("n_input_layers", low=0, high=MAX_LAYERS)
    last = fields.whole("n_output_layers", low=0, high=MAX_LAYERS)
    inner = fields.whole("n_recurrent_layers", low=0, high=MAX_LAYERS, default=max(layers - first - last, 0))
    if first + inner + last != layers:
        raise fields.error("n_recurrent_layers", f"must make {layers} layers with input and output layers, not {inner}")
    loops = fields.whole("n_recurrent_loops", high=_CYCLES)
    return [loops if first <= layer < first + inner else 1 for layer in range(layers)]


def _last_loop(fields: Fields) -> bool:
    return fields.text("recurrent_kv_cache_mode") == "last_loop"


def _scales(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """Learned scales of queries and keys, and of the gate."""
    layer.vector(Component.ATTENTION, 2 * attention.query_heads * attention.head_dim_qk)


def _step_sizes(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Learned step sizes of both blocks, and scales of the MLP's gate and values."""
    width = 0 if layer.feed_forward is None else layer.feed_forward.intermediate_size
    layer.vector(Component.OTHER, 2 * hidden + 2 * width)


def _logit_scale(fields: Fields, architecture: Architecture) -> Architecture:
    return replace(architecture, lm_head_parameters=architecture.lm_head_parameters + architecture.vocab_size)


_GATED = Grouped(qkv_bias="attention_bias", out_bias="attention_bias", gate="width")

LOOPED: Mapping[str, Decoder] = {
    "hrm_text": Decoder(
        kinds=every("full"),
        mixers={"full": _GATED},
        layers=_stack,
        mlp_bias="mlp_bias",
        norms=0,
        tables=Tables(final_norm=False),
        around=_hrm_initial,
    ),
    "dory": Decoder(
        kinds=listed(interval(default=4, others="window")),
        mixers=both(replace(_GATED, also=(_scales,))),
        mlp_bias="mlp_bias",
        norms=0,
        parts=(_step_sizes,),
        loop=Loop(uses=_dory_uses, one_cache=_last_loop),
        tables=Tables(final_norm=False),
        prepare=_halved,
        around=_logit_scale,
    ),
}
