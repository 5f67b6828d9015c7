"""Every figure of the source documents that an endpoint can be asked for, asked over REST with the documents' inputs.

The documents assume `engine: ideal`: all of the box's decimal memory, no overhead, the roofline with prefill at 0.4 and
decode at 0.5 of the peak. The engine tests hold the same figures against the formulas; these hold the product.
"""

import pytest

H100 = "h100-sxm5-80gb"
L4 = "l4"
LLAMA_8B = "llama-3-8b"
LLAMA_70B = "llama-3-70b"
MIXTRAL = "mixtral-8x7b-v0.1"
MARGIN = {"utilization": 0.9, "runtime_overhead_bytes": 2_000_000_000}


def memory(ask, model, gpu, tokens, sequences=1, **more):
    body = {
        "model": model, "gpu": gpu, "engine": "ideal",
        "workload": {"input_tokens": tokens - 1, "output_tokens": 1, "concurrency": sequences},
    }  # fmt: skip
    return ask("memory-fit", body | more)


def decode(ask, context, concurrency, model=LLAMA_8B, gpu=H100, **more):
    body = {
        "model": model, "gpu": gpu, "engine": "ideal",
        "workload": {"mode": "decode_step", "context_tokens": context, "concurrency": concurrency},
    }  # fmt: skip
    return ask("throughput", body | more)


def test_s01_s02_prefill_of_2000_tokens_takes_33_tflop_and_84_ms(ask):
    answer = ask(
        "throughput",
        {
            "model": {"parameters": 8.03e9, "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128},
            "gpu": {
                "memory_bytes": 80e9, "memory_bandwidth_bytes_per_s": 3.35e12, "peak_flops_per_s": {"bf16": 989e12},
            },
            "engine": "ideal",
            "workload": {"mode": "single_stream", "input_tokens": 2000, "output_tokens": 1},
        },
    )  # fmt: skip
    assert answer["prefill"]["flops"] == pytest.approx(33.17e12, rel=1e-3)
    assert answer["prefill"]["prefill_s"] == pytest.approx(0.0838, rel=5e-3)


def test_s03_ridge_point_of_an_h100(ask):
    answer = decode(ask, 0 + 1, 1)
    assert answer["roofline"]["ridge_flops_per_byte"] == pytest.approx(295.2, rel=5e-3)
    assert answer["roofline"]["arithmetic_intensity_flops_per_byte"] == pytest.approx(1.0, rel=5e-3)
    # 1 / 295.2 of the peak would be used if decode could reach the whole of it.
    assert answer["roofline"]["mfu"] == pytest.approx(0.0034, rel=2e-2)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(LLAMA_8B, 131_072, id="S04 Llama 3 8B"),
        pytest.param({"slug": LLAMA_8B, "override": {"kv_heads": 32}}, 524_288, id="S05 with full MHA"),
        pytest.param("opt-13b", 819_200, id="S06 OPT-13B"),
        pytest.param(LLAMA_70B, 327_680, id="S33 Llama 3 70B"),
    ],
)
def test_kv_bytes_per_token(ask, model, expected):
    assert memory(ask, model, H100, 1000)["kv_cache"]["bytes_per_token"] == expected


@pytest.mark.parametrize(
    ("model", "tokens", "expected"),
    [
        pytest.param(LLAMA_8B, 128_000, 16_777_216_000, id="S10"),
        pytest.param("llama-7b", 4096, 2_147_483_648, id="S22 LLaMA 7B, MHA"),
        pytest.param("llama-3.1-8b", 131_072, 17_179_869_184, id="S23 Llama 3.1 8B, GQA"),
        pytest.param(LLAMA_70B, 4096, 1_342_177_280, id="S33"),
        pytest.param(LLAMA_8B, 8192, 1_073_741_824, id="S40"),
    ],
)
def test_kv_bytes_of_one_conversation(ask, model, tokens, expected):
    assert memory(ask, model, H100, tokens)["kv_cache"]["bytes_per_sequence"] == expected


def test_s23_the_answer_says_why_the_mha_figure_is_another(ask):
    cache = memory(ask, "llama-3.1-8b", H100, 131_072)["kv_cache"]
    mha = {row["name"]: row["bytes_per_token"] for row in cache["alternatives"]}["mha"]
    assert mha * 131_072 == 68_719_476_736
    assert any("multi-head" in note and "GQA" in note for note in cache["notes"])


def test_s11_decode_ceiling_without_context(ask):
    answer = decode(ask, 1, 1)
    assert answer["expected"]["tokens_per_s_per_user"]["mid"] == pytest.approx(208.6, rel=1e-3)


