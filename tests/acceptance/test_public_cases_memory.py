"""Memory faults people reported in other tools (M…), asked of the product as the person who reported them would.

Figures are worked out by hand in the tests: layers · KV heads · head width · bytes and the like, never by our code.
"""

import pytest

from tests.acceptance.memory_questions import GIB, H100, KIB, cache, changes


def test_m01_a_longer_prompt_may_start_where_a_shorter_one_does_not(fit):
    at = {
        tokens: fit("llama-3.1-8b", "rtx-3090", tokens, engine="vllm-v0", memory={"utilization": 0.9})
        for tokens in (20_000, 29_000, 35_000)
    }
    assert [at[tokens]["feasible"] for tokens in at] == [True, False, True]
    # 3.81 and 2.89 GiB of cache, 31,232 and 23,648 tokens at 131,072 bytes.
    assert cache(at[20_000])["capacity_bytes"] / GIB == pytest.approx(3.81, rel=0.02)
    assert cache(at[29_000])["capacity_bytes"] / GIB == pytest.approx(2.89, rel=0.02)
    assert cache(at[29_000])["capacity_tokens"] == pytest.approx(23_648, rel=0.02)
    grown = at[29_000]["per_gpu"]["activation_bytes"] - at[20_000]["per_gpu"]["activation_bytes"]
    assert grown / GIB == pytest.approx(2.99 - 2.07, abs=0.02)
    assert at[35_000]["per_gpu"]["activation_bytes"] < at[20_000]["per_gpu"]["activation_bytes"]
    # The term that binds, and the knob: smaller passes, not a shorter context alone.
    assert at[29_000]["binding_term"] == "kv_cache"
    assert changes(at[29_000])["memory.max_batched_tokens"] == 4096
    # The longest that starts below it: cache and activations of the prompt share 5.9 GiB.
    assert 24_000 < changes(at[29_000])["context_tokens"] < 28_000
    assert any("max_batched_tokens" in note for note in cache(at[29_000])["notes"])


def test_m01_the_longest_context_named_does_start(fit):
    named = cache(fit("llama-3.1-8b", "rtx-3090", 20_000, engine="vllm-v0"))["max_context_tokens"]
    assert named > 32_768  # chunked, as above 32 k
    assert fit("llama-3.1-8b", "rtx-3090", named, engine="vllm-v0")["feasible"]
    assert not fit("llama-3.1-8b", "rtx-3090", named + 16, engine="vllm-v0")["feasible"]


def test_m01_with_chunks_asked_for_the_activations_no_longer_follow_the_prompt(fit):
    chunked = {"max_batched_tokens": 2048}
    short, long = (
        fit("llama-3.1-8b", "rtx-3090", tokens, engine="vllm-v0", memory=chunked) for tokens in (4000, 29_000)
    )
    assert short["per_gpu"]["activation_bytes"] == long["per_gpu"]["activation_bytes"]
    assert long["feasible"]


def test_m02_kv_heads_not_hidden_size_bytes_not_bits_and_the_cache_s_own_format(fit):
    answer = fit("qwen2.5-7b-instruct", H100, 3072, precision={"weights": "int8", "kv_cache": "fp16"})
    assert cache(answer)["bytes_per_token"] == 2 * 28 * 4 * 128 * 2 == 57_344
    assert cache(answer)["bytes_per_sequence"] / GIB == pytest.approx(0.164, abs=5e-4)
    notes = " ".join(cache(answer)["notes"])
    assert "KV heads, not the hidden size" in notes
    assert "format of the weights (int8) is not that of the cache" in notes


@pytest.mark.parametrize(
    ("model", "layers", "kv_heads", "width"),
    [
        ("llama-3.3-70b-instruct", 80, 8, 128),
        ("qwen3-32b", 64, 8, 128),
        ("phi-4", 40, 10, 128),
        ("gemma-2b", 18, 1, 256),
    ],
)
def test_m02_m16_any_dense_model_takes_two_times_layers_kv_heads_width_and_bytes(fit, model, layers, kv_heads, width):
    for name, size in (("bf16", 2), ("fp8", 1)):
        answer = fit(model, "b300-sxm-288gb", 2048, precision={"kv_cache": name})
        assert cache(answer)["bytes_per_token"] == 2 * layers * kv_heads * width * size


