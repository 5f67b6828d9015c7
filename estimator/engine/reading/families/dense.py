"""Families of standard dense decoders, one rule each.

Source: the reference model classes (transformers 5.24, 2026-11).
"""

from collections.abc import Mapping

from estimator.engine.reading.families.standard import StandardRule

_LLAMA = StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias")
_QWEN2 = StandardRule(qkv_bias=True, window="upper")
_GPT2 = StandardRule(
    qkv_bias=True, out_bias=True, mlp_bias=True, gated=False, norm_width=2, positions="n_positions", lm_head_bias=False
)
_PHI = StandardRule(
    qkv_bias=True,
    out_bias=True,
    mlp_bias=True,
    gated=False,
    norms=1,
    norm_width=2,
    qk_norm="head",
    qk_norm_if="qk_layernorm",
    qk_norm_width=2,
    lm_head_bias=True,
)
_APERTUS = StandardRule(
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    mlp_bias="mlp_bias",
    gated=False,
    qk_norm="head",
    activation_scalars=2,
)
_GEMMA2 = StandardRule(
    qkv_bias="attention_bias", out_bias="attention_bias", norms=4, window="interval", window_interval=2
)

DENSE_RULES: Mapping[str, StandardRule] = {
    "llama": _LLAMA,
    "aquila": _LLAMA,
    "xverse": _LLAMA,
    "yi": _LLAMA,
    "baichuan": StandardRule(),
    "granite": _LLAMA,
    "iquestcoder": _LLAMA,
    "cwm": StandardRule(mlp_bias="mlp_bias", window="leading", window_interval=4),
    "granite_swa": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        mlp_bias="mlp_bias",
        sinks=True,
        window="leading",
        window_interval=4,
    ),
    "hyperclovax": StandardRule(
        qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", post_norms_if="use_post_norm"
    ),
    "bitnet": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", sub_norms=True),
    "jais2": StandardRule(
        qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", gated=False, norm_width=2
    ),
    "smollm3": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", window="upper"),
    "arcee": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", gated=False),
    # its activation has two learned scalars a layer
    "apertus": _APERTUS,
    "apertus1p5_text": _APERTUS,
    "helium": StandardRule(qkv_bias="attention_bias", mlp_bias="mlp_bias"),
    "minicpm": StandardRule(
        qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", always_tied=True
    ),
    "internlm": StandardRule(qkv_bias="bias", out_bias="bias"),
    "internlm2": StandardRule(qkv_bias="bias", out_bias="bias"),
    "internlm3": StandardRule(qkv_bias="qkv_bias", out_bias="bias", mlp_bias="bias"),
    # LayerNorm with bias where llama has an RMS norm
    "orion": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", norm_width=2),
    "mistral": StandardRule(window="all"),
    "ministral": StandardRule(window="all"),
    "ministral3": StandardRule(window="all"),
    # the file's width counts the gate and the up half together
    "qwen": StandardRule(qkv_bias=True, mlp_width_divisor=2),
    "qwen2": _QWEN2,
    "mimo": _QWEN2,
    "qwen3": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", window="upper"),
    "seed_oss": StandardRule(qkv_bias="attention_bias", out_bias="attention_out_bias", mlp_bias="mlp_bias"),
    "hunyuan_v1_dense": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head"),
    "ernie4_5": StandardRule(qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias"),
    "chatglm": StandardRule(qkv_bias="add_qkv_bias", out_bias="add_bias_linear", mlp_bias="add_bias_linear"),
    "glm": StandardRule(qkv_bias="attention_bias"),
    "glm4": StandardRule(qkv_bias="attention_bias", norms=4),
    # biases of queries, keys and values whatever the file says
    "glm4v_text": StandardRule(qkv_bias=True, norms=4),
    "glm_ocr_text": StandardRule(norms=4),
    "biogpt": StandardRule(
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        gated=False,
        norm_width=2,
        positions="max_position_embeddings",
        position_offset=2,
    ),
    "xglm": StandardRule(qkv_bias=True, out_bias=True, mlp_bias=True, gated=False, norm_width=2),
    "persimmon": StandardRule(
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        gated=False,
        norm_width=2,
        qk_norm="head",
        qk_norm_if="qk_layernorm",
        qk_norm_width=2,
    ),
    # it normalises without parameters
    "nanochat": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", gated=False, norm_width=0),
    "cohere": StandardRule(
        qkv_bias="attention_bias", out_bias="attention_bias", norms=1, qk_norm="per_head", qk_norm_if="use_qk_norm"
    ),
    "cohere_compass_text": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", norms=1),
    "cohere2": StandardRule(
        qkv_bias="attention_bias", out_bias="attention_bias", norms=1, window="interval", window_interval=4
    ),
    # OLMo 1 normalises without parameters
    "olmo": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", norm_width=0),
    "olmo2": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="width"),
    "olmo3": StandardRule(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="width", window="interval", window_interval=4
    ),
    "exaone4": StandardRule(qk_norm="head", window="interval", window_interval=4),
    "exaone": _LLAMA,
    "starcoder2": StandardRule(
        qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias", gated=False, norm_width=2, window="all"
    ),
    "nemotron": StandardRule(
        qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", gated=False, norm_width=2
    ),
    "gemma": StandardRule(qkv_bias="attention_bias", out_bias="attention_bias"),
    "gemma2": _GEMMA2,
    "gemma3_text": StandardRule(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        norms=4,
        qk_norm="head",
        window="interval",
        window_interval=6,
    ),
    "vaultgemma": StandardRule(
        qkv_bias="attention_bias", out_bias="attention_bias", norms=2, window="interval", window_interval=2
    ),
    "phi3": StandardRule(window="all"),
    "phi": _PHI,
    "phi-msft": _PHI,
    "gpt2": _GPT2,
    "gpt-sw3": _GPT2,
    "gpt_bigcode": _GPT2,
    # transformers and vLLM cache the full length although half the layers look at a window only
    "gpt_neo": StandardRule(
        out_bias=True, mlp_bias=True, gated=False, norm_width=2, positions="max_position_embeddings"
    ),
    "gptj": StandardRule(mlp_bias=True, gated=False, norms=1, norm_width=2, lm_head_bias=True),
    "codegen": StandardRule(mlp_bias=True, gated=False, norms=1, norm_width=2, lm_head_bias=True),
    "gpt_neox": StandardRule(
        qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias=True, gated=False, norm_width=2
    ),
    "bloom": StandardRule(qkv_bias=True, out_bias=True, mlp_bias=True, gated=False, norm_width=2, embedding_norm=True),
    "mpt": StandardRule(gated=False),
}
