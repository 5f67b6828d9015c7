"""What the calibrated constants change beside the reference, and only that."""

import dataclasses

import pytest

from estimator.constants import kernels
from estimator.constants.rows import ConstantsFileError
from estimator.engine.forward_pass import folding
from estimator.engine.forward_pass.kernels import attention_row, expert_kernel, gemm_row, kernel_family
from estimator.engine.forward_pass.llama_cpp import fold_llama_cpp, llama_cpp_prefill_s
from estimator.engine.forward_pass.operators import decode_linear_s, decode_pass_s
from estimator.engine.forward_pass.traffic import rank_layout
from estimator.engine.specs import Gpu, LlamaCppConstants, Parallelism, Precision, ServingConstants
from tests.engine.shapes import from_shape

GQA = {"L": 80, "d": 8192, "hq": 64, "hkv": 8, "dh": 128, "ff": 28672, "V": 32000, "gated": 1, "tied": 0}
GPU = Gpu(
    slug="h100",
    memory_bytes=85_000_000_000,
    memory_bandwidth_bytes_per_s=3.35e12,
    peak_flops_per_s={"bf16": 989.4e12, "fp8": 1978.9e12},
    kernel_family="hopper",
    link="nvlink4",
)


SHIPPED, REFERENCE = kernels.shipped(), kernels.reference()


def fold(layout, gpu, serving, constants=SHIPPED):
    return folding.fold(layout, gpu, serving, constants, max_batched_tokens=8192)


def test_every_factor_is_within_five_times():
    assert len(SHIPPED.factors) > 50
    assert all(0.2 <= factor <= 5.0 for factor in SHIPPED.factors.values())


def test_a_factor_acts_on_every_row_under_its_scope_and_on_no_other():
    twice = REFERENCE.with_factors({("expert", "vllm", "", "", "compute_share"): 0.5})
    for key, row in REFERENCE.expert.items():
        share = 0.5 if key[0] == "vllm" else 1.0
        assert twice.expert[key].compute_share == pytest.approx(share * row.compute_share)
    with pytest.raises(ConstantsFileError, match="no row of expert for mlc"):
        REFERENCE.with_factors({("expert", "mlc", "", "", "compute_share"): 0.5})


def test_no_share_of_peak_or_bandwidth_passes_one():
    for row in SHIPPED.attention.values():
        assert max(row.prefill_bf16, row.decode_bf16, row.decode_fp8) <= 1.0
    for table in (SHIPPED.gemm, SHIPPED.expert):
        for row in table.values():
            assert row.bandwidth_share <= 1.0
            assert row.compute_share <= 1.0


def test_the_kernel_of_a_family_and_format_that_the_tables_hold_is_its_own():
    for (family, kernel), row in SHIPPED.gemm.items():
        assert gemm_row(family, kernel, SHIPPED) == (row, True)
    for (library, family, kernel), row in SHIPPED.expert.items():
        found = expert_kernel(library, family, kernel, SHIPPED)
        assert (found.row, found.own) == (row, True)


def test_the_reference_is_the_tables_as_they_are():
    assert REFERENCE.factors == {}
    assert REFERENCE.gemm["blackwell", "nvfp4"].fixed_us == 5.7
    factor = SHIPPED.factors["gemm", "", "blackwell", "nvfp4", "fixed_us"]
    assert SHIPPED.gemm["blackwell", "nvfp4"].fixed_us == pytest.approx(5.7 * factor)
    assert 0.4 < factor < 0.7
    assert REFERENCE.operators.routing_exponent == 1.0


def step(unshared, tokens=64.0, context=4096.0, shape=GQA):
    layout = rank_layout(from_shape(shape), GPU, Precision(), Parallelism(tp=4))
    folded, _ = fold(layout, GPU, ServingConstants(unshared_kv_reads=unshared), REFERENCE)
    return decode_pass_s(folded, tokens, decode_linear_s(folded, context))


def test_kernels_that_do_not_share_a_head_read_the_cache_once_for_each_query_head():
    # 64 sequences · 4096 tokens · 80 layers · 2·2·128 elements · 2 B on a rank, at 0.87 of the bandwidth.
    once = 64 * 4096 * 80 * (2 * 2 * 128) * 2 / (3.35e12 * 0.87)
    assert step(1.0) - step(0.0) == pytest.approx(7 * once, rel=1e-9)
    assert step(0.5) - step(0.0) == pytest.approx(3.5 * once, rel=1e-9)


def test_multi_head_attention_has_nothing_to_share():
    many = {**GQA, "hkv": 64}
    assert step(1.0, shape=many) == pytest.approx(step(0.0, shape=many), rel=1e-12)