def test_m16_a_shape_given_by_figures_counts_its_kv_heads(fit):
    shape = {"parameters": 6.74e9, "layers": 32, "heads": 32, "hidden_size": 4096}
    assert cache(fit(shape, H100, 4096))["bytes_per_token"] == 2 * 32 * 32 * 128 * 2 == 524_288
    assert cache(fit(shape | {"kv_heads": 8}, H100, 4096))["bytes_per_token"] == 131_072


@pytest.mark.parametrize("weights", ["bf16", "nvfp4"])
def test_m04_three_numbers_of_a_window_hybrid(fit, weights):
    answer = fit("gemma-4-31b", "h200-sxm-141gb", 262_144, precision={"weights": weights}, engine="vllm-0.25")
    assert cache(answer)["bytes_per_token"] == 10 * 2 * 4 * 512 * 2 == 80 * KIB
    assert cache(answer)["fixed_bytes_per_sequence"] == 50 * 2 * 16 * 256 * 2 * 1024
    # What the engine keeps: 1,023 + 8,192 tokens of the 50 sliding layers.
    by_hand = (10 * 8192 * 262_144 + 50 * 16_384 * (1023 + 8192)) / 262_144
    assert by_hand / KIB == pytest.approx(108.12, abs=0.01)
    assert cache(answer)["engine_allocated_bytes_per_sequence"] / 262_144 == pytest.approx(by_hand, rel=2e-3)
    tokens = cache(answer)["capacity_bytes"] / by_hand
    assert cache(answer)["capacity_tokens"] == pytest.approx(tokens, rel=2e-3)
    # The cache stays in 16 bits whatever the weights are, and 880 KiB a token is nowhere said to be the cost.
    notes = " ".join(cache(answer)["notes"])
    assert "901120" not in notes
    assert ("not that of the cache" in notes) == (weights == "nvfp4")


def test_m04_the_observed_pool_gives_the_observed_tokens(fit):
    # 64.68 GiB held 626,949 tokens: with that much cache the product holds as many.
    printed = {"kv_cache_tokens_observed": 626_949}
    answer = fit("gemma-4-31b", "h200-sxm-141gb", 262_144, memory=printed, engine="vllm-0.25")
    assert cache(answer)["basis"] == "observed"
    assert cache(answer)["capacity_bytes"] / GIB == pytest.approx(64.68, rel=2e-3)


def test_m05_inside_the_window_all_layers_count_beyond_it_half_of_them_grow(fit):
    mxfp4 = {"weights": "bf16", "expert_weights": "mxfp4"}
    one = fit("gpt-oss-120b", H100, 1, precision=mxfp4, engine="vllm-0.19")
    all_layers = 36 * 2 * 8 * 64 * 2
    assert cache(one)["bytes_per_token"] + cache(one)["window_bytes_per_token"] == all_layers == 73_728
    assert cache(one)["capacity_bytes"] / cache(one)["capacity_tokens"] == pytest.approx(73_728, rel=1e-3)
    long = fit("gpt-oss-120b", H100, 100_000, precision=mxfp4, engine="ideal")
    assert cache(long)["bytes_per_sequence"] == 36_864 * 100_000 + 36_864 * 128


def test_m05_5_38_gib_hold_78_384_tokens_of_all_layers(fit):
    answer = fit("gpt-oss-120b", H100, 16, precision={"expert_weights": "mxfp4"},
                 memory={"kv_cache_tokens_observed": 78_384}, engine="vllm-0.11")  # fmt: skip
    assert cache(answer)["capacity_bytes"] / GIB == pytest.approx(5.38, abs=0.01)


@pytest.mark.parametrize(("kv_format", "gb"), [("fp16", 11.17), ("int8", 5.59)])
def test_m07_gemma_3_27b_at_128_k(fit, kv_format, gb):
    answer = fit("gemma-3-27b-it", H100, 131_072, precision={"kv_cache": kv_format})
    size = {"fp16": 2, "int8": 1}[kv_format]
    by_hand = (10 * 131_072 + 52 * 1024) * 2 * 16 * 128 * size
    assert cache(answer)["bytes_per_sequence"] == by_hand
    assert by_hand / 1e9 == pytest.approx(gb, abs=0.005)


