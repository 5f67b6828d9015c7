"""Families of standard decoders with a mixture of experts: one rule each, and which layers are dense."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from estimator.engine.model.spec import Architecture
from estimator.engine.reading.families.standard import MoeRule, StandardRule, read_standard
from estimator.engine.reading.fields import MAX_LAYERS, Fields
from estimator.engine.reading.shape import check_flags


def sparse_after_first(fields: Fields, layers: int) -> Sequence[bool]:
    """DeepSeek's rule: `mlp_layer_types`, a 0/1 list, or dense before `first_k_dense_replace`, then every n-th."""
    types = fields.sequence("mlp_layer_types", at_least=layers)
    if types is not None:
        if not set(map(str, types)) <= {"dense", "sparse"}:
            raise fields.error("mlp_layer_types", "may hold only dense and sparse")
        return [entry == "sparse" for entry in types]
    frequency = fields.raw("moe_layer_freq")
    if isinstance(frequency, list | tuple):
        listed = fields.sequence("moe_layer_freq", at_least=layers) or ()
        return check_flags(fields, "moe_layer_freq", listed)
    first = fields.whole("first_k_dense_replace", low=0, high=MAX_LAYERS, default=0)
    step = fields.whole("moe_layer_freq", high=MAX_LAYERS, default=1)
    return [layer >= first and layer % step == 0 for layer in range(layers)]


def sparse_by_step(fields: Fields, layers: int) -> Sequence[bool]:
    """Qwen's rule: every `decoder_sparse_step`-th layer, except those in `mlp_only_layers`."""
    step = fields.whole("decoder_sparse_step", low=1, high=MAX_LAYERS, default=1)
    dense = fields.sequence("mlp_only_layers") or ()
    only = {fields.check_whole("mlp_only_layers", entry, 0, MAX_LAYERS) for entry in dense}
    return [layer not in only and (layer + 1) % step == 0 for layer in range(layers)]


def sparse_by_range(fields: Fields, layers: int) -> Sequence[bool]:
    """ERNIE's rule: from `moe_layer_start_index` to `moe_layer_end_index`, every `moe_layer_interval`-th."""
    start = fields.whole("moe_layer_start_index", low=0, high=MAX_LAYERS, default=0)
    end = fields.whole("moe_layer_end_index", low=-1, high=MAX_LAYERS, default=-1)
    last = layers - 1 if end == -1 else end
    interval = fields.whole("moe_layer_interval", high=MAX_LAYERS, default=1)
    return [start <= layer <= last and (layer + 1) % interval == 0 for layer in range(layers)]


def sparse_after_dense(fields: Fields, layers: int) -> Sequence[bool]:
    """AFMoE's rule: dense before `num_dense_layers`."""
    dense = fields.whole("num_dense_layers", low=0, high=MAX_LAYERS, default=0)
    return [layer >= dense for layer in range(layers)]


_GLM4_MOE = StandardRule(
    qkv_bias="attention_bias",
    qk_norm="head",
    qk_norm_if="use_qk_norm",
    moe=MoeRule(shared="experts", sparse_layers=sparse_after_first),
)

# Ling and Ring: head norms since version 2
_BAILING = StandardRule(
    qkv_bias="use_qkv_bias",
    out_bias="use_bias",
    mlp_bias="use_bias",
    qk_norm="head",
    qk_norm_if="use_qk_norm",
    moe=MoeRule(shared="experts", shared_key="num_shared_experts", sparse_layers=sparse_after_first),
)

