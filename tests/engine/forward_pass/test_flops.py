"""Work with and without a KV cache: positions and multiply-adds of the source documents."""

import numpy as np
import pytest

from estimator.engine.forward_pass.cached_attention import whole_sequence, with_cache
from estimator.engine.forward_pass.flops import ToyTransformer, positions_with_cache, positions_without_cache


def test_ten_tokens_after_six_take_105_positions_without_and_15_with_a_cache():  # S07
    assert positions_without_cache(prompt_tokens=6, output_tokens=10) == 105
    assert positions_with_cache(prompt_tokens=6, output_tokens=10) == 15


def test_the_toy_transformer_multiplies_498240_times_without_and_72960_with_a_cache():  # S08
    toy = ToyTransformer(blocks=2, width=16, mlp_width=32, vocab=16)
    assert toy.without_cache(prompt_tokens=6, output_tokens=10) == 498_240
    assert toy.with_cache(prompt_tokens=6, output_tokens=10) == 72_960


@pytest.mark.parametrize("output", [10, 100, 1000])
def test_positions_without_a_cache_are_counted_one_pass_after_the_other(output):  # S20
    expected = sum(range(5, 5 + output))
    assert positions_without_cache(prompt_tokens=5, output_tokens=output) == expected
    assert expected == output * 5 + output * (output - 1) // 2


def test_attention_over_a_cache_equals_attention_over_the_whole_sequence():  # S09
    rng = np.random.default_rng(7)
    queries, keys, values = rng.normal(size=(3, 6, 8))
    assert np.abs(whole_sequence(queries, keys, values) - with_cache(queries, keys, values)).max() < 1e-12
