"""Where the language model of a multimodal config is, and what its text part is called."""

from collections.abc import Mapping

# Outer model_type -> model_type of the text part, for files that leave it out or nest it.
# Source: sub_configs of the reference classes (transformers 5.24, 2026-11) and the files themselves.
TEXT_PART: Mapping[str, str] = {
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "llama4": "llama4_text",
    "mistral3": "mistral",
    "llava": "llama",
    "llava_next": "llama",
    "llava_onevision": "qwen2",
    "pixtral": "mistral",
    "paligemma": "gemma",
    "idefics3": "llama",
    "smolvlm": "llama",
    "internvl": "qwen2",
    "internvl_chat": "qwen2",
    "aya_vision": "cohere2",
    "cohere2_vision": "cohere2",
    "qwen2_vl": "qwen2_vl_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "glm4v": "glm4v_text",
    "glm46v": "glm4v_text",
    "exaone4_5": "exaone4",
    "lfm2_vl": "lfm2",
    "glm4v_moe": "glm4v_moe_text",
    "kimi_k25": "kimi_k2",
    "kimi_vl": "deepseek_v3",
    "kimi_k3": "kimi_linear",
    "minimax_m3_vl": "minimax_m3_vl_text",
    "step3p7": "step3p5",
}

# A text part that is read as another family: same blocks under another name.
SAME_AS: Mapping[str, str] = {
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
    "glm4v_text": "glm4",
    "glm4v_moe_text": "glm4_moe",
    "code_llama": "llama",
}

NESTED_KEYS = ("text_config", "llm_config", "language_config")
