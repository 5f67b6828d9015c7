"""Faults of weights, starts and budgets that people reported in other tools (M15 and up), asked as they would.

Figures are worked out by hand in the tests: layers · KV heads · head width · bytes and the like, never by our code.
"""

from pathlib import Path

import pytest

from tests.acceptance.memory_questions import GIB, H100, cache, card, changes


def test_m15_the_cache_of_an_mha_model_is_a_part_of_what_the_driver_shows(fit):
    answer = fit("llama-2-7b", "rtx-3090", 4196, precision={"weights": "fp16", "kv_cache": "fp16"})
    assert cache(answer)["bytes_per_token"] == 524_288
    assert cache(answer)["bytes_per_sequence"] / GIB == pytest.approx(2.05, abs=2e-3)
    assert any("allocator" in note for note in cache(answer)["notes"])
    ledger = answer["per_gpu"]
    assert ledger["activation_bytes"] > 0
    assert ledger["runtime_overhead_bytes"] > 0


def test_m18_bytes_of_the_weights_and_what_a_card_leaves(fit):
    answer = fit("llama-3.1-70b", H100, 4096, parallelism={"tp": 4}, memory={"utilization": 0.95})
    assert answer["parameters"]["total"] == 70_553_706_496
    weights = 4 * answer["per_gpu"]["weights_bytes"]
    assert weights / GIB == pytest.approx(131.42, rel=1e-3)  # which is 141.1 GB
    assert weights / 1e9 == pytest.approx(141.1, rel=1e-3)
    assert 79.18 <= answer["per_gpu"]["memory_bytes"] / GIB <= 79.65
    assert 75.2 <= answer["per_gpu"]["usable_bytes"] / GIB <= 75.7


@pytest.mark.parametrize(
    ("model", "tp", "precision", "cache_gib", "weights_gib"),
    [
        ("gpt-oss-20b", 1, {"expert_weights": "mxfp4"}, 50.28, 13.47),
        ("llama-3.3-70b-instruct", 2, {"weights": "fp8"}, 32.00, 33.88),
        ("llama-3.1-8b", 1, {}, 51.38, 14.99),
        ("qwen3-0.6b", 1, {}, 64.45, 1.12),
        ("qwen3-32b", 1, {}, 4.45, 61.03),
        ("qwen3-32b", 2, {}, 34.49, 30.59),
    ],
)
def test_m21_start_ups_of_six_models_on_h100(fit, model, tp, precision, cache_gib, weights_gib):
    answer = fit(model, card(79.18), 16_384, engine="vllm-0.11", parallelism={"tp": tp}, precision=precision)
    assert answer["feasible"]
    assert abs(cache(answer)["capacity_bytes"] / GIB - cache_gib) <= max(0.05 * cache_gib, 1.0)
    # The row asks for 5 % or 1 GiB; the product is held to more.
    assert cache(answer)["capacity_bytes"] / GIB == pytest.approx(cache_gib, abs=0.15)
    assert answer["per_gpu"]["weights_bytes"] / GIB == pytest.approx(weights_gib, rel=0.01)


@pytest.mark.parametrize(
    ("model", "weights", "tokens", "term"),
    [
        ("llama-3.3-70b-instruct", "fp8", 16_000, "activation"),
        ("qwen3-32b", "bf16", 32_000, "kv_cache"),
        ("deepseek-r1", "fp8", 16_000, "weights"),
    ],
)
def test_m22_plans_that_fail_to_start_are_refused_with_what_binds(fit, model, weights, tokens, term):
    answer = fit(model, H100, tokens, engine="vllm-0.11", precision={"weights": weights})
    assert (answer["feasible"], answer["verdict"], answer["binding_term"]) == (False, "does_not_fit", term)
    assert answer["per_gpu"]["slack_bytes"] < 0
    if term == "weights":  # 627 GiB want two machines
        assert changes(answer)["parallelism"] == {"tp": 8, "pp": 2}
    else:
        assert changes(answer)["parallelism.tp"] == 2
        assert fit(model, H100, tokens, engine="vllm-0.11", precision={"weights": weights}, parallelism={"tp": 2})[
            "feasible"
        ]


def test_m25_an_observed_pool_of_16_gib(fit):
    answer = fit("qwen2.5-7b-instruct", "gb200", 6000, memory={"kv_cache_tokens_observed": 299_584})
    assert cache(answer)["capacity_tokens"] == 299_584
    assert cache(answer)["capacity_bytes"] == 299_584 * 57_344
    assert cache(answer)["capacity_bytes"] / GIB == pytest.approx(16.0, abs=1e-3)
    assert cache(answer)["basis"] == "observed"


