"""Starts of servers that people reported in 2025 and 2026, asked over REST: what the log printed, or how it refused.

Cases of cases/reported_faults.csv (N…) and start-up logs of truth/memory_2.csv (mx…).
"""

import json

import pytest

from tests.engine.memory.test_engine_memory_examples import KIMI_LINEAR
from tests.shared_data import shared_dir

pytestmark = pytest.mark.django_db

GIB = 2**30
FP8 = {"kv_cache": "fp8"}


def test_n01_a_request_of_the_whole_context_needs_what_the_server_says(ask):
    # MiniMax-M2.7 in 4 bits on two GB10: 23.25 GiB for 196,608 tokens, 22.50 for 190,272 (its room is said 12 GiB too
    # large there: memory of the host is memory of the GPU, docs/memory.md)
    config = json.loads((shared_dir() / "data/configs_2/MiniMaxAI__MiniMax-M2.7.json").read_text(encoding="utf-8"))
    body = {
        "model": {"config": config}, "gpu": "gb10-dgx-spark", "parallelism": {"tp": 2},
        "precision": {"weights": "int4"}, "memory": {"utilization": 0.8},
    }  # fmt: skip
    for tokens, gib in ((196_608, 23.25), (190_272, 22.50)):
        load = {"input_tokens": tokens, "output_tokens": 0}
        answer = ask("memory-fit", body | {"workload": load})
        assert answer["startup"]["request_bytes"] / GIB == pytest.approx(gib, abs=0.01)
        assert answer["verdict"] == "tight"
        assert any("cannot be known from here" in text for text in answer["warnings"])


def test_n02_kimi_linear_keeps_its_states_in_32_bits(fit):
    memory = {"utilization": 0.95, "max_num_seqs": 8, "max_batched_tokens": 64_000}
    startup = fit({"config": KIMI_LINEAR}, "rtx-3090", 120_000, engine="vllm-0.11", parallelism={"tp": 2},
                  precision={"weights": "int4", "kv_cache": "fp16"}, memory=memory)["startup"]  # fmt: skip
    assert startup["request_bytes"] == pytest.approx(995.8e6, rel=0.01)


def test_n03_the_same_pool_is_printed_ten_times_larger_from_0_20_2(fit):
    old, new = (
        fit("gemma-4-31b", "a100-sxm4-80gb", 131_072, engine=engine, precision={"weights": "int4"})["startup"]
        for engine in ("vllm-0.20.0", "vllm-0.21")
    )
    assert old["available_bytes"] == new["available_bytes"]
    assert old["kv_cache_tokens"] == pytest.approx(55_000, rel=0.07)
    assert new["kv_cache_tokens"] == pytest.approx(525_000, rel=0.08)


LLAMA_CPP = [
    # N14: 17.6 GiB allocated, the context of CUDA apart; N15: latent and index of today's llama.cpp
    ("qwen3.5-27b", "a40", 65_536, {"weights": "q4_k_m", "kv_cache": "q8_0"}, {}, 17.6, 0.02),
    ("glm-5", "b300-sxm-288gb", 202_752, {"weights": "q4_k_m", "kv_cache": "fp16"}, {"pp": 8}, 20.74, 0.001),
]


@pytest.mark.parametrize(("model", "gpu", "tokens", "precision", "degrees", "gib", "within"), LLAMA_CPP)
def test_n14_n15_what_llama_cpp_allocates(fit, model, gpu, tokens, precision, degrees, gib, within):
    answer = fit(model, gpu, tokens, engine="llama.cpp", precision=precision, parallelism=degrees)
    cache = answer["kv_cache"]["bytes_per_sequence"]
    said = cache if degrees else answer["per_gpu"]["weights_bytes"] + answer["kv_cache"]["needed_bytes"]
    assert said / GIB == pytest.approx(gib, rel=within)


def test_n16_n17_weights_of_a_70b_and_the_latent_layers_of_kimi_k3(fit):
    ideal = fit("llama-3.1-70b-instruct", "b300-sxm-288gb", 4096, engine="ideal", precision={"weights": "fp16"})
    assert ideal["per_gpu"]["weights_bytes"] / 1e9 == pytest.approx(140, rel=0.01)
    latent = fit("kimi-k3", "b300-sxm-288gb", 4096, engine="sglang", parallelism={"tp": 8})["kv_cache"]
    assert latent["bytes_per_token"] == 24 * 576 * 2


@pytest.mark.parametrize(
    ("model", "billions"), [("qwen3.8-flash-next", 177.4), ("glm-5.3-flash", 313.8), ("deepseek-v4.1-flash", 748.5)]
)
def test_n20_the_newest_models_are_read(fit, model, billions):
    # 125B and 51.2B of n-grams; 321B by name; 552B and 196.6B of n-grams
    answer = fit(model, "b300-sxm-288gb", 30_000, parallelism={"tp": 8})
    assert answer["parameters"]["total"] / 1e9 == pytest.approx(billions, abs=0.05)
    assert 0 < answer["startup"]["request_bytes"] / GIB < 2