@pytest.mark.parametrize(
    ("concurrency", "per_user", "total", "cost"),
    [pytest.param(1, "195.8", "196", "2.837", id="S12"), pytest.param(60, "42.4", "2545", "0.218", id="S13")],
)
def test_conversations_of_8000_tokens_at_2_usd_an_hour(ask, concurrency, per_user, total, cost):
    answer = decode(ask, 8000, concurrency)
    expected = answer["expected"]
    assert f"{expected['tokens_per_s_per_user']['mid']:.1f}" == per_user
    assert f"{expected['tokens_per_s_total']['mid']:.0f}" == total
    priced = self_hosted_cost(ask, concurrency)
    assert f"{float(priced):.3f}" == cost


def self_hosted_cost(ask, concurrency):
    body = {
        "self_hosted": {
            "price_per_gpu_hour": "2", "currency": "USD", "model": LLAMA_8B, "gpu": H100, "engine": "ideal",
            "workload": {"mode": "decode_step", "context_tokens": 8000, "concurrency": concurrency},
        }
    }  # fmt: skip
    return ask("cost", body)["self_hosted"]["cost_per_mtok_output"]


def test_s14_how_many_conversations_fit_with_nothing_reserved(ask):
    assert memory(ask, LLAMA_8B, H100, 8000)["kv_cache"]["max_sequences"] == 59 + 1
    assert memory(ask, LLAMA_8B, H100, 128_000)["kv_cache"]["max_sequences"] == 3


def test_s15_sixty_conversations_cost_a_thirteenth(ask):
    assert float(self_hosted_cost(ask, 1)) / float(self_hosted_cost(ask, 60)) == pytest.approx(13.0, rel=0.01)


def test_s16_cache_meters_follow_from_the_multipliers(ask):
    meters = {"input": "3", "output": "15", "cache_read": "0.30", "cache_write_5m": "3.75"}
    usage = {"cache_read_tokens": 1_000_000, "cache_write_5m_tokens": 1_000_000}
    answer = ask("cost", {"api": {"price": {"currency": "USD", "meters": meters}, "usage": usage}})
    assert {line["meter"]: line["amount"] for line in answer["api"]["lines"]} == {
        "cache_read": "0.3", "cache_write_5m": "3.75",
    }  # fmt: skip
    assert answer["api"]["total"] == "4.05"


def test_s17_s19_mixtral_is_held_whole_and_computed_in_part(ask):
    answer = memory(ask, MIXTRAL, H100, 1000)
    assert answer["parameters"]["total"] == 46_702_792_704
    assert answer["parameters"]["active"] == 12_879_925_248
    assert not answer["feasible"]
    assert answer["per_gpu"]["weights_bytes"] == 93_405_585_408


def test_s18_share_of_experts_that_a_batch_touches(ask):
    shares = []
    for batch in (1, 8, 16):
        answer = decode(ask, 1, batch, model=MIXTRAL, gpu="h200-sxm-141gb")
        cache = 131_072 * batch
        experts = 32 * 8 * 3 * 4096 * 14_336 * 2
        shares.append((answer["decode"]["bytes"] - cache - (93_405_585_408 - experts)) / experts)
    assert shares == pytest.approx([0.25, 0.8999, 0.98998], rel=1e-3)


def test_s21_speculation_with_four_drafted_tokens(ask):
    answer = decode(ask, 1000, 1, speculative={"acceptance_rate": 0.8, "draft_tokens": 4, "draft_cost_ratio": 0.05})[
        "speculative"
    ]
    assert answer["tokens_per_pass"] == pytest.approx(3.3616, rel=1e-3)
    assert answer["speedup"] == pytest.approx(2.801, rel=1e-3)


def test_s24_seven_billion_on_a_4090(ask):
    answer = ask(
        "throughput",
        {
            "model": {"parameters": 7e9, "layers": 32, "heads": 32, "head_dim": 128},
            "gpu": {
                "memory_bytes": 24e9, "memory_bandwidth_bytes_per_s": 1.008e12, "peak_flops_per_s": {"fp16": 82e12},
            },
            "engine": "ideal",
            "precision": {"weights": "fp16", "kv_cache": "fp16"},
            "workload": {"mode": "decode_step", "context_tokens": 1, "concurrency": 1},
        },
    )  # fmt: skip
    assert answer["decode"]["step_s"] == pytest.approx(0.01389, rel=5e-3)
    assert answer["expected"]["tokens_per_s_per_user"]["mid"] == pytest.approx(72.0, rel=5e-3)
    assert answer["binding_term"] == "memory_bandwidth"


