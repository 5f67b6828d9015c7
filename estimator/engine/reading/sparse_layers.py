"""Which layers of a model have experts, by the rules that families write."""

from collections.abc import Sequence
from functools import partial

from estimator.engine.reading.experts import Sparse
from estimator.engine.reading.fields import MAX_LAYERS, Fields
from estimator.engine.reading.shape import check_flags


def sparse_after_first(fields: Fields, layers: int, *, dense: int = 0) -> Sequence[bool]:
    """DeepSeek's rule: `mlp_layer_types`, a 0/1 list, or dense before `first_k_dense_replace`, then every n-th.

    Args:
        fields: the config.
        layers: number of layers.
        dense: dense layers in front where no key says it.
    """
    types = fields.sequence("mlp_layer_types", at_least=layers)
    if types is not None:
        if not set(map(str, types)) <= {"dense", "sparse", "moe"}:
            raise fields.error("mlp_layer_types", "may hold only dense and sparse")
        return [entry != "dense" for entry in types]
    first = fields.whole("first_k_dense_replace", "dense_mlp_idx", low=0, high=MAX_LAYERS, default=dense)
    frequency = fields.raw("moe_layer_freq")
    if isinstance(frequency, list | tuple):
        listed = fields.sequence("moe_layer_freq", at_least=layers) or ()
        return check_flags(fields, "moe_layer_freq", listed)
    step = fields.whole("moe_layer_freq", high=MAX_LAYERS, default=1)
    return [layer >= first and layer % step == 0 for layer in range(layers)]


def after(dense: int) -> Sparse:
    """DeepSeek's rule with so many dense layers in front where no key says it."""
    return partial(sparse_after_first, dense=dense)


def sparse_by_step(fields: Fields, layers: int, *, dense: tuple[int, ...] = ()) -> Sequence[bool]:
    """Qwen's rule: every `decoder_sparse_step`-th layer, except those in `mlp_only_layers` (else those in `dense`)."""
    step = fields.whole("decoder_sparse_step", low=1, high=MAX_LAYERS, default=1)
    listed = fields.sequence("mlp_only_layers")
    only = {fields.check_whole("mlp_only_layers", entry, 0, MAX_LAYERS) for entry in dense if listed is None}
    only |= {fields.check_whole("mlp_only_layers", entry, 0, MAX_LAYERS) for entry in listed or ()}
    return [layer not in only and (layer + 1) % step == 0 for layer in range(layers)]


def sparse_by_range(fields: Fields, layers: int) -> Sequence[bool]:
    """ERNIE's rule: from `moe_layer_start_index` to `moe_layer_end_index`, every `moe_layer_interval`-th."""
    start = fields.whole("moe_layer_start_index", low=0, high=MAX_LAYERS, default=0)
    end = fields.whole("moe_layer_end_index", low=-1, high=MAX_LAYERS, default=-1)
    last = layers - 1 if end == -1 else end
    interval = fields.whole("moe_layer_interval", high=MAX_LAYERS, default=1)
    return [start <= layer <= last and (layer + 1) % interval == 0 for layer in range(layers)]


def sparse_after_dense(fields: Fields, layers: int, *, dense: int = 0) -> Sequence[bool]:
    """AFMoE's rule: dense before `num_dense_layers`."""
    first = fields.whole("num_dense_layers", low=0, high=MAX_LAYERS, default=dense)
    return [layer >= first for layer in range(layers)]


def sparse_by_period(fields: Fields, layers: int) -> Sequence[bool]:
    """Jamba's rule: several experts on every `expert_layer_period`-th layer, from `expert_layer_offset` on."""
    period = fields.whole("expert_layer_period", high=MAX_LAYERS)
    offset = fields.whole("expert_layer_offset", low=0, high=MAX_LAYERS)
    several = fields.whole("num_experts", high=1_048_576) > 1
    return [several and layer % period == offset for layer in range(layers)]


def sparse_by_frequency(fields: Fields, layers: int) -> Sequence[bool]:
    """Arctic's rule: every `moe_layer_frequency`-th layer."""
    step = fields.whole("moe_layer_frequency", high=MAX_LAYERS, default=1)
    return [(layer + 1) % step == 0 for layer in range(layers)]


def sparse_listed(fields: Fields, layers: int) -> Sequence[bool]:
    """Llama 4's rule: the layers in `moe_layers`, else every `interleave_moe_layer_step`-th."""
    listed = fields.sequence("moe_layers")
    if listed is not None:
        indices = {fields.check_whole("moe_layers", entry, 0, MAX_LAYERS) for entry in listed}
        return [layer in indices for layer in range(layers)]
    step = fields.whole("interleave_moe_layer_step", low=0, high=MAX_LAYERS, default=1)
    return [bool(step) and (layer + 1) % step == 0 for layer in range(layers)]


def sparse_enumerated(fields: Fields, layers: int) -> Sequence[bool]:
    """Step's rule: `moe_layers_enum` in text or list, else DeepSeek's keys, else all but the first three."""
    listed = fields.raw("moe_layers_enum")
    if listed is None:
        if fields.raw("mlp_layer_types", "first_k_dense_replace", "moe_layer_freq") is not None:
            return sparse_after_first(fields, layers)
        return [layer >= 3 for layer in range(layers)]
    entries = listed.split(",") if isinstance(listed, str) and len(listed) < 20_000 else listed
    if not isinstance(entries, list | tuple) or len(entries) > MAX_LAYERS:
        raise fields.error("moe_layers_enum", "must be a list of layer numbers")
    try:
        indices = {int(entry) for entry in entries if str(entry).strip()}
    except (TypeError, ValueError):
        raise fields.error("moe_layers_enum", "must be a list of layer numbers") from None
    return [layer in indices for layer in range(layers)]