def test_n04_a_hybrid_that_keeps_prefixes_takes_two_blocks_of_states(fit):
    memory = {"max_num_seqs": 1, "max_batched_tokens": 8192, "enable_prefix_caching": True}
    startup = fit("qwen3.6-35b-a3b-nvfp4", "rtx-5090", 131_072, engine="vllm-0.24", precision=FP8, memory=memory)[
        "startup"
    ]
    assert startup["block_tokens"] == 2096
    assert startup["request_bytes"] / GIB == pytest.approx(1.382, rel=2e-3)
    # without: one block of states a group
    memory["enable_prefix_caching"] = False
    alone = fit("qwen3.6-35b-a3b-nvfp4", "rtx-5090", 131_072, engine="vllm-0.24", precision=FP8, memory=memory)[
        "startup"
    ]
    assert startup["request_bytes"] - alone["request_bytes"] == 3 * startup["block_bytes"]


def test_n06_compressor_states_of_deepseek_v4_refuse_the_start(fit):
    # 5.44 GiB free, one request of 30,000 tokens with passes of 16,384 needs 6.66
    answer = fit("deepseek-v4-flash", "gh200-96gb", 30_000, engine="vllm-0.22", parallelism={"tp": 2, "ep": 2},
                 precision=FP8, memory={"utilization": 0.95, "max_batched_tokens": 16_384})  # fmt: skip
    startup = answer["startup"]
    assert startup["request_bytes"] / GIB == pytest.approx(6.66, abs=0.005)
    assert startup["request_bytes"] == 6800 * 1_051_776


def test_n09_the_data_parallel_server_holds_so_many_long_requests(fit):
    # 156.9 and 20.43 of 1,048,576 tokens on eight B200
    memory = {"utilization": 0.95, "max_num_seqs": 256, "max_batched_tokens": 8192}
    held = [
        fit("deepseek-v4-flash", "b200-sxm-180gb", 1_048_576, engine="vllm-0.25", parallelism=degrees, precision=FP8,
            memory=memory)["startup"]["concurrency"]
        for degrees in ({"tp": 1, "dp": 8, "ep": 8}, {"tp": 8})
    ]  # fmt: skip
    assert 8 * held[0] / held[1] == pytest.approx(7.7, rel=0.1)
    assert 8 * held[0] == pytest.approx(156.9, rel=0.1)


def test_n13_slots_of_llama_cpp_keep_window_and_micro_batch_each(ask):
    config = {
        "model_type": "gemma3_text", "hidden_size": 640, "num_hidden_layers": 18, "num_attention_heads": 4,
        "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 2048, "vocab_size": 262_144,
        "max_position_embeddings": 32_768, "sliding_window": 512, "sliding_window_pattern": 6,
    }  # fmt: skip
    for tokens, slots, mib in ((4096, 1, 27), (2048, 2, 42), (1024, 4, 72), (8192, 1, 39), (4096, 2, 54)):
        body = {
            "model": {"config": config}, "gpu": "rtx-4090", "engine": "llama.cpp", "precision": {"kv_cache": "fp16"},
            "workload": {"input_tokens": tokens, "output_tokens": 0, "concurrency": slots},
        }  # fmt: skip
        assert ask("memory-fit", body)["kv_cache"]["needed_bytes"] == mib * 2**20


@pytest.mark.parametrize(("batched", "gib"), [(8192, 2.84), (4096, 2.42), (3072, 2.32), (2048, 2.21)])
def test_n18_the_peak_of_a_hybrid_is_logits_pass_and_a_constant(fit, batched, gib):
    # vllm 52872: 64 layers, 48 of them delta nets, on RTX 5090 at 0.93; four peaks on one line, said 3 % less
    memory = {"utilization": 0.93, "max_batched_tokens": batched}
    per_gpu = fit("qwen3.6-27b-nvfp4", "rtx-5090", 131_072, precision=FP8, memory=memory, engine="vllm-0.26")["per_gpu"]
    assert per_gpu["activation_bytes"] / GIB == pytest.approx(gib, rel=0.04)


def test_a_hybrid_leaves_as_many_blocks_as_a_server_that_refused_1024_sequences(fit):
    # vllm-project/recipes 551: Qwen3.6-27B-FP8 on one H100 at 0.95 has 856 blocks
    startup = fit("qwen3.5-27b", "h100-sxm5-80gb", 8192, engine="vllm-0.22", precision={"weights": "fp8"},
                  memory={"utilization": 0.95})["startup"]  # fmt: skip
    assert startup["blocks"] == pytest.approx(856, rel=0.02)


