"""Routed experts, data-parallel ranks, latent attention and exchanges: worked by hand, and what each depends on."""

import dataclasses
from math import log, sqrt

import numpy as np
import pytest

from estimator.constants import kernels
from estimator.engine.errors import InvalidInputError
from estimator.engine.forward_pass import folding
from estimator.engine.forward_pass.collectives import exchange_row
from estimator.engine.forward_pass.kernels import expert_kernel, kernel_library
from estimator.engine.forward_pass.operators import decode_linear_s, decode_pass_s, slowest_rank, with_experts_s
from estimator.engine.forward_pass.traffic import rank_layout
from estimator.engine.specs import Parallelism, Precision, ServingConstants
from estimator.engine.speed.prepared import Basis, Key, prepare
from estimator.validation import shipped

SHIPPED, REFERENCE = kernels.shipped(), kernels.reference()
ONE = Parallelism()


def folded(model, gpu="h200-sxm-141gb", weights="fp8", degrees=ONE, library="trtllm", **more):
    layout = rank_layout(shipped.architecture(model), shipped.gpu(gpu), Precision(weights=weights, **more), degrees)
    serving = ServingConstants()
    key, doubts = folding.fold(layout, shipped.gpu(gpu), serving, SHIPPED, max_batched_tokens=8192, library=library)
    return key, doubts, layout


def test_the_grouped_products_of_a_step_are_those_worked_by_hand():
    # Qwen3-235B, 94 layers of 128 experts, 8 a token, 4,096 wide, 1,536 columns; ep 4 on four GPUs, block fp8, SGLang.
    key, _, _ = folded("qwen3-235b-a22b-fp8", degrees=Parallelism(tp=4, ep=4), library="sglang")
    row, g = SHIPPED.expert["sglang", "hopper", "fp8_block"], SHIPPED.operators.routing_exponent
    layers, hidden, width, tokens, bandwidth, peak = 94, 4096, 1536, 64.0, 4.8e12, 1978.9e12
    touched = 1 - (1 - 8 / 128) ** (tokens**g)
    read = 32 * touched * 3 * hidden * width * 1.0 / (bandwidth * row.bandwidth_share)
    pairs = tokens * 8 / 4
    multiply = pairs * 6 * hidden * width / (peak * row.compute_share)
    passes = row.activation_passes * pairs + row.foreign_passes * (tokens * 8 - pairs)
    moved = passes * (4 * hidden + 6 * width) / bandwidth
    by_hand = layers * (sqrt(read**2 + multiply**2) + moved)
    assert float(with_experts_s(key, 0.0, tokens)) == pytest.approx(by_hand, rel=1e-3)


def test_tokens_that_do_not_choose_independently_touch_fewer_experts_and_one_touches_its_own():
    key, _, _ = folded("qwen3-235b-a22b-fp8")
    alone = dataclasses.replace(key, routing_exponent=1.0)
    tokens = np.array([2.0, 8.0, 64.0, 512.0])
    assert np.all(with_experts_s(key, 0.0, tokens) < with_experts_s(alone, 0.0, tokens))
    assert float(with_experts_s(key, 0.0, 1.0)) == pytest.approx(float(with_experts_s(alone, 0.0, 1.0)))


def test_a_step_never_gets_shorter_with_more_sequences_nor_longer_with_half_of_them():
    for model, degrees in (("deepseek-r1", Parallelism(dp=8, ep=8)), ("qwen3-235b-a22b-fp8", Parallelism(tp=8, ep=8))):
        key, _, _ = folded(model, degrees=degrees)
        tokens = np.arange(1.0, 600.0)
        steps = decode_pass_s(key, tokens, decode_linear_s(key, 2000.0))
        assert np.all(np.diff(steps) > 0.0)
        # No jump either: one sequence more is no tenth of a step once there are some.
        assert np.all(np.diff(steps)[16:] < 0.1 * steps[16:-1])