def test_m07_with_a_full_window_override_the_cache_is_capped_in_every_layer(fit):
    answer = fit({"slug": "llama-3.1-8b", "override": {"window_tokens": 4096}}, H100, 65_536, engine="ideal")
    assert cache(answer)["bytes_per_sequence"] == 4096 * 131_072


@pytest.mark.parametrize(("model", "layers"), [("deepseek-v3", 61), ("deepseek-r1", 61), ("deepseek-v2-lite", 27)])
def test_m08_a_latent_is_neither_doubled_nor_split(fit, model, layers):
    tp = 8 if layers == 61 else 2
    answer = fit(
        model, "h200-sxm-141gb", 4096, parallelism={"tp": tp}, precision={"weights": "fp8", "kv_cache": "fp16"}
    )
    each = layers * (512 + 64) * 2
    assert cache(answer)["bytes_per_token"] == each
    assert cache(answer)["engine_allocated_bytes_per_sequence"] == each * 4096
    notes = " ".join(cache(answer)["notes"])
    assert "one latent" in notes
    assert "not split by tensor parallelism" in notes
    if layers == 61:
        assert each == 70_272


def test_m11_a_token_costs_the_same_at_every_length_and_the_reserve_is_shown_apart(fit):
    model = {"parameters": 30e9, "layers": 48, "heads": 32, "kv_heads": 4, "head_dim": 128, "vocab_size": 151_936}
    small, large = (
        fit(model, H100, 100_000, precision={"weights": "fp8", "kv_cache": "fp8"},
            memory={"max_batched_tokens": tokens})
        for tokens in (8192, 221_000)
    )  # fmt: skip
    assert cache(small)["bytes_per_token"] == cache(large)["bytes_per_token"] == 48 * KIB
    assert large["per_gpu"]["activation_bytes"] > small["per_gpu"]["activation_bytes"] + 2 * GIB
    assert cache(small)["capacity_bytes"] - cache(large)["capacity_bytes"] == (
        large["per_gpu"]["activation_bytes"] - small["per_gpu"]["activation_bytes"]
    )
    wide = fit(model, H100, 100_000, precision={"weights": "fp8", "kv_cache": "bf16"})
    assert cache(wide)["bytes_per_token"] == 2 * cache(small)["bytes_per_token"]


@pytest.mark.parametrize(
    ("name", "block_bytes"), [("q8_0", 34), ("q5_1", 24), ("q5_0", 22), ("q4_1", 20), ("q4_0", 18)]
)
def test_m13_a_block_quantised_cache_counts_bytes_of_blocks(fit, name, block_bytes):
    at = {
        kv_format: fit("llama-7b", "rtx-3090", 2048, engine="llama.cpp",
                       precision={"weights": "q4_k_m", "kv_cache": kv_format})
        for kv_format in ("fp16", name)
    }  # fmt: skip
    share = cache(at[name])["bytes_per_sequence"] / cache(at["fp16"])["bytes_per_sequence"]
    assert share == pytest.approx(block_bytes / 32 / 2, rel=1e-6)
    if name == "q8_0":
        assert round(share, 2) == 0.53
    assert f"--cache-type-k {name}" in at[name]["launch_hint"]


def test_m13_an_engine_without_the_format_says_which_it_has(ask):
    def refused(engine, kv_format):
        body = {"model": "llama-3.1-8b", "gpu": H100, "engine": engine, "precision": {"kv_cache": kv_format}}
        problem = ask("memory-fit", body, status=400)
        return problem["errors"][0]

    for engine, kv_format, instead in (("vllm-0.19", "q8_0", "fp8"), ("llama.cpp", "fp8", "q8_0")):
        error = refused(engine, kv_format)
        assert (error["pointer"], error["code"]) == ("#/precision/kv_cache", "not_supported")
        assert instead in error["detail"]