def test_s26_ceiling_and_expectation_over_batches_are_both_shown(ask):
    answer = ask(
        "throughput",
        {
            "model": "llama-2-7b", "gpu": "rtx-4090", "engine": "vllm-0.19",
            "workload": {
                "mode": "closed_loop", "input_tokens": 100, "output_tokens": 200, "concurrency": 1,
                "batch_sizes": [1, 4, 16],
            },
        },
    )  # fmt: skip
    ceiling = [row["ceiling_tokens_per_s_total"] for row in answer["rows"]]
    expected = [row["tokens_per_s_total"]["mid"] for row in answer["rows"]]
    assert all(low < high for low, high in zip(expected, ceiling, strict=True))
    # The expectation grows by less than the batch.
    assert expected[2] / expected[0] < 16
    assert expected[0] < expected[1] < expected[2]


def test_s27_each_kv_technique_is_a_parameter(ask):
    names = {row["name"] for row in memory(ask, LLAMA_8B, H100, 8192)["kv_cache"]["alternatives"]}
    assert {"mha", "mqa", "mla", "kv_fp8", "kv_int8", "kv_int4"} <= names
    assert any(name.startswith("gqa") for name in names)
    assert any(name.startswith("window") for name in names)
    for override, expected in (({"kv_heads": 1}, 16_384), ({"latent_rank": 512}, 32 * (512 + 64) * 2)):
        answer = memory(ask, {"slug": LLAMA_8B, "override": override}, H100, 8192)
        assert answer["kv_cache"]["bytes_per_token"] == expected
    windowed = memory(ask, {"slug": LLAMA_8B, "override": {"window_tokens": 4096}}, H100, 8192)
    assert windowed["kv_cache"]["bytes_per_sequence"] == 4096 * 131_072


def test_s28_s45_tokens_from_words_and_what_a_window_leaves(ask):
    answer = ask("tokens", {"words": 900, "language": "en", "max_output_tokens": 1000, "context_window_tokens": 8192})
    assert (answer["tokens"], answer["total_tokens"], answer["fits"], answer["remaining_tokens"]) == (
        1200, 2200, True, 5992,
    )  # fmt: skip
    # 6,000 English words are 8,000 tokens by the same rule.
    window = ask("tokens", {"words": 6000, "language": "en", "max_output_tokens": 0, "context_window_tokens": 8192})
    assert (window["tokens"], window["remaining_tokens"]) == (8000, 192)


def test_s41_spanish_needs_more_tokens_a_word_than_english(ask):
    spanish, english = (ask("tokens", {"words": 900, "language": code})["tokens"] for code in ("es", "en"))
    assert spanish > english


@pytest.mark.parametrize(
    ("weights", "expected"), [("bf16", 26_000_000_000), ("int8", 13_000_000_000), ("int4", 6_500_000_000)]
)
def test_s29_weights_of_13b_as_the_document_counts_them(ask, weights, expected):
    answer = memory(ask, THIRTEEN_B, H100, 1000, precision={"weights": weights})
    assert answer["per_gpu"]["weights_bytes"] == expected


THIRTEEN_B = {"parameters": 13e9, "layers": 40, "heads": 40, "head_dim": 128}
L4_FIGURES = {
    "memory_bytes": 24e9, "memory_bandwidth_bytes_per_s": 300e9, "peak_flops_per_s": {"bf16": 121e12, "int8": 242e12},
}  # fmt: skip


def test_s30_13b_on_an_l4(ask):
    bf16, int8, int4 = (
        memory(ask, THIRTEEN_B, L4, 2, memory=MARGIN, precision={"weights": weights})
        for weights in ("bf16", "int8", "int4")
    )
    assert not bf16["feasible"]
    assert bf16["binding_term"] == "weights"
    assert int8["kv_cache"]["capacity_bytes"] == pytest.approx(6.6e9, rel=1e-3)
    assert int4["feasible"]


@pytest.mark.parametrize(("tokens", "expected"), [(4096, 50), (2250, 92)])
def test_s34_conversations_in_68_4_gb(ask, tokens, expected):
    weights = 70_553_706_496 * 2
    gpu = {
        "memory_bytes": weights + 68_400_000_000, "memory_bandwidth_bytes_per_s": 1e13,
        "peak_flops_per_s": {"bf16": 1e15},
    }  # fmt: skip
    assert memory(ask, LLAMA_70B, gpu, tokens)["kv_cache"]["max_sequences"] == expected


