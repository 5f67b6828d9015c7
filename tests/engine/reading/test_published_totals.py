"""Families without a shipped config: their published dimensions give their published parameter counts exactly."""

from typing import Any

import pytest

from estimator.engine.model.cache import kv_cache_summary
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.reading.reader import read_config
from tests.engine.reading.published import PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_dimensions_give_the_published_count(name: str) -> None:
    total, config = PUBLISHED[name]
    assert parameter_totals(read_config(config)).total == total


def test_router_corrections_are_buffers_that_the_files_store_and_the_count_leaves_out() -> None:
    # dots.llm1: the page says 142,774,381,696; 61 layers × 128 corrections of the router are in the files only
    config = {
        "model_type": "dots1",
        "hidden_size": 4096,
        "intermediate_size": 10944,
        "moe_intermediate_size": 1408,
        "num_hidden_layers": 62,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "n_shared_experts": 2,
        "n_routed_experts": 128,
        "num_experts_per_tok": 6,
        "first_k_dense_replace": 1,
        "vocab_size": 152064,
        "head_dim": 128,
    }
    assert parameter_totals(read_config(config)).total == 142_774_381_696 - 61 * 128


def test_longcat_counts_zero_experts_in_the_router_only() -> None:
    config = {
        "model_type": "longcat_flash",
        "hidden_size": 6144,
        "num_layers": 28,
        "num_attention_heads": 64,
        "ffn_hidden_size": 12288,
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "moe_topk": 12,
        "n_routed_experts": 512,
        "zero_expert_num": 256,
        "expert_ffn_hidden_size": 2048,
        "vocab_size": 131072,
    }
    totals = parameter_totals(read_config(config))
    assert totals.total == pytest.approx(560.66e9, rel=1e-4)
    # 28 layers hold two attention blocks each
    assert kv_cache_summary(read_config(config)).bytes_per_token == 56 * 576 * 2


def test_zamba2_counts_its_two_shared_blocks_once_and_their_cache_thirteen_times() -> None:
    types = [
        "hybrid" if layer in (6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77) else "mamba" for layer in range(81)
    ]
    config = {
        "model_type": "zamba2",
        "hidden_size": 3584,
        "num_hidden_layers": 81,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "vocab_size": 32000,
        "mamba_d_state": 64,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        "mamba_ngroups": 2,
        "n_mamba_heads": 112,
        "mamba_headdim": 64,
        "intermediate_size": 14336,
        "num_mem_blocks": 2,
        "use_shared_attention_adapter": False,
        "adapter_rank": 128,
        "layers_block_type": types,
    }
    read = read_config(config)
    assert parameter_totals(read).total == pytest.approx(7.357e9, rel=1e-3)
    assert kv_cache_summary(read).bytes_per_token == 13 * 2 * 32 * 224 * 2


def test_a_window_no_shorter_than_the_context_is_full_attention() -> None:
    config = {
        "model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064, "sliding_window": 262144,
        "max_position_embeddings": 131072,
    }  # fmt: skip
    read = read_config(config)
    assert any("full attention" in warning for warning in read.warnings)
    assert kv_cache_summary(read).window_bytes_per_token == 393_216


@pytest.mark.parametrize(("outer", "inner"), [("glm4v", "glm4"), ("glm4v_moe", "glm4_moe")])
def test_text_parts_under_another_name_are_read_by_the_same_rule(outer: str, inner: str) -> None:
    text = {
        "hidden_size": 4096, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 46,
        "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "n_routed_experts": 128,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1, "vocab_size": 151552,
        "attention_bias": True, "tie_word_embeddings": False,
    }  # fmt: skip
    nested = read_config({"model_type": outer, "text_config": {**text, "model_type": f"{outer}_text"}})
    assert parameter_totals(nested).total == parameter_totals(read_config({**text, "model_type": inner})).total


TOWERS: dict[str, tuple[int, dict[str, Any]]] = {
    "InternVL3-8B": (
        7_944_373_760,
        {
            "model_type": "internvl_chat",
            "downsample_ratio": 0.5,
            "llm_config": {
                "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
                "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 151674,
                "tie_word_embeddings": False,
            },
            "vision_config": {
                "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "image_size": 448,
                "patch_size": 14, "norm_type": "layer_norm", "qkv_bias": True, "qk_normalization": False,
            },
        },
    ),
    "PaliGemma-3B-224": (
        2_923_466_480,
        {
            "model_type": "paligemma",
            "text_config": {
                "model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18,
                "num_attention_heads": 8, "num_key_value_heads": 1, "vocab_size": 257216,
            },
            "vision_config": {
                "model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304,
                "num_hidden_layers": 27, "num_attention_heads": 16, "patch_size": 14, "image_size": 224,
            },
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOWERS)
def test_a_model_with_its_tower_has_the_published_total(name: str) -> None:
    published, config = TOWERS[name]
    read = read_config(config)
    assert parameter_totals(read).total == published
    assert read.warnings == ()


def test_ling_mini_2_lacks_only_the_corrections_of_its_routers() -> None:
    """16,255,643,392 on its page: 19 routers with 256 corrections each are buffers here, as in DeepSeek V3."""
    config = {
        "model_type": "bailing_moe_v2", "hidden_size": 2048, "num_hidden_layers": 20, "num_attention_heads": 16,
        "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 5120, "moe_intermediate_size": 512,
        "num_experts": 256, "num_experts_per_tok": 8, "num_shared_experts": 1, "first_k_dense_replace": 1,
        "vocab_size": 157184, "use_qk_norm": True, "use_bias": False, "use_qkv_bias": False,
    }  # fmt: skip
    assert parameter_totals(read_config(config)).total + 19 * 256 == 16_255_643_392


def test_a_tower_without_a_rule_is_said_and_the_total_is_the_text_part() -> None:
    text = {"model_type": "qwen2", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256}  # fmt: skip
    read = read_config({"model_type": "ovis2", "text_config": text, "vision_config": {"hidden_size": 32}})
    assert parameter_totals(read).total == parameter_totals(read_config(text)).total
    assert any("vision_config" in note and "the total is that of the text part" in note for note in read.warnings)


def test_the_text_part_of_an_omni_model_is_its_thinker() -> None:
    text = {"model_type": "qwen2_5_omni_text", "hidden_size": 3584, "intermediate_size": 18944,
            "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
            "vocab_size": 152064}  # fmt: skip
    thinker = {"model_type": "qwen2_5_omni_thinker", "text_config": text, "audio_config": {"d_model": 1280}}
    read = read_config({"model_type": "qwen2_5_omni", "thinker_config": thinker, "talker_config": {}})
    assert parameter_totals(read).total == 7_615_616_512  # Qwen2.5-7B
    assert any("audio_config and talker_config" in note for note in read.warnings)


def test_layers_that_read_pictures_keep_no_text_cache() -> None:
    """Llama 3.2 11B Vision: 40 layers, 8 of them across; 32 layers of 8 heads of 128 in bf16."""
    text = {"model_type": "mllama_text_model", "hidden_size": 4096, "intermediate_size": 14336,
            "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
            "vocab_size": 128256}  # fmt: skip
    read = read_config({"model_type": "mllama", "text_config": text})
    assert kv_cache_summary(read).bytes_per_token == 32 * 2 * 8 * 128 * 2
    assert any("8 cross-attention layers" in note for note in read.warnings)
