"""The roofline and the ideal profile against the figures of the source documents."""

import numpy as np
import pytest

from estimator.engine.forward_pass.flops import decode_flops, prefill_flops
from estimator.engine.forward_pass.roofline import (
    added,
    ceiling_floor,
    expert_coverage,
    floor_prefill_s,
    floor_step_s,
    ideal_floor,
    ridge_flops_per_byte,
    roofline,
)
from estimator.engine.forward_pass.traffic import rank_layout
from estimator.engine.specs import Gpu, Parallelism, Precision
from tests.engine.shapes import H100, LLAMA_8B

ONE = Parallelism()
BF16 = Precision()


def ideal(architecture=LLAMA_8B, gpu=H100, precision=BF16, parallelism=ONE):
    layout = rank_layout(architecture, gpu, precision, parallelism)
    return ideal_floor(architecture, gpu, precision, parallelism, layout)


def ceiling(architecture=LLAMA_8B, gpu=H100, precision=BF16, parallelism=ONE):
    return ceiling_floor(rank_layout(architecture, gpu, precision, parallelism), gpu)


def test_prefill_flops_of_a_2000_token_prompt_are_33_17_tera():  # S01
    flops = prefill_flops(parameters=8.03e9, tokens=2000, layers=32, attention_width=4096)
    assert flops == pytest.approx(33.17e12, rel=1e-3)


def test_prefill_at_40_percent_of_peak_takes_83_8_ms():  # S02
    assert floor_prefill_s(ideal(), 2000.0, 0.0, 0.4) == pytest.approx(0.0838, rel=5e-3)


def test_a_batch_1_step_in_fp16_does_one_flop_per_byte_and_uses_a_third_of_a_percent_of_the_peak():  # S03
    flops = decode_flops(parameters=8.03e9, context_tokens=0.0, layers=32, attention_width=4096)
    ridge = ridge_flops_per_byte(peak_flops_per_s=989e12, bandwidth_bytes_per_s=3.35e12)
    assert flops / 16.06e9 == pytest.approx(1.0, rel=5e-3)
    assert ridge == pytest.approx(295.2, rel=5e-3)
    assert flops / 16.06e9 / ridge == pytest.approx(0.0034, rel=5e-3)


def test_the_decode_ceiling_of_an_8b_model_without_context_is_208_6_tokens_per_s():  # S11
    assert 1 / floor_step_s(ideal(), 1.0, 0.0) == pytest.approx(208.6, rel=1e-3)
    assert 1 / floor_step_s(ceiling(), 1.0, 0.0) == pytest.approx(208.6, rel=1e-3)


def test_one_and_sixty_conversations_of_8000_tokens():  # S12, S13
    one = floor_step_s(ideal(), 1.0, 8000.0, 0.5)
    sixty = floor_step_s(ideal(), 60.0, 8000.0, 0.5)
    assert round(float(1 / one), 1) == 195.8
    assert round(float(1 / sixty), 1) == 42.4
    assert round(float(60 / sixty)) == 2545
    assert round(2.0 / 3600 * 1e6 * float(one), 3) == 2.837
    assert round(2.0 / 3600 * 1e6 * float(sixty) / 60, 3) == 0.218
    assert float(one / (sixty / 60)) == pytest.approx(13.0, rel=0.01)  # S15


def test_tensor_parallel_halves_the_step_of_a_dense_model():
    halved = floor_step_s(ideal(parallelism=Parallelism(tp=2)), 8.0, 8000.0, 0.5)
    assert halved == pytest.approx(float(floor_step_s(ideal(), 8.0, 8000.0, 0.5)) / 2, rel=1e-12)


def test_a_mixture_touches_25_90_and_99_percent_of_its_experts_at_batch_1_8_and_16():  # S18
    shares = expert_coverage(np.log(1 - 2 / 8), np.array([1, 8, 16]))
    assert shares == pytest.approx([0.25, 0.8999, 0.98998], rel=1e-3)


def test_a_7b_model_on_a_4090_is_bound_by_memory_to_72_tokens_per_s():  # S24, S25
    memory, compute = 14e9 / 1008e9, 14e9 / 82e12
    assert memory == pytest.approx(0.01389, rel=5e-3)
    assert compute == pytest.approx(0.000171, rel=5e-3)
    assert 1 / roofline(memory_s=memory, compute_s=compute) == pytest.approx(72.0, rel=5e-3)
    assert memory / added(memory_s=memory, compute_s=compute) == pytest.approx(0.988, rel=5e-3)
    assert 1 / added(memory_s=memory, compute_s=compute) == pytest.approx(71.1, rel=5e-3)
    assert 1 / added(memory_s=memory, compute_s=compute / 10) == pytest.approx(71.9, rel=5e-3)
    assert roofline(memory_s=memory, compute_s=compute / 10) == roofline(memory_s=memory, compute_s=compute)


def test_the_pure_roofline_of_a_7b_model_with_empty_context_grows_linearly_with_the_batch():  # S26
    memory, compute = 14e9 / 1008e9, 14e9 / 82e12
    totals = [b / roofline(memory_s=memory, compute_s=b * compute) for b in (1, 4, 16)]
    assert totals == pytest.approx([72, 288, 1152], rel=1e-9)


def test_an_8b_model_on_an_l4_reaches_18_7_tokens_per_s_in_bf16_and_37_4_in_int8():  # S39
    l4 = Gpu(
        slug="l4",
        memory_bytes=24_000_000_000,
        memory_bandwidth_bytes_per_s=300e9,
        peak_flops_per_s={"bf16": 121e12, "int8": 242.5e12},
        kernel_family="ada",
    )
    assert 1 / floor_step_s(ideal(gpu=l4), 1.0, 0.0, 0.5) == pytest.approx(18.7, rel=5e-3)
    int8 = ideal(gpu=l4, precision=Precision(weights="int8"))
    assert 1 / floor_step_s(int8, 1.0, 0.0, 0.5) == pytest.approx(37.4, rel=5e-3)


def test_a_cached_prefix_leaves_only_the_new_tokens_to_compute():
    whole = floor_prefill_s(ceiling(), 4096.0)
    split = floor_prefill_s(ceiling(), 2048.0) + floor_prefill_s(ceiling(), 2048.0, 2048.0)
    assert split == pytest.approx(float(whole), rel=1e-12)