def test_n11_gpt_oss_loads_more_before_0_11(fit):
    # vllm 23278 (0.10): 65.97 GiB; the start-up log of 0.11.0: 64.38
    weights = [
        fit("gpt-oss-120b", "h100-sxm5-80gb", 4096, engine=engine)["per_gpu"]["weights_bytes"] / GIB
        for engine in ("vllm-0.10", "vllm-0.11.0", "vllm-0.19")
    ]
    assert weights[0] == pytest.approx(65.97, rel=2e-3)
    assert weights[1] == weights[2] == pytest.approx(64.38, rel=4e-3)


def test_stated_sizes_of_captured_graphs_are_counted_themselves(fit):
    graphs = [
        fit("llama-3.1-8b", "h100-sxm5-80gb", 8192, engine="vllm-0.25", memory={"max_num_seqs": 256} | sizes)[
            "per_gpu"
        ]["cuda_graph_bytes"]
        for sizes in ({}, {"cudagraph_capture_sizes": [1, 2, 4]}, {"cudagraph_capture_sizes": [1, 512]})
    ]
    each = (graphs[1] - graphs[2]) / 3  # three and three sizes against two and one
    assert graphs[0] > graphs[1] > graphs[2]
    assert graphs[0] - graphs[1] == pytest.approx(80 * each)  # 86 sizes by default


UNEQUAL = [
    ({"gpu": ["rtx-5090", "rtx-3090"]}, "#/gpu", "gpu rtx-3090"),
    ({"gpus": ["h100-sxm5-80gb", "h200-sxm-141gb"]}, "#/gpus", "gpu h100-sxm5-80gb"),
    (
        {"nodes": [{"gpu": "a40", "count": 4}, {"gpu": "l4", "count": 4}]},
        "#/nodes",
        "gpu l4, which has least memory, with tp",
    ),
    ({"gpus": {"rtx-4090": 2, "rtx-3090": 2}}, "#/gpus", "= 4"),
    ({"gpu": []}, "#/gpu", "of one kind"),
]


@pytest.mark.parametrize(("asked", "pointer", "says"), UNEQUAL)
def test_unlike_gpus_are_refused_with_the_nearest_question(ask, asked, pointer, says):
    body = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb"} | asked
    errors = ask("memory-fit", body, status=400)["errors"]
    (error,) = [one for one in errors if one["pointer"] == pointer]
    assert error["code"] == "not_supported"
    assert "of one kind" in error["detail"]
    assert says in error["detail"]


def test_n34_from_0_20_the_share_is_0_92_and_graphs_are_inside_it(fit):
    old, new = (
        fit("llama-3.1-8b", "h100-sxm5-80gb", 8192, engine=engine)["per_gpu"] for engine in ("vllm-0.19", "vllm")
    )
    assert old["usable_bytes"] / old["memory_bytes"] == pytest.approx(0.9)
    assert new["usable_bytes"] / new["memory_bytes"] == pytest.approx(0.92)
    assert (old["graphs_in_budget"], new["graphs_in_budget"]) == (False, True)
    assert new["cuda_graph_bytes"] > 0 == old["cuda_graph_bytes"]


def test_n35_a_dgx_spark_shows_121_69_gib(fit):
    assert fit("gpt-oss-120b", "gb10-dgx-spark", 4096)["per_gpu"]["memory_bytes"] / GIB == pytest.approx(
        121.69, abs=0.01
    )


def test_a_release_outside_every_range_is_refused_with_the_profiles(ask):
    body = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.99"}
    assert "vllm-0.33" in str(ask("memory-fit", body, status=400))


def test_more_sequences_than_blocks_are_not_hinted(fit):
    # Qwen3.5-27B on a GPU with fewer blocks than 1,024: the server would refuse the default
    answer = fit("qwen3.5-27b", "h100-sxm5-80gb", 8192, engine="vllm-0.25")
    assert answer["kv_cache"]["engine_max_sequences"] <= answer["startup"]["blocks"]
    assert f"--max-num-seqs {answer['kv_cache']['engine_max_sequences']}" in answer["launch_hint"]


def test_drafted_tokens_take_states_and_a_longer_convolution(fit):
    draft = {"acceptance_rate": 0.7, "draft_tokens": 16}
    none, drafted = (
        fit("qwen3.6-27b-nvfp4", "h100-sxm5-80gb", 65_536, engine="vllm-0.25", precision=FP8, **more)["startup"]
        for more in ({}, {"speculative": draft})
    )
    states = 3
    assert drafted["request_bytes"] > none["request_bytes"] + 16 * states * none["block_bytes"] * 0.9


def test_the_refusal_names_the_longest_length_that_starts(fit):
    answer = fit("llama-3.3-70b", "h100-sxm5-80gb", 131_072, precision={"weights": "fp8"}, engine="vllm-0.25",
                 parallelism={"tp": 1}, memory={"max_model_len": 131_072, "utilization": 0.95})  # fmt: skip
    startup = answer["startup"]
    assert startup["refused"]
    assert startup["concurrency"] is startup["kv_cache_tokens"] is None
    assert f"estimated maximum model length is {startup['longest_tokens']}" in startup["lines"][0]