def test_a_pass_waits_for_the_fullest_rank():
    key, _, _ = folded("deepseek-r1", degrees=Parallelism(dp=8, ep=8))
    u = SHIPPED.operators.rank_unevenness
    assert float(slowest_rank(key, 256.0)) == pytest.approx(32 + u * sqrt(2 * log(8) * 32))
    assert float(slowest_rank(key, 1.0)) <= 1.0
    one, _, _ = folded("deepseek-r1", degrees=Parallelism(tp=8))
    assert float(slowest_rank(one, 256.0)) == 256.0


def test_engines_run_the_grouped_products_of_their_own_library():
    assert [kernel_library(name) for name in ("vllm", "sglang", "tensorrt-llm", "nim", "trtllm-bench", "mlc")] == [
        "vllm", "sglang", "trtllm", "trtllm", "trtllm", "trtllm",
    ]  # fmt: skip
    steps = {}
    for library in ("vllm", "sglang", "trtllm"):
        key, doubts, _ = folded("qwen3-235b-a22b-fp8", degrees=Parallelism(tp=4), library=library)
        steps[library] = float(with_experts_s(key, 0.0, 64.0))
        assert doubts == ()
    assert len(set(steps.values())) == 3


def test_a_library_without_a_kernel_of_a_format_takes_anothers_and_says_so():
    found = expert_kernel("trtllm", "hopper", "int4", SHIPPED)
    assert found.row in (SHIPPED.expert["vllm", "hopper", "int4"], SHIPPED.expert["sglang", "hopper", "int4"])
    assert found.sixteen_bit
    assert not found.own
    _, doubts, _ = folded("kimi-k2.5", weights="int4", degrees=Parallelism(tp=8), library="trtllm")
    assert "int4 expert kernels" in doubts


def test_the_row_that_real_servers_contradict_is_the_one_of_block_products():
    # Llama-4-Scout in fp8 on two H100 took 18 ms a token where the table's own row says 97.
    tensor, block = (REFERENCE.expert["vllm", "hopper", form] for form in ("fp8", "fp8_block"))
    assert dataclasses.replace(tensor, judged=frozenset()) == dataclasses.replace(block, judged=frozenset())


@pytest.mark.parametrize(
    ("model", "kernel"),
    [
        ("deepseek-r1", "fp8_block"),
        ("minimax-m2.5", "fp8_block"),
        ("qwen3.5-397b-a17b", "fp8_block"),
        ("mixtral-8x7b-v0.1", "fp8"),
        ("llama-4-maverick-17b-128e-instruct", "fp8"),
    ],
)
def test_fine_grained_mixtures_in_8_bits_have_a_scale_for_each_block(model, kernel):
    _, _, layout = folded(model, degrees=Parallelism(tp=8))
    assert {group.format.kernel for group in layout.experts} == {kernel}


def test_a_kernel_with_16_bit_activations_multiplies_at_the_16_bit_peak():
    # RTX PRO 6000: vLLM has no kernel with 8-bit activations in the tables and takes the one with 16-bit ones.
    key, _, _ = folded(
        "gpt-oss-120b", gpu="rtx-pro-6000-server", weights="bf16", expert_weights="mxfp4", library="vllm"
    )
    row = SHIPPED.expert["vllm", "rtxbw", "mxfp4"]
    peak = shipped.gpu("rtx-pro-6000-server").peak_flops_per_s["bf16"]
    layers, pairs_flops = 36, 4 * 6 * 2880 * 2880
    assert sum(key.expert_token_s2) == pytest.approx((layers * pairs_flops / (peak * row.compute_share)) ** 2, rel=0.02)


def test_latent_attention_is_bound_by_products_where_many_heads_lie_on_a_rank():
    # A cached token of DeepSeek: 576 elements read, 2 · heads · 1,088 FLOP.
    for tp, bound in ((1, True), (8, False)):
        key, _, layout = folded("deepseek-r1", degrees=Parallelism(tp=tp))
        gpu, row = shipped.gpu("h200-sxm-141gb"), SHIPPED.latent_attention["hopper"]
        read = 576 * 2 / (gpu.memory_bandwidth_bytes_per_s * row.decode_bf16)
        multiply = 2 * 128 / tp * 1088 / (gpu.peak_flops_per_s["bf16"] * row.decode_product)
        assert (multiply > read) == bound
        per_layer = sum(key.cache_read_s) / layout.attention_layers
        assert per_layer == pytest.approx(sqrt(read**2 + multiply**2), rel=1e-6)


