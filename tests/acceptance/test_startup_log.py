"""A pasted start-up log is read line by line: what agrees, what does not and why, and what is no log."""

import pytest

from estimator.engine.memory.startup_log import read_startup_log
from tests.effort import lines_run

pytestmark = pytest.mark.django_db

GIB = 2**30
VLLM = """\
INFO 04-01 10:00:00 [api_server.py:1] vLLM API server version 0.19.0
\x1b[36m(EngineCore_DP0 pid=9)\x1b[0m Initializing a V1 LLM engine (v0.19.0) with config: max_seq_len=2048
INFO [gpu_model_runner.py:1] Model loading took 14.99 GiB memory and 3.4 seconds
INFO [gpu_worker.py:1] Available KV cache memory: 58.11 GiB
INFO [kv_cache_utils.py:1] GPU KV cache size: 476,016 tokens
INFO [kv_cache_utils.py:1] Maximum concurrency for 2,048 tokens per request: 232.43x
"""
LLAMA = {
    "model": "llama-3.1-8b-instruct", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19",
    "memory": {"utilization": 0.95, "max_model_len": 2048},
    "workload": {"input_tokens": 1000, "output_tokens": 100},
}  # fmt: skip


@pytest.fixture
def read(ask):
    """Lines of a log by figure, for a plan with changes."""

    def lines(log: str, **more) -> dict:
        answer = ask("memory-fit", LLAMA | more | {"startup_log": log})
        return answer["startup_log"] | {"by": {line["figure"]: line for line in answer["startup_log"]["lines"]}}

    return lines


def test_a_server_as_asked_agrees_in_every_line(read):
    log = read(VLLM)
    assert (log["engine"], log["engine_version"]) == ("vllm", "0.19.0")
    assert log["agreeing"] == len(log["lines"]) == 5
    assert log["differing"] == 0
    weights = log["by"]["weights_bytes"]
    assert (weights["line"], weights["unit"]) == (3, "bytes")
    assert weights["printed"] == pytest.approx(14.99 * GIB)
    assert weights["difference"] == pytest.approx(weights["printed"] - weights["said"])
    assert weights["likely_cause"] is None
    assert log["by"]["memory.max_model_len"]["said"] == 2048


def test_no_log_is_no_comparison(ask):
    assert ask("memory-fit", LLAMA)["startup_log"] is None


def test_weights_of_another_format_are_named_and_the_cache_follows_from_them(read):
    log = read(VLLM, precision={"weights": "fp8"})["by"]
    assert "precision.weights bf16" in log["weights_bytes"]["likely_cause"]
    assert "weights_bytes" in log["kv_cache_bytes"]["likely_cause"]
    assert "less" in log["kv_cache_bytes"]["likely_cause"]
    assert "bytes of the cache" in log["kv_cache_tokens"]["likely_cause"]


def test_a_cache_of_another_format_is_named(read):
    log = read(VLLM.replace("476,016", "952,032").replace("232.43", "464.86"))["by"]
    assert log["kv_cache_bytes"]["agrees"] is True
    for figure in ("kv_cache_tokens", "concurrency"):
        assert "precision.kv_cache fp8" in log[figure]["likely_cause"]


def test_another_setting_is_said_as_the_request_takes_it(read):
    log = read(VLLM.replace("max_seq_len=2048", "max_seq_len=2048, tensor_parallel_size=2"))["by"]
    assert "parallelism.tp 2" in log["parallelism.tp"]["likely_cause"]
    shorter = read(VLLM, memory={"utilization": 0.9, "max_model_len": 8192})["by"]
    assert "memory.max_model_len 2048" in shorter["memory.max_model_len"]["likely_cause"]
    # said at the log's own length
    assert shorter["concurrency"]["said"] == pytest.approx(shorter["kv_cache_tokens"]["said"] / 2048, rel=1e-3)