MIXTURE_RULES: Mapping[str, StandardRule] = {
    "mixtral": StandardRule(window="all", moe=MoeRule(width=("intermediate_size",), prefix="block_sparse_moe")),
    "qwen2_moe": StandardRule(
        qkv_bias="qkv_bias",
        window="alternate",
        moe=MoeRule(
            shared="width",
            shared_key="shared_expert_intermediate_size",
            shared_gate=True,
            sparse_layers=sparse_by_step,
        ),
    ),
    "qwen3_moe": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        qk_norm="head",
        window="switched",
        moe=MoeRule(sparse_layers=sparse_by_step),
    ),
    "olmoe": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        qk_norm="width",
        moe=MoeRule(width=("intermediate_size",)),
    ),
    "flex_olmo": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        qk_norm="width",
        moe=MoeRule(width=("intermediate_size",)),
    ),
    "phimoe": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        norm_width=2,
        window="all",
        lm_head_bias="lm_head_bias",
        moe=MoeRule(width=("intermediate_size",), prefix="block_sparse_moe"),
    ),
    "granitemoe": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        moe=MoeRule(width=("intermediate_size",), prefix="block_sparse_moe"),
    ),
    "granitemoe_swa": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        sinks=True,
        window="leading",
        window_interval=4,
        moe=MoeRule(
            width=("intermediate_size",),
            shared="width",
            shared_key="shared_intermediate_size",
            prefix="block_sparse_moe",
        ),
    ),
    "aria_text": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        moe=MoeRule(
            width=("intermediate_size",),
            shared="experts",
            shared_key="moe_num_shared_experts",
            shared_bias="mlp_bias",
            router="router",
        ),
    ),
    "bailing_moe": _BAILING,
    "bailing_moe_v2": _BAILING,
    "granitemoeshared": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        moe=MoeRule(
            width=("intermediate_size",),
            shared="width",
            shared_key="shared_intermediate_size",
            prefix="block_sparse_moe",
        ),
    ),
    "ernie4_5_moe": StandardRule(
        qkv_bias="use_bias",
        out_bias="use_bias",
        mlp_bias="use_bias",
        lm_head_bias="use_bias",
        # the correction of the router is a parameter here, a buffer elsewhere
        moe=MoeRule(
            shared="experts",
            shared_key="moe_num_shared_experts",
            shared_bias="use_bias",
            router_bias=True,
            sparse_layers=sparse_by_range,
        ),
    ),
    "deepseek": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        moe=MoeRule(shared="experts", sparse_layers=sparse_after_first),
    ),
    "dots1": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        qk_norm="head",
        window="from",
        moe=MoeRule(shared="experts", sparse_layers=sparse_after_first),
    ),
    "glm4_moe": _GLM4_MOE,
    "solar_open": _GLM4_MOE,
    "sarvam_moe": _GLM4_MOE,
    "exaone_moe": StandardRule(
        qk_norm="head",
        window="interval",
        window_interval=4,
        moe=MoeRule(shared="experts", shared_key="num_shared_experts", sparse_layers=sparse_after_first),
    ),
    "hy_v3": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        mlp_bias="mlp_bias",
        qk_norm="head",
        moe=MoeRule(
            shared="experts",
            shared_key="num_shared_experts",
            shared_bias="mlp_bias",
            sparse_layers=sparse_after_first,
        ),
    ),
    "mellum": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        qk_norm="head",
        moe=MoeRule(sparse_layers=sparse_after_first),
    ),
    "afmoe": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        qk_norm="head",
        norms=4,
        output_gate=True,
        window="interval",
        window_interval=4,
        # the correction of the router is a parameter here too
        moe=MoeRule(
            shared="experts", shared_key="num_shared_experts", router_bias=True, sparse_layers=sparse_after_dense
        ),
    ),
    "minimax_m2": StandardRule(
        qk_norm="width",
        moe=MoeRule(width=("intermediate_size",), shared="width", shared_key="shared_intermediate_size"),
    ),
    "gpt_oss": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        sinks=True,
        window="interval",
        window_interval=2,
        moe=MoeRule(width=("intermediate_size",), router_bias=True, expert_bias=True, router="router"),
    ),
    "grok-1": StandardRule(norms=4, moe=MoeRule(width=("intermediate_size",), prefix="moe_block")),
}


def mixture_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each standard model type with experts."""
    return {model_type: partial(_read, rule=rule, family=model_type) for model_type, rule in MIXTURE_RULES.items()}


def _read(fields: Fields, *, rule: StandardRule, family: str) -> Architecture:
    return read_standard(fields, rule, family=family)
