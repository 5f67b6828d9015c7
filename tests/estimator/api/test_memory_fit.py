"""estimates/memory-fit over REST: the cases people reported, the source documents' figures, and faults."""

import orjson
import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
GIB = 2**30
H100 = {"memory_bytes": int(79.18 * GIB), "memory_bandwidth_bytes_per_s": 3.35e12, "peak_flops_per_s": {"bf16": 989e12}}


def ask(client, **body):
    body.setdefault("gpu", H100)
    load = body.pop("load", None)
    if load:
        sequences, tokens = load
        body["workload"] = {
            "mode": "closed_loop", "input_tokens": tokens - 1, "output_tokens": 1, "concurrency": sequences,
        }  # fmt: skip
    response = client.post("/api/v1/estimates/memory-fit/", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


def gpu(gib, **more):
    return {**H100, "memory_bytes": int(gib * GIB), **more}


def test_m01_activation_grows_with_the_unchunked_prompt(client):
    answers = [
        ask(
            client,
            model="llama-3.1-8b",
            gpu=gpu(23.58),
            engine="vllm-v0",
            memory={"utilization": 0.9},
            load=(1, tokens),
        )
        for tokens in (20_000, 29_000, 35_000)
    ]
    assert [answer["feasible"] for answer in answers] == [True, False, True]
    assert [round(answer["kv_cache"]["capacity_bytes"] / GIB, 1) for answer in answers[:2]] == [3.9, 2.9]
    assert answers[1]["binding_term"] == "kv_cache"


def test_m02_cache_of_a_gqa_model_with_int8_weights(client):
    answer = ask(client, model="qwen2.5-7b-instruct", precision={"weights": "int8"}, load=(1, 3072))
    assert answer["kv_cache"]["bytes_per_token"] == 57_344
    assert answer["kv_cache"]["bytes_per_sequence"] / GIB == pytest.approx(0.164, abs=5e-4)
    assert answer["kv_cache"]["notes"]


def test_m04_window_and_global_layers_of_gemma_4(client):
    answer = ask(client, model="gemma-4-31b", gpu=gpu(139.8), engine="vllm-0.19", load=(1, 262_144))
    cache = answer["kv_cache"]
    assert cache["bytes_per_token"] == 80 * 1024
    assert cache["engine_allocated_bytes_per_sequence"] / 262_144 / 1024 == pytest.approx(108.2, rel=2e-3)


def test_m05_a_single_token_counts_all_layers(client):
    answer = ask(client, model="gpt-oss-120b", precision={"weights": "mxfp4"}, load=(1, 2))
    assert answer["kv_cache"]["bytes_per_token"] + answer["kv_cache"]["window_bytes_per_token"] == 73_728


def test_m07_gemma_3_27b_at_128k(client):
    answer = ask(client, model="gemma-3-27b-it", engine="ideal", gpu=gpu(200), load=(1, 131_072))
    assert answer["kv_cache"]["bytes_per_sequence"] / 1e9 == pytest.approx(11.17, abs=0.01)
    half = ask(
        client, model="gemma-3-27b-it", engine="ideal", gpu=gpu(200), precision={"kv_cache": "fp8"}, load=(1, 131_072)
    )
    assert half["kv_cache"]["bytes_per_sequence"] * 2 == answer["kv_cache"]["bytes_per_sequence"]


def test_m08_latent_cache_is_neither_doubled_nor_split(client):
    answer = ask(
        client, model="deepseek-v3", gpu=gpu(141), precision={"weights": "fp8"}, parallelism={"tp": 8}, load=(1, 4096)
    )
    assert answer["kv_cache"]["bytes_per_token"] == 70_272
    assert answer["kv_cache"]["engine_allocated_bytes_per_sequence"] == 70_272 * 4096


def test_m15_llama_2_7b_at_4196(client):
    answer = ask(client, model="llama-2-7b", engine="ideal", load=(1, 4196))
    assert answer["kv_cache"]["bytes_per_token"] == 524_288
    assert answer["kv_cache"]["bytes_per_sequence"] / GIB == pytest.approx(2.05, abs=5e-3)


def test_m18_weights_of_llama_3_1_70b(client):
    answer = ask(client, model="llama-3.1-70b", engine="ideal", load=(1, 1024))
    assert answer["parameters"]["total"] == 70_553_706_496
    assert answer["per_gpu"]["weights_bytes"] == 141_107_412_992
    real = ask(client, model="llama-3.1-70b", gpu="h100-sxm5-80gb", memory={"utilization": 0.95}, load=(1, 1024))
    assert 75.2 <= real["per_gpu"]["usable_bytes"] / GIB <= 75.7


M21 = [
    ("gpt-oss-20b", "mxfp4", 1, 50.28, 13.47), ("llama-3.3-70b-instruct", "fp8", 2, 32.00, 33.88),
    ("llama-3.1-8b-instruct", "bf16", 1, 51.38, 14.99), ("qwen3-32b", "bf16", 1, 4.45, 61.03),
    ("qwen3-32b", "bf16", 2, 34.49, 30.59), ("qwen3-0.6b", "bf16", 1, 64.45, 1.12),
]  # fmt: skip


@pytest.mark.parametrize(("slug", "weights", "tp", "cache_gib", "weights_gib"), M21)
def test_m21_measured_anchors(client, slug, weights, tp, cache_gib, weights_gib):
    answer = ask(
        client, model=slug, engine="vllm-0.11", precision={"weights": weights}, parallelism={"tp": tp},
        memory={"utilization": 0.9}, load=(1, 16_000),
    )  # fmt: skip
    assert answer["kv_cache"]["capacity_bytes"] / GIB == pytest.approx(cache_gib, rel=0.005)
    assert answer["per_gpu"]["weights_bytes"] / GIB == pytest.approx(weights_gib, rel=0.01)


@pytest.mark.parametrize(
    ("slug", "weights", "tokens", "term"),
    [
        ("llama-3.3-70b-instruct", "fp8", 16_000, "activation"),
        ("qwen3-32b", "bf16", 32_000, "kv_cache"),
        ("deepseek-r1", "fp8", 16_000, "weights"),
    ],
)
def test_m22_failed_starts_are_refused(client, slug, weights, tokens, term):
    answer = ask(
        client, model=slug, engine="vllm-0.11", precision={"weights": weights}, memory={"utilization": 0.9},
        load=(1, tokens), gpu="h100-sxm5-80gb",
    )  # fmt: skip
    assert (answer["feasible"], answer["verdict"], answer["binding_term"]) == (False, "does_not_fit", term)
    changes = {one["change"]: one["value"] for one in answer["suggestions"]}
    if term != "weights":  # 671 GB need more than one node of H100
        assert changes["parallelism.tp"] == 2


def test_m25_observed_pool(client):
    answer = ask(client, model="qwen2.5-7b-instruct", memory={"kv_cache_tokens_observed": 299_584}, load=(1, 8192))
    assert answer["kv_cache"]["basis"] == "observed"
    assert answer["kv_cache"]["capacity_tokens"] == 299_584
    assert answer["kv_cache"]["capacity_bytes"] == 299_584 * 57_344  # 16.0 GiB


def test_m27_activations_are_on_every_gpu(client):
    one, four = (
        ask(client, model="qwen2.5-7b-instruct", gpu=gpu(22.0), parallelism={"tp": tp}, load=(1, 1024)) for tp in (1, 4)
    )
    # the sampler's logits are not split: four GPUs pay them four times
    assert four["per_gpu"]["activation_bytes"] >= 0.5 * one["per_gpu"]["activation_bytes"]


def test_m29_a_draft_model_needs_weights_and_cache_of_its_own(client):
    plain = ask(client, model="llama-3.3-70b-instruct", gpu=gpu(180), load=(8, 4096))
    drafted = ask(
        client, model="llama-3.3-70b-instruct", gpu=gpu(180), load=(8, 4096),
        speculative={"acceptance_rate": 0.7, "draft_tokens": 4, "draft_model": "llama-3.2-1b"},
    )  # fmt: skip
    assert drafted["per_gpu"]["draft_bytes"] == pytest.approx(2 * 1_235_814_400, rel=1e-6)
    assert drafted["per_gpu"]["kv_cache_bytes"] - plain["per_gpu"]["kv_cache_bytes"] == 8 * 4096 * 32_768


@pytest.mark.parametrize(
    ("slug", "mib"),
    [("h100-sxm5-80gb", 81_559), ("a100-sxm4-80gb", 81_920), ("l4", 23_034), ("t4", 15_360), ("l40s", 46_068)],
)
def test_m31_usable_memory_is_what_the_driver_shows_not_the_box(client, slug, mib):
    names = {row["slug"] for row in client.get("/api/v1/gpus/?page_size=100").json()["results"]}
    found = next((name for name in sorted(names) if name == slug or name.startswith(slug + "-")), None)
    assert found, slug
    answer = ask(client, model="smollm2-135m", gpu=found, load=(1, 64))
    assert 0.95 * mib * 2**20 <= answer["per_gpu"]["memory_bytes"] <= mib * 2**20


def test_m32_activations_refuse_what_a_capacity_check_passes(client):
    answer = ask(
        client, model="llama-3.3-70b-instruct", engine="vllm-0.11", precision={"weights": "fp8"},
        memory={"utilization": 0.95}, load=(1, 16_000),
    )  # fmt: skip
    assert answer["feasible"] is False
    assert answer["per_gpu"]["activation_bytes"] / GIB == pytest.approx(4.84, abs=0.1)


def test_m35_adapters_are_shown_apart(client):
    answer = ask(client, model="llama-3.1-8b", lora={"max_loras": 4, "max_rank": 16}, load=(1, 1024))
    assert answer["per_gpu"]["lora_bytes"] == 4 * 16 * 32 * (2 * 8192 + 2 * 5120 + 3 * 18_432) * 2


def test_m37_advice_depends_on_the_term_that_failed(client):
    weights = ask(client, model="llama-3.3-70b-instruct", gpu="h100-sxm5-80gb", load=(1, 1024))
    cache = ask(client, model="llama-3.1-8b", gpu="h100-sxm5-80gb", load=(200, 16_384))
    assert weights["binding_term"] == "weights"
    assert {one["change"] for one in weights["suggestions"]} <= {"precision.weights", "parallelism.tp", "gpu"}
    assert [one["change"] for one in cache["suggestions"]][:2] == ["context_tokens", "sequences"]


def test_s23_the_figure_of_the_document_is_the_mha_one(client):
    answer = ask(client, model="llama-3.1-8b", engine="ideal", load=(1, 131_072))
    assert answer["kv_cache"]["bytes_per_sequence"] == 17_179_869_184
    mha = next(one for one in answer["kv_cache"]["alternatives"] if one["name"] == "mha")
    assert mha["bytes_per_token"] * 131_072 == 68_719_476_736
    assert "multi-head" in answer["kv_cache"]["notes"][0]


@pytest.mark.parametrize(
    ("override", "bytes_per_token"),
    [({"kv_heads": 32}, 524_288), ({"kv_heads": 1}, 16_384), ({"latent_rank": 512}, 36_864)],
)
def test_s27_each_technique_is_a_parameter(client, override, bytes_per_token):
    answer = ask(client, model={"slug": "llama-3-8b", "override": override}, engine="ideal", load=(1, 1024))
    assert answer["kv_cache"]["bytes_per_token"] == bytes_per_token


@pytest.mark.parametrize(
    ("slug", "tokens", "figure"),
    [
        ("llama-3-8b", 128_000, 16_777_216_000), ("llama-2-7b", 4096, 2_147_483_648),
        ("llama-3-70b", 4096, 1_342_177_280), ("llama-3-8b", 8192, 1_073_741_824),
    ],
)  # fmt: skip
def test_s10_s22_s33_s40_cache_of_one_conversation(client, slug, tokens, figure):
    answer = ask(client, model=slug, engine="ideal", gpu=gpu(400), load=(1, tokens))
    assert answer["kv_cache"]["bytes_per_sequence"] == figure


def test_s34_conversations_in_what_is_free(client):
    # 68.4 GB free beside the weights of Llama 3 70B
    free = {**H100, "memory_bytes": 68_400_000_000 + 141_107_412_992}
    for tokens, sequences in ((4096, 50), (2250, 92)):
        answer = ask(client, model="llama-3-70b", engine="ideal", gpu=free, load=(1, tokens))
        assert answer["kv_cache"]["max_sequences"] == sequences


def test_a_plan_that_does_not_fit_is_an_answer_not_an_error(client):
    answer = ask(client, model="llama-3.1-405b", gpu=gpu(22.0), load=(1, 1024))
    ledger = answer["per_gpu"]
    parts = ("unmanaged", "weights", "runtime_overhead", "activation", "cuda_graph", "kv_cache", "slack")
    assert ledger["slack_bytes"] < 0
    assert sum(ledger[f"{part}_bytes"] for part in parts) == ledger["memory_bytes"]


def test_files_in_another_format_than_asked_are_told(client):
    answer = ask(client, model="gpt-oss-20b", load=(1, 1024))
    assert any("mxfp4" in warning for warning in answer["warnings"])
    same = ask(client, model="gpt-oss-20b", precision={"weights": "mxfp4"}, load=(1, 1024))
    assert not any("own files" in warning for warning in same["warnings"])


def test_stored_bytes_of_a_checkpoint_beat_the_formula(client):
    answer = ask(client, model="qwen3-8b", precision={"weights": "int4"}, engine="vllm-0.19", load=(1, 1024))
    assert answer["per_gpu"]["weights_bytes"] == round(5.68 * GIB)


def test_a_cache_that_does_not_grow_has_no_longest_length(client):
    answer = ask(client, model="falcon-mamba-7b", load=(4, 1200))
    assert answer["kv_cache"]["bytes_per_token"] == 0
    assert answer["kv_cache"]["max_context_tokens"] is None


def test_context_tokens_alone_are_a_load(client):
    def fit(**load):
        body = {"model": "llama-3.1-8b", "gpu": "l4", "workload": {"concurrency": 2, **load}}
        response = client.post("/api/v1/estimates/memory-fit/", orjson.dumps(body), content_type="application/json")
        assert response.status_code == 200, response.content
        return response.json()

    alone = fit(context_tokens=6000)
    assert alone["kv_cache"] == fit(input_tokens=5000, output_tokens=1000)["kv_cache"]
    assert alone["inputs"]["workload"]["context_tokens"] == 6000