def test_m27_what_every_gpu_needs_is_taken_from_every_gpu(fit):
    # 4 cards of 24 GB, 5 GB on each for activations: the pool of caches is 4 · (24 − 16/4 − 5) GB, not 4 · 24 − 16 − 5.
    model = {"parameters": 8e9, "layers": 28, "heads": 28, "kv_heads": 4, "head_dim": 128}
    gpu = {"memory_bytes": 24e9, "memory_bandwidth_bytes_per_s": 6e11, "peak_flops_per_s": {"bf16": 1.25e14}}
    answer = fit(
        model, gpu, 4096, engine="ideal", parallelism={"tp": 4}, memory={"runtime_overhead_bytes": 5_000_000_000}
    )
    assert answer["per_gpu"]["weights_bytes"] == 4e9
    assert cache(answer)["capacity_bytes"] == 24e9 - 4e9 - 5e9
    # One of four KV heads on each GPU: 14,336 bytes a token.
    assert cache(answer)["capacity_tokens"] == int(15e9 / 14_336)


def test_m27_a_vision_model_on_four_a10g(fit):
    one, four = (fit("qwen2.5-vl-7b-instruct", "a10g", 4096, parallelism={"tp": tp}) for tp in (1, 4))
    # The sampler's logits are not split.
    assert four["per_gpu"]["activation_bytes"] >= 0.9 * one["per_gpu"]["activation_bytes"]
    assert four["per_gpu"]["memory_bytes"] == one["per_gpu"]["memory_bytes"]


def test_m29_a_draft_model_brings_weights_and_a_cache_of_its_own(fit):
    def at(**more):
        return fit("llama-3.3-70b-instruct", H100, 8192, 8, parallelism={"tp": 4}, **more)

    asked = {"acceptance_rate": 0.7, "draft_tokens": 4}
    plain, drafted = at(), at(speculative=asked | {"draft_model": "llama-3.2-1b"})
    assert drafted["per_gpu"]["draft_bytes"] == pytest.approx(1_235_814_400 * 2 / 4, rel=1e-3)
    # 16 layers, two of eight KV heads of 64 on each GPU.
    added = 8 * 8192 * 16 * 2 * 2 * 64 * 2
    assert drafted["per_gpu"]["kv_cache_bytes"] - plain["per_gpu"]["kv_cache_bytes"] == added
    assert cache(drafted)["max_sequences"] < cache(plain)["max_sequences"]
    # A draft given by its cost alone has no size: the answer says what it left out.
    costed = at(speculative=asked | {"draft_cost_ratio": 0.05})
    assert any("draft" in text for text in costed["not_modelled"])
    assert not any("draft" in text for text in drafted["not_modelled"])


def test_m29_prediction_layers_that_are_loaded_have_a_cache_too(fit):
    plain, loaded = (
        fit("deepseek-r1", "b300-sxm-288gb", 8192, 8, engine="sglang-0.5", parallelism={"tp": 8},
            precision={"weights": "fp8"}, memory={"utilization": 0.75}, mtp_layers_loaded=layers)
        for layers in (0, 1)
    )  # fmt: skip
    assert loaded["per_gpu"]["mtp_bytes"] > 2 * 11e9 / 8
    assert loaded["per_gpu"]["kv_cache_bytes"] - plain["per_gpu"]["kv_cache_bytes"] == 8 * 8192 * (512 + 64) * 2


@pytest.mark.parametrize(
    ("slug", "mib"),
    [
        (H100, 81_559), ("a100-sxm4-80gb", 81_920), ("a100-sxm4-40gb", 40_960), ("a10", 23_028), ("l40s", 46_068),
        ("l4", 23_034), ("t4", 15_360),
    ],
)  # fmt: skip
def test_m31_the_catalog_holds_what_the_driver_shows_and_counts_with_what_cuda_shows(client, fit, slug, mib):
    row = client.get(f"/api/v1/gpus/{slug}/").json()
    assert row["memory_driver_bytes"] == mib * 2**20
    used = fit("smollm2-135m", slug, 64)["per_gpu"]["memory_bytes"]
    assert 0.98 * mib * 2**20 <= used < mib * 2**20


def test_m32_activations_refuse_what_a_capacity_check_passes(fit):
    answer = fit(
        "llama-3.3-70b-instruct", H100, 16_000, engine="vllm-0.11", precision={"weights": "fp8"},
        memory={"utilization": 0.95},
    )  # fmt: skip
    assert not answer["feasible"]
    assert answer["per_gpu"]["activation_bytes"] / GIB == pytest.approx(4.84, abs=0.1)
    # The check that passed: weights and cache alone are within the budget.
    assert answer["per_gpu"]["weights_bytes"] + answer["per_gpu"]["kv_cache_bytes"] < answer["per_gpu"]["usable_bytes"]
    assert changes(answer)["parallelism.tp"] == 2


def test_m32_the_activation_estimate_names_its_source(ask):
    body = {
        "model": "llama-3.3-70b-instruct", "gpu": H100, "engine": "vllm-0.11", "precision": {"weights": "fp8"},
        "workload": {"input_tokens": 15_999, "output_tokens": 1},
    }  # fmt: skip
    steps = ask("memory-fit", body, explain=True)["explanation"]
    assert any("activation" in step["name"] and "start-up logs" in step["source"] for step in steps)


