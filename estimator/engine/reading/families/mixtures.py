"""Families of standard decoders with a mixture of experts: one rule each, and which layers are dense."""

from collections.abc import Mapping

from estimator.engine.reading.experts import MoeRule
from estimator.engine.reading.families.standard import StandardRule
from estimator.engine.reading.sparse_layers import (
    sparse_after_dense,
    sparse_after_first,
    sparse_by_range,
    sparse_by_step,
)

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