def test_kept_prefixes_of_a_hybrid_are_found_from_the_tokens(ask):
    # Qwen3.6-35B-A3B fp8, 6.01 GiB, prefixes kept, club-3090 652
    body = {
        "model": "qwen3.6-35b-a3b-nvfp4", "gpu": "rtx-5090", "engine": "vllm-0.24",
        "precision": {"kv_cache": "fp8"}, "memory": {"max_model_len": 131_072, "max_batched_tokens": 8192},
        "startup_log": "Setting attention block size to 2096 tokens\nAvailable KV cache memory: 6.01 GiB\n"
        "GPU KV cache size: 569,878 tokens\nMaximum concurrency for 131,072 tokens per request: 4.35x",
    }  # fmt: skip
    log = {line["figure"]: line for line in ask("memory-fit", body)["startup_log"]["lines"]}
    assert log["block_tokens"]["agrees"] is True
    assert "enable_prefix_caching true" in log["kv_cache_tokens"]["likely_cause"]


def test_a_refusal_of_vllm_is_read(ask):
    body = {
        "model": "deepseek-v4-flash", "gpu": "gh200-96gb", "engine": "vllm-0.22", "parallelism": {"tp": 2, "ep": 2},
        "precision": {"kv_cache": "fp8"}, "memory": {"max_batched_tokens": 16_384, "max_model_len": 30_000},
        "startup_log": "ValueError: To serve at least one request with the model's max seq len (30000), (6.66 GiB KV "
        "cache is needed, which is larger than the available KV cache memory (5.44 GiB). Based on the "
        "available memory, the estimated maximum model length is 13528. Try increasing `gpu_memory_utilization`",
    }  # fmt: skip
    log = {line["figure"]: line for line in ask("memory-fit", body)["startup_log"]["lines"]}
    assert log["request_bytes"]["agrees"] is True
    assert log["kv_cache_bytes"]["printed"] == pytest.approx(5.44 * GIB)
    assert log["longest_tokens"]["printed"] == 13_528


def test_a_log_of_sglang_has_its_cache_as_a_sum(ask):
    # Llama-3.1-8B on a card of 22.39 GiB, SGLang 0.4.9
    body = LLAMA | {
        "engine": "sglang", "memory": {},
        "startup_log": "[TP0] Load weight end. type=LlamaForCausalLM, avail mem=7.2 GB, mem usage=15.02 GB.\n"
        "[TP0] KV Cache is allocated. #tokens: 38141, K size: 2.33 GB, V size: 2.33 GB\n"
        "[TP0] max_total_num_tokens=38141, chunked_prefill_size=2048, max_running_requests=2048, context_len=131072",
    }  # fmt: skip
    log = {line["figure"]: line for line in ask("memory-fit", body)["startup_log"]["lines"]}
    assert log["weights_bytes"]["agrees"] is True
    assert log["kv_cache_bytes"]["printed"] == pytest.approx(4.66 * GIB)
    assert "bytes of the cache" in log["kv_cache_tokens"]["likely_cause"]


def test_buffers_of_llama_cpp_are_those_of_the_device_that_holds_most(ask):
    # gpt-oss-20b, one slot of 131,072
    body = {
        "model": "gpt-oss-20b", "gpu": "rtx-4090", "engine": "llama.cpp", "precision": {"kv_cache": "fp16"},
        "workload": {"input_tokens": 131_071, "output_tokens": 1},
        "startup_log": "load_tensors:   CPU_Mapped model buffer size =  1104.61 MiB\n"
        "load_tensors:        CUDA0 model buffer size = 10949.38 MiB\nllama_context: n_ctx         = 131072\n"
        "llama_kv_cache:      CUDA0 KV buffer size =  3072.00 MiB\n"
        "llama_kv_cache:      CUDA0 KV buffer size =    18.00 MiB\n"
        "llama_context:      CUDA0 compute buffer size =   420.08 MiB\n"
        "llama_context:  CUDA_Host compute buffer size =   263.00 MiB",
    }  # fmt: skip
    log = {line["figure"]: line for line in ask("memory-fit", body)["startup_log"]["lines"]}
    assert log["kv_cache_bytes"]["agrees"] is True
    assert log["kv_cache_bytes"]["printed"] == 3090 * 2**20
    assert log["context_tokens"]["agrees"] is True
    assert log["weights_bytes"]["printed"] == pytest.approx(10949.38 * 2**20)


