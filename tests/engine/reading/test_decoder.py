"""Families as data: figures a layer, overrides of single layers, shares of a cache, loops; what refusals name."""

from functools import cache
from typing import Any

import pytest

from estimator.engine.errors import InvalidInputError, UnknownArchitectureError
from estimator.engine.model.cache import kv_cache_summary
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.model.spec import Architecture
from estimator.engine.reading.reader import read_config

WIDTH = 64
LAGUNA: dict[str, Any] = {
    "model_type": "laguna", "vocab_size": 100, "hidden_size": WIDTH, "intermediate_size": 128, "num_hidden_layers": 4,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32, "sliding_window": 16,
    "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
}  # fmt: skip


def by_layer(architecture: Architecture) -> list[Any]:
    return [architecture.layer_groups[index] for index in architecture.layer_order]


def test_a_list_gives_each_layer_its_own_heads() -> None:
    heads = [8, 4, 16, 8]
    read = by_layer(read_config({**LAGUNA, "num_attention_heads_per_layer": heads}))
    assert [group.attention.query_heads for group in read] == heads
    # queries, output and one gate a head: 2 · heads · 16 · 64 + heads · 64 more than another layer of its kind
    assert read[2].parameters.attention - read[1].parameters.attention == 12 * (2 * 16 * WIDTH + WIDTH)


@pytest.mark.parametrize("key", ["1", "01", 1], ids=repr)
def test_per_layer_config_overrides_one_layer(key: Any) -> None:
    plain, read = read_config(LAGUNA), read_config({**LAGUNA, "per_layer_config": {key: {"num_key_value_heads": 8}}})
    assert [group.attention.kv_heads for group in by_layer(read)] == [2, 8, 2, 2]
    more = parameter_totals(read).total - parameter_totals(plain).total
    assert more == 2 * 6 * 16 * WIDTH


def test_per_layer_config_overrides_layers_of_a_type() -> None:
    read = read_config({**LAGUNA, "per_layer_config": {"sliding_attention": {"sliding_window": 8}}})
    assert [group.attention.window_tokens for group in by_layer(read)] == [None, 8, 8, None]


def test_layers_that_see_the_same_are_one_group() -> None:
    assert read_config({**LAGUNA, "num_attention_heads_per_layer": [8] * 4}) == read_config(LAGUNA)


def test_a_kind_without_a_rule_is_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match=r"may hold full, window for this model_type, not state"):
        read_config({**LAGUNA, "layer_types": ["linear_attention"] * 4})


@pytest.mark.parametrize("model_type", ["dory", "inkling2_loop_text"])
def test_a_loop_multiplies_the_cache_but_not_the_parameters(model_type: str) -> None:
    config: dict[str, Any] = {
        "model_type": model_type, "vocab_size": 100, "hidden_size": WIDTH, "intermediate_size": 96,
        "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 16, "sliding_window": 16,
        "n_input_layers": 2, "n_output_layers": 2, "loop_layer_index_start": 2, "loop_layer_index_end": 4,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "unpadded_vocab_size": 100,
    }  # fmt: skip

    @cache
    def read(loops: int) -> Architecture:
        return read_config({**config, "n_recurrent_loops": loops, "loop_num_passes": loops})

    once, thrice = read(1), read(3)
    assert parameter_totals(read(2)).total == parameter_totals(thrice).total
    assert (len(once.layer_order), len(thrice.layer_order)) == (6, 10)
    kept = [
        kv_cache_summary(one).bytes_per_token + kv_cache_summary(one).window_bytes_per_token for one in (once, thrice)
    ]
    assert kept == [6 * 128, 10 * 128]


def test_only_the_last_pass_keeps_a_cache_where_the_config_says_so() -> None:
    config = {
        "model_type": "dory", "vocab_size": 100, "hidden_size": WIDTH, "intermediate_size": 96, "num_hidden_layers": 6,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "sliding_window": 16, "n_input_layers": 2,
        "n_output_layers": 2, "n_recurrent_loops": 3,
    }  # fmt: skip
    every, last = read_config(config), read_config({**config, "recurrent_kv_cache_mode": "last_loop"})
    assert parameter_totals(every) == parameter_totals(last)
    assert len(every.layer_order) == len(last.layer_order) == 10
    summary = kv_cache_summary(last)
    assert summary.bytes_per_token + summary.window_bytes_per_token == 6 * 128


def test_layers_that_read_the_keys_of_another_may_keep_an_index() -> None:
    config = {
        "model_type": "mistral_large4_text", "vocab_size": 100, "hidden_size": WIDTH, "intermediate_size": 96,
        "num_hidden_layers": 4, "num_attention_heads": 4, "kv_lora_rank": 16, "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 8, "v_head_dim": 16, "index_n_heads": 2, "index_head_dim": 32, "index_topk": 8,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "no_rope_layers": [1, 0, 1, 0],
        "kv_source_layers": [0, 1, 0, 1], "indexer_types": ["full", "full", "shared", "full"],
    }  # fmt: skip
    summary = kv_cache_summary(read_config(config))
    # layer 0 keeps 16 + 8 elements, layer 1 without positions 16; the index of three layers 32 each
    assert summary.bytes_per_token == 2 * (24 + 16)
    assert summary.index_bytes_per_token == 2 * 3 * 32


def test_an_index_shared_by_tokens_counts_its_share() -> None:
    config = {
        "model_type": "glm5_next_text", "vocab_size": 100, "hidden_size": WIDTH, "intermediate_size": 96,
        "num_hidden_layers": 4, "num_attention_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 24, "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 0, "v_head_dim": 16, "index_n_heads": 2, "index_head_dim": 32, "index_topk": 8,
        "index_kpool": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
        "linear_head_dim": 16, "linear_num_heads": 2,
    }  # fmt: skip
    summary = kv_cache_summary(read_config(config))
    assert summary.index_bytes_per_token == 2 * 32 // 4
    # three layers of Kimi delta attention: 2 · 16 · 16 elements in fp32, 3 · 3 · 32 of convolutions in 16 bits
    assert summary.state_bytes_per_sequence == 3 * (2 * 16 * 16 * 4 + 3 * 3 * 32 * 2)


def test_the_refusal_names_the_nested_type_that_is_not_known() -> None:
    config = {"model_type": "exaone4_5", "text_config": {**LAGUNA, "model_type": "exaone9_text"}}
    with pytest.raises(UnknownArchitectureError, match="of text_config, 'exaone9_text', is not known") as told:
        read_config(config)
    assert told.value.field == "config.text_config.model_type"
    with pytest.raises(UnknownArchitectureError, match="model_type 'exaone9' is not known") as outer:
        read_config({**config, "model_type": "exaone9"})
    assert outer.value.field == "config.model_type"


def test_heads_that_do_not_divide_the_width_are_floored_as_the_reference_classes_do() -> None:
    llama = {**LAGUNA, "model_type": "llama", "head_dim": None, "layer_types": None, "num_attention_heads": 6}
    attention = read_config(llama).layer_groups[0].attention
    assert attention is not None
    assert attention.head_dim_qk == WIDTH // 6


def test_the_tower_of_mistral_small_3_has_its_published_size() -> None:
    config = {
        "model_type": "mistral3",
        "text_config": {
            "model_type": "ministral3", "vocab_size": 131_072, "hidden_size": 5120, "intermediate_size": 32_768,
            "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        },
        "vision_config": {
            "model_type": "pixtral", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
            "patch_size": 14,
        },
    }  # fmt: skip
    read = read_config(config)
    assert read.vision_audio_parameters == 438_958_080