def test_s35_fifty_conversations_of_8192_tokens_need_seventeen_l4(ask):
    answer = memory(ask, LLAMA_8B, L4, 8192, 50, memory=MARGIN)
    assert answer["kv_cache"]["capacity_bytes"] == 3_539_477_504
    assert answer["kv_cache"]["max_sequences"] == 3
    sized = ask(
        "sizing",
        {
            "model": LLAMA_8B, "engine": "ideal", "memory": MARGIN,
            "workload": {"input_tokens": 8191, "output_tokens": 1}, "demand": {"concurrency": 50},
            "candidates": {"gpus": [L4], "precisions": ["bf16"], "tp": [1]}, "objective": "min_gpus",
        },
    )  # fmt: skip
    assert sized["options"][0]["gpus"] == 17


def test_s36_the_same_on_one_h100_is_tight(ask):
    answer = memory(ask, LLAMA_8B, H100, 8192, 50, memory=MARGIN)
    assert answer["kv_cache"]["capacity_bytes"] == pytest.approx(53.9e9, rel=2e-3)
    assert answer["kv_cache"]["needed_bytes"] == 53_687_091_200
    assert (answer["verdict"], answer["binding_term"]) == ("tight", "kv_cache")


def test_s37_s38_parameters_from_the_configuration(ask):
    big = memory(ask, LLAMA_70B, H100, 1000)["parameters"]
    assert (big["total"], big["mlp"]) == (70_553_706_496, 56_371_445_760)
    assert memory(ask, LLAMA_8B, H100, 1000)["parameters"]["total"] == 8_030_261_248


@pytest.mark.parametrize(("weights", "expected"), [("bf16", 18.7), ("int8", 37.4)])
def test_s39_decode_ceiling_of_an_8b_model_on_an_l4(ask, weights, expected):
    answer = decode(ask, 1, 1, gpu=L4, precision={"weights": weights})
    assert answer["expected"]["tokens_per_s_per_user"]["mid"] == pytest.approx(expected, rel=5e-3)


def test_s42_ttft_and_tpot_apart_and_goodput_at_the_load_where_both_hold(ask):
    answer = ask(
        "throughput",
        {
            "model": LLAMA_8B, "gpu": H100, "engine": "vllm-0.19",
            "workload": {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 200, "requests_per_s": 2},
            "slo": {"ttft_s": 1.0, "tpot_s": 0.05},
        },
    )  # fmt: skip
    expected = answer["expected"]
    assert expected["ttft_s"]["mid"] > expected["tpot_s"]["mid"] > 0
    assert 0 < expected["goodput_requests_per_s"]["mid"] <= 2
    assert expected["max_requests_per_s_within_slo"]["low"] > 0


def test_s43_the_variable_part_first_saves_nothing(ask):
    meters = {"input": "3", "output": "15", "cache_read": "0.30", "cache_write_5m": "3.75"}
    answer = ask(
        "prompt-cache",
        {
            "api": {"price": {"currency": "USD", "meters": meters}}, "prefix_tokens": 20_000, "suffix_tokens": 1000,
            "output_tokens": 500, "variable_part_first": True,
            "arrivals": {"kind": "poisson", "requests_per_hour": 30},
            "policy": {"ttls_s": [300], "refresh_on_hit": True, "min_tokens": 1024},
        },
    )  # fmt: skip
    assert float(answer["saving"]) == 0
    assert any("variable" in str(reason) for reason in answer["reasons"])


@pytest.mark.parametrize(
    ("model", "multiplier"), [("claude-opus-5-5", "0.05"), ("claude-fable-5-2", "0.025"), ("claude-haiku-4-5", "0.1")]
)
def test_s47_cache_reads_at_a_tenth_a_twentieth_and_a_fortieth_exist(ask, client, model, multiplier):
    from decimal import Decimal

    answer = ask(
        "cost",
        {
            "api": {
                "price": f"anthropic/{model}", "on": "2026-11-29",
                "usage": {"input_tokens": 1_000_000, "cache_read_tokens": 1_000_000},
            }
        },
    )  # fmt: skip
    amounts = {line["meter"]: Decimal(line["amount"]) for line in answer["api"]["lines"]}
    assert amounts["cache_read"] / amounts["input"] == Decimal(multiplier)


@pytest.mark.parametrize(
    ("tokens_per_s", "word"), [(240, "instant"), (50, "comfortable"), (10, "slow"), (2, "painful")]
)
def test_s48_words_for_speeds(ask, tokens_per_s, word):
    bandwidth = tokens_per_s * 16_060_522_496
    gpu = {"memory_bytes": 80e9, "memory_bandwidth_bytes_per_s": bandwidth, "peak_flops_per_s": {"bf16": 1e15}}
    answer = decode(ask, 1, 1, gpu=gpu)
    assert word in answer["speed_word"]