def test_sparse_latent_attention_pads_heads_and_only_long_prompts_run_it():
    key, _, layout = folded("deepseek-v3.2", degrees=Parallelism(tp=8))
    at = key.windows.index(2048.0)
    group = next(cache for cache in layout.caches if cache.sparse)
    assert group.query_heads == 16
    # 16 heads on a rank are computed as 64 on Hopper; the plain products need none of it.
    assert key.long_prefill_attention_s[at] > key.prefill_attention_s[at]
    dense, _, _ = folded("deepseek-r1", degrees=Parallelism(tp=8))
    assert dense.long_prefill_attention_s == dense.prefill_attention_s


def test_norms_of_heads_cost_a_kernel_where_a_model_has_them():
    for model, has in (
        ("qwen3-235b-a22b", True),
        ("minimax-m2.5", True),
        ("llama-3.1-70b", False),
        ("gpt-oss-20b", False),
    ):
        layout = rank_layout(shipped.architecture(model), shipped.gpu("h200-sxm-141gb"), Precision(), Parallelism())
        assert (layout.head_norm_layers == layout.attention_layers) == has
        assert has or layout.head_norm_layers == 0


def test_an_exchange_is_the_librarys_or_that_of_the_back_end_asked_for():
    own = exchange_row("sglang", "", SHIPPED)
    asked = exchange_row("sglang", "deepep_low_latency", SHIPPED)
    assert asked.fixed_s > own.fixed_s
    with pytest.raises(InvalidInputError, match="must be one of deepep_high_throughput, deepep_low_latency"):
        exchange_row("sglang", "carrier_pigeon", SHIPPED)


def test_prompts_spread_over_ranks_by_mode():
    key, _, _ = folded("deepseek-r1", degrees=Parallelism(dp=8, ep=8))
    assert key.offline_prefill_spread == pytest.approx(1 + 7 * SHIPPED.operators.offline_prefill_factor)
    assert key.prefill_spread == pytest.approx(1 + 7 * SHIPPED.operators.attention_dp_prefill_factor)


def test_amd_has_host_constants_of_its_own_and_is_never_said_to_be_calibrated():
    key = Key(
        architecture=shipped.architecture("llama-3.1-8b"),
        gpu=shipped.gpu("mi300x"),
        engine=shipped.profile("vllm-0.19"),
        precision=Precision(),
        parallelism=Parallelism(),
    )
    serving = key.engine.serving
    found = prepare(key)
    assert found.serving.per_sequence_s == serving.amd_per_sequence_s != serving.per_sequence_s
    assert found.basis is not Basis.CALIBRATED
    nvidia = prepare(dataclasses.replace(key, gpu=shipped.gpu("h200-sxm-141gb")))
    # A token of every step is sent besides, unless the server was started to send several at once.
    assert nvidia.serving.per_sequence_s == pytest.approx(serving.per_sequence_s + serving.stream_token_s, rel=1e-12)


def test_old_kernels_of_4_bit_weights_fall_behind_16_bit_ones_at_large_batches():
    def step(slug, weights, tokens):
        profile = shipped.profile(slug)
        gpu = shipped.gpu("a100-sxm4-80gb")
        layout = rank_layout(shipped.architecture("llama-3.1-70b"), gpu, Precision(weights=weights), Parallelism(tp=4))
        key, _ = folding.fold(layout, gpu, profile.serving, max_batched_tokens=8192, library="vllm")
        return float(decode_pass_s(key, tokens, decode_linear_s(key, 250.0)))

    for slug, most in (("vllm-v0", 0.9), ("vllm-0.19", 1.05)):
        assert step(slug, "bf16", 1.0) / step(slug, "int4", 1.0) > 1.3
        assert step(slug, "bf16", 512.0) / step(slug, "int4", 512.0) < most