def test_a_log_of_tensorrt_llm_is_read(ask):
    # DeepSeek-R1 on H200: 0.85 of what the peak leaves of 139.81 GiB, 35,136 bytes a token (61 layers of 576)
    body = {
        "model": "deepseek-r1", "gpu": "h200-sxm-141gb", "engine": "tensorrt-llm", "parallelism": {"tp": 8},
        "precision": {"weights": "fp8", "kv_cache": "fp8"}, "memory": {"utilization": 0.85},
        "startup_log": "[TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 91.46 GiB, "
        "available KV cache memory when calculating max tokens: 41.11 GiB, fraction is set 0.85, kv size is 35136. "
        "device total memory 139.81 GiB",
    }  # fmt: skip
    log = {line["figure"]: line for line in ask("memory-fit", body)["startup_log"]["lines"]}
    assert log["cache_token_bytes"]["agrees"] is True
    assert log["memory_bytes"]["agrees"] is True
    assert log["memory.utilization"]["agrees"] is True
    assert log["kv_cache_bytes"]["printed"] == pytest.approx(41.11 * GIB)


def test_a_log_of_another_release_asks_for_it(ask):
    answer = ask("memory-fit", LLAMA | {"engine": "vllm", "startup_log": VLLM})
    assert any("vllm-0.19.0" in text for text in answer["warnings"])


HOSTILE = {
    "binary": ("\x01\x02\x03 Available KV cache memory: 5 GiB", "is no text"),
    "no log": ("the quick brown fox\n" * 50, "holds no line on memory"),
    "another engine's lines": ("KV Cache is allocated. #tokens: 38141, K size: 2.33 GB, V size: 2.33 GB", "SGLang"),
    "an engine that is not read": ("INFO text-generation-launcher: Args", "Text Generation Inference"),
    "too long": ("Available KV cache memory: 5 GiB\n" * 10_000, "200,000"),
    "tokens below 0": (VLLM + "GPU KV cache size: -5 tokens", "line 7 cannot be: kv_cache_tokens is below 0"),
    "half a token": (VLLM + "GPU KV cache size: 5.5 tokens", "no whole number"),
    "weights below 0": ("Model loading took -4 GiB", "line 1 cannot be: weights_bytes is below 0"),
    "a share above 1": (VLLM + "gpu_memory_utilization (1.5)", "share above 1"),
    "fewer than no requests": (VLLM + "Maximum concurrency for 9 tokens per request: -3x", "below 0"),
    "more than any server": ("Model loading took 99999999999999 GiB", "more than any server"),
    "empty": ("", "1"),
}


@pytest.mark.parametrize(("log", "says"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_log_of_the_engine_is_refused_by_name(ask, log, says):
    problem = ask("memory-fit", LLAMA | {"startup_log": log}, status=400)
    assert [error["pointer"] for error in problem["errors"]] == ["#/startup_log"]
    assert says.replace(",", "") in problem["errors"][0]["detail"].replace(",", "")


@pytest.mark.parametrize(
    "line",
    [
        "GPU KV cache size: " + "9," * 9000,
        "CUDA0 " * 3000 + "buffer size = ",
        "max_seq_len=" * 1600,
        "é\U0001f600" * 9000,
    ],
)
def test_lines_made_to_be_slow_or_strange_are_no_figures(read, line):
    log = read(VLLM + (line + "\n") * 8)
    assert log["agreeing"] == 5


def test_a_cache_below_0_is_what_vllm_prints_where_weights_do_not_fit_and_minus_1_is_no_setting(read):
    log = read(VLLM.replace("max_seq_len=2048", "max_seq_len=-1") + "Available KV cache memory: -2.14 GiB")
    assert [line["printed"] for line in log["lines"] if line["figure"] == "kv_cache_bytes"][-1] < 0
    assert "memory.max_model_len" in log["by"]  # of the line on concurrency alone
    assert log["by"]["memory.max_model_len"]["line"] == 6


def test_lines_without_a_word_of_a_pattern_cost_next_to_nothing():
    """200,000 empty lines took 50 looks each; a line now takes a handful of steps, an empty one fewer."""
    few, many = (lines_run(lambda n=n: read_startup_log("\n" * n + VLLM)) for n in (100, 5100))
    assert (many - few) / 5000 < 3
    few, many = (lines_run(lambda n=n: read_startup_log("some words\n" * n + VLLM)) for n in (100, 5100))
    assert (many - few) / 5000 < 3