def test_amd_kernels_of_2024_are_those_of_the_engine_that_ran_them_and_of_amd_alone():
    for family, now in (("cdna2", "cdna3"), ("cdna3", "cdna3"), ("cdna4", "cdna4")):
        amd = dataclasses.replace(GPU, kernel_family=family)
        assert kernel_family(amd) == now
    assert kernel_family(dataclasses.replace(GPU, kernel_family="cdna3"), of_2024=True) == "cdna3_2024"
    assert kernel_family(GPU, of_2024=True) == kernel_family(GPU) == "hopper"


def test_mid_2024_kernels_of_amd_read_the_cache_once_for_each_query_head():
    amd = dataclasses.replace(GPU, kernel_family="cdna3", link="infinity_fabric")

    def reads_s(constants):
        layout = rank_layout(from_shape(GQA), amd, Precision(), Parallelism(tp=4))
        return sum(fold(layout, amd, constants, REFERENCE)[0].cache_read_s)

    old, new = ServingConstants(amd_kernels_of_2024=True), ServingConstants()
    before, now = REFERENCE.attention["cdna3_2024"].decode_bf16, REFERENCE.attention["cdna3"].decode_bf16
    assert reads_s(old) == pytest.approx(8 * reads_s(new) * now / before, rel=1e-12)


def test_the_8_bit_cache_is_read_on_hopper_at_no_more_than_the_best_library_reaches():
    row, _ = attention_row("hopper", latent=False, constants=SHIPPED)
    # kernel_efficiency.csv: best library 0.87 on H100, 0.82 on H200; the median over libraries 0.74 and 0.57.
    assert 0.82 <= row.decode_fp8 <= 0.87


def llama_cpp(constants, gpu=GPU):
    shape = from_shape({**GQA, "L": 32})
    return fold_llama_cpp(shape, rank_layout(shape, gpu, Precision(), Parallelism()), gpu, Precision(), constants)


def test_weights_are_read_at_the_share_that_the_familys_kernels_reach():
    constants = LlamaCppConstants(eta_16bit=2.74, bw0_16bit_bytes_per_s=0.67e12, eta_of_kernels=True)
    for family, share in (("ampere", 0.76), ("hopper", 0.88), ("volta", 0.80), ("rdna3", 0.80)):
        gpu = dataclasses.replace(GPU, kernel_family=family)
        folded = llama_cpp(constants, gpu)
        reached = folded.read_bytes / folded.weights_s
        assert reached == pytest.approx(3.35e12 * 2.74 * share / (1 + 3.35 / 0.67), rel=1e-9)


def test_a_prompt_reaches_less_of_a_larger_peak_and_moves_its_activations():
    plain = LlamaCppConstants(
        prefill_efficiency_16bit=0.65, prefill_turning_flops_per_s=0.0, prefill_activation_bytes=0.0
    )
    turning = dataclasses.replace(plain, prefill_turning_flops_per_s=5e14)
    peak = GPU.peak_flops_per_s["bf16"]
    slower = llama_cpp(turning).prefill_token_s / llama_cpp(plain).prefill_token_s
    assert slower == pytest.approx(1 + peak / 5e14, rel=1e-9)
    moving = dataclasses.replace(plain, prefill_activation_bytes=28.0)
    more = llama_cpp(moving).prefill_token_s - llama_cpp(plain).prefill_token_s
    assert more == pytest.approx(32 * GQA["d"] * 28.0 / 3.35e12, rel=1e-9)


def test_scores_of_a_long_prompt_pass_through_memory_on_cuda_but_not_on_apple():
    constants = LlamaCppConstants(prefill_score_bytes=10.0)
    shape = from_shape({**GQA, "L": 32})
    for family, extra in (("ada", 32 * 64 * 10.0 * 8192.0**2 / 3.35e12), ("apple", 0.0)):
        gpu = dataclasses.replace(GPU, kernel_family=family)
        layout = rank_layout(shape, gpu, Precision(), Parallelism())
        with_scores = fold_llama_cpp(shape, layout, gpu, Precision(), constants)
        none = dataclasses.replace(constants, prefill_score_bytes=0.0)
        without = fold_llama_cpp(shape, layout, gpu, Precision(), none)
        gain = llama_cpp_prefill_s(with_scores, 8192.0) - llama_cpp_prefill_s(without, 8192.0)
        assert gain == pytest.approx(extra, rel=1e-9)


def test_cards_with_inline_ecc_read_at_fifteen_sixteenths_of_their_bandwidth():
    plain = llama_cpp(LlamaCppConstants(), dataclasses.replace(GPU, kernel_family="ada", slug="rtx-4090"))
    checked = llama_cpp(LlamaCppConstants(), dataclasses.replace(GPU, kernel_family="ada", slug="l40s"))
    assert plain.weights_s / checked.weights_s == pytest.approx(15 / 16, rel=1e-9)