def test_m34_a_thin_remainder_is_warned_of_and_not_blamed_on_graphs(fit):
    def at(utilization):
        formats = {"weights": "bf16", "expert_weights": "mxfp4"}
        return fit("gpt-oss-120b", card(31.38), 8192, 8, engine="vllm-0.19", parallelism={"tp": 8}, precision=formats,
                   memory={"utilization": utilization})  # fmt: skip

    tight = at(0.95)
    ledger = tight["per_gpu"]
    assert ledger["usable_bytes"] / GIB == pytest.approx(29.81, abs=0.01)
    assert ledger["cuda_graph_outside_bytes"] < ledger["unmanaged_bytes"]
    warning = next(text for text in tight["warnings"] if "1.37 GiB above" in text)
    assert "memory.utilization" in warning
    assert "runtime_overhead_bytes" in warning  # the reserve one can set
    assert not any("1.37 GiB" in text for text in at(0.85)["warnings"])


@pytest.mark.parametrize(("loras", "rank"), [(1, 8), (4, 16), (16, 64)])
def test_m35_adapters_are_allocated_at_their_most_and_shown_apart(fit, loras, rank):
    plain = fit("llama-2-7b", "a100-sxm4-40gb", 2048, engine="vllm-v0")
    with_adapters = fit(
        "llama-2-7b", "a100-sxm4-40gb", 2048, engine="vllm-v0", lora={"max_loras": loras, "max_rank": rank}
    )
    # Four square matrices of 4,096 and three of 4,096 × 11,008 in each of 32 layers: rank · (in + out) · 2 bytes.
    by_hand = loras * rank * 32 * (4 * (4096 + 4096) + 3 * (4096 + 11_008)) * 2
    assert with_adapters["per_gpu"]["lora_bytes"] == by_hand
    assert cache(plain)["capacity_bytes"] - cache(with_adapters)["capacity_bytes"] == by_hand


def test_m35_what_adapters_of_a_mixture_leave_out_is_said(fit):
    answer = fit("qwen3-30b-a3b", H100, 4096, lora={"max_loras": 2, "max_rank": 8})
    assert any("routed experts" in text for text in answer["not_modelled"])


def test_m37_weights_that_do_not_fit_ask_for_a_larger_share(fit):
    # 13.5 GiB of weights in half of 22.2 GiB: out of memory at start, so the share goes up.
    answer = fit("mistral-7b-v0.1", "l4", 4096, engine="sglang-0.5", memory={"utilization": 0.5})
    assert answer["binding_term"] == "weights"
    assert changes(answer)["memory.utilization"] > 0.5
    again = fit("mistral-7b-v0.1", "l4", 4096, engine="sglang-0.5",
                memory={"utilization": changes(answer)["memory.utilization"]})  # fmt: skip
    assert again["feasible"]


def test_m37_activations_that_have_no_room_while_serving_ask_for_a_smaller_share(fit):
    answer = fit("mistral-7b-v0.1", "l4", 4096, engine="sglang-0.5", memory={"utilization": 0.995})
    warning = next(text for text in answer["warnings"] if "while serving" in text)
    assert "Lower memory.utilization" in warning
    assert not fit("mistral-7b-v0.1", "l4", 4096, engine="sglang-0.5")["warnings"]


def test_m37_a_load_that_does_not_fit_is_not_told_to_change_the_weights_first(fit):
    answer = fit("llama-3.1-8b", H100, 16_384, 200)
    assert answer["binding_term"] == "kv_cache"
    assert [one["change"] for one in answer["suggestions"]][:2] == ["context_tokens", "sequences"]
    for one in answer["suggestions"]:
        if one["change"] == "sequences":
            assert fit("llama-3.1-8b", H100, 16_384, one["value"])["feasible"]


def test_m38_the_error_on_published_start_ups_stands_in_the_answer_and_in_the_docs(ask):
    body = {
        "model": "llama-3.1-8b",
        "gpu": H100,
        "engine": "vllm-0.19",
        "workload": {"input_tokens": 1, "output_tokens": 1},
    }
    entries = {entry["what"]: entry for entry in ask("memory-fit", body)["provenance"]}
    assert "median 0.04 %" in entries["engine.memory_policy"]["source"]
    assert entries["engine.memory_policy"]["value"] == "calibrated"
    text = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert "start-up" in text.lower()


def test_a_model_shipped_in_a_narrow_format_is_not_silently_counted_in_another(fit):
    plain = fit("gpt-oss-120b", H100, 8192)
    assert plain["feasible"]
    assert plain["inputs"]["precision"]["weights"] == "mxfp4"
    assert any("own files store them, mxfp4" in text for text in plain["assumptions"])
    wide = fit("gpt-oss-120b", H100, 8192, precision={"weights": "bf16"})
    assert any("own files are mxfp4" in text for text in wide["warnings"])
    assert changes(wide)["precision.weights"] == "mxfp4"
    own = fit("gpt-oss-120b", H100, 8192, precision={"weights": "bf16", "expert_weights": "mxfp4"})
    assert own["feasible"]
    assert not any("own files" in text for text in own["warnings"])
