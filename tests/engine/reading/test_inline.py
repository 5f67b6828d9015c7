"""Architectures given by a few figures, and what-ifs on the cache."""

import pytest

from estimator.engine.errors import InvalidInputError
from estimator.engine.model.cache import kv_cache_summary
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.reading.inline import architecture_from_shape, override_cache
from estimator.engine.reading.reader import read_config

LLAMA_3_8B = {
    "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128, "hidden_size": 4096, "intermediate_size": 14336,
    "vocab_size": 128256,
}  # fmt: skip


def test_llama_3_8b_counted_from_its_dimensions() -> None:  # S38, S04
    built = architecture_from_shape(**LLAMA_3_8B)
    assert parameter_totals(built).total == 8_030_261_248
    assert kv_cache_summary(built).bytes_per_token == 131_072


def test_llama_3_70b_counted_from_its_dimensions() -> None:  # S37
    built = architecture_from_shape(
        layers=80, heads=64, kv_heads=8, head_dim=128, hidden_size=8192, intermediate_size=28672, vocab_size=128256
    )
    totals = parameter_totals(built)
    assert totals.total == 70_553_706_496
    assert totals.mlp == 56_371_445_760
    assert totals.mlp / totals.total == pytest.approx(0.799, abs=5e-4)


def test_mixtral_counted_from_its_dimensions() -> None:  # S17
    built = architecture_from_shape(
        layers=32, heads=32, kv_heads=8, head_dim=128, hidden_size=4096, intermediate_size=14336, vocab_size=32000,
        experts=8, experts_per_token=2,
    )  # fmt: skip
    totals = parameter_totals(built)
    assert (totals.total, totals.active) == (46_702_792_704, 12_879_925_248)


def test_given_totals_are_kept_to_the_last_parameter() -> None:
    built = architecture_from_shape(parameters=8_030_000_001, layers=32, heads=32, kv_heads=8, hidden_size=4096)
    totals = parameter_totals(built)
    assert totals.total == totals.active == totals.active_without_input_embedding == 8_030_000_001


def test_given_active_parameters_are_kept() -> None:
    built = architecture_from_shape(
        parameters=46_700_000_000, active_parameters=12_900_000_000, layers=32, heads=32, kv_heads=8, head_dim=128,
        experts=8, experts_per_token=2,
    )  # fmt: skip
    assert parameter_totals(built).active == 12_900_000_000
    assert parameter_totals(built).total == 46_700_000_000


@pytest.mark.parametrize(
    ("change", "bytes_per_token"),
    [({"kv_heads": 32}, 524_288), ({"kv_heads": 1}, 16_384), ({"latent_rank": 512}, 32 * 576 * 2)],
)
def test_another_attention_changes_the_cache_only(change: dict[str, int], bytes_per_token: int) -> None:  # S05, S27
    original = architecture_from_shape(**LLAMA_3_8B)
    changed = override_cache(original, **change)
    assert kv_cache_summary(changed).bytes_per_token == bytes_per_token
    assert parameter_totals(changed) == parameter_totals(original)


def test_a_window_caps_the_cache() -> None:
    changed = override_cache(architecture_from_shape(**LLAMA_3_8B), window_tokens=4096)
    summary = kv_cache_summary(changed)
    assert (summary.bytes_per_token, summary.fixed_bytes_per_sequence) == (0, 131_072 * 4096)


def test_kv_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="kv_heads"):
        override_cache(architecture_from_shape(**LLAMA_3_8B), kv_heads=5)


def test_counting_needs_the_dimensions() -> None:
    with pytest.raises(InvalidInputError, match="vocab_size"):
        architecture_from_shape(layers=32, heads=32, hidden_size=4096, intermediate_size=14336)


DEEPSEEK = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
    "vocab_size": 129_280, "intermediate_size": 18_432, "moe_intermediate_size": 2048, "kv_lora_rank": 512,
    "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
}  # fmt: skip


@pytest.mark.parametrize("change", [{"kv_heads": 8}, {"window_tokens": 4096}], ids=str)
def test_an_override_that_changes_nothing_says_so(change: dict[str, int]) -> None:
    latent = read_config(DEEPSEEK)
    changed = override_cache(latent, **change)
    assert changed.layer_groups == latent.layer_groups
    assert [f"override.{next(iter(change))} changes nothing" in note for note in changed.warnings] == [True]


def test_of_two_overrides_only_the_one_without_effect_is_told() -> None:
    original = architecture_from_shape(**LLAMA_3_8B)
    changed = override_cache(original, kv_heads=8, window_tokens=4096)
    told = [note for note in changed.warnings if "changes nothing" in note]
    assert len(told) == 1
    assert told[0].startswith("override.kv_heads")
    assert any("what-if" in note for note in changed.warnings)
