"""Public cases of throughput (T…): what people measured against what the product says.

The tolerance of each figure is in the test; what is not captured is in docs/accuracy-open-points.md with the predicted
value, the error and the cause, and is pinned here to that table.
"""

import re
from pathlib import Path

import orjson
import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

OPEN_POINTS = Path(__file__).resolve().parents[3] / "docs" / "accuracy-open-points.md"


@pytest.fixture
def ask(client):
    def post(model, gpu, engine, workload, *, tp=1, ep=1, precision=None, **more):
        body = {
            "model": model,
            "gpu": gpu,
            "engine": engine,
            "parallelism": {"tp": tp, "ep": ep},
            "precision": {"kv_cache": "bf16"} | (precision or {}),
            "memory": {"utilization": 0.9},
            "workload": workload,
        } | more
        response = client.post("/api/v1/estimates/throughput/", orjson.dumps(body), content_type="application/json")
        assert response.status_code == 200, response.content
        return response.json()

    return post


def closed(inputs, outputs, concurrency):
    return {"mode": "closed_loop", "input_tokens": inputs, "output_tokens": outputs, "concurrency": concurrency}


def measured(inputs, outputs, concurrency):
    """What InferenceX's client sends: ten rounds of lengths from 0.8 of the longest."""
    traffic = {"kind": "benchmark", "random_range_ratio": 0.8, "client_s": 0.0148}
    return closed(inputs, outputs, concurrency) | {"traffic": traffic}


def stream(inputs=500, outputs=500):
    return {"mode": "single_stream", "input_tokens": inputs, "output_tokens": outputs}


def documented(case):
    """Predicted value of a case in the table of open points."""
    rows = re.findall(r"^\| (T\d\d)[^|]*\|[^|]*\| ([\d.,]+) \|", OPEN_POINTS.read_text(), re.M)
    return [float(value.replace(",", "")) for name, value in rows if name == case]


def kimi(ask):
    return ask(
        "kimi-k2.5",
        "b200-sxm-180gb",
        "vllm-0.19",
        measured(8192, 1024, 384),
        engine_settings={"max_num_batched_tokens": 16384, "stream_interval": 20},
        tp=8,
        precision={"weights": "bf16", "expert_weights": "nvfp4", "kv_cache": "fp8"},
    )


def test_t01_the_concurrency_is_clamped_to_what_the_cache_admits(ask):
    answer = kimi(ask)
    assert answer["concurrency"]["saturated"]
    assert answer["concurrency"]["effective"] < 384
    assert answer["expected"]["tokens_per_s_per_gpu"]["mid"] == pytest.approx(documented("T01")[0], rel=0.10)


def test_t02_the_band_of_the_first_token_time_admits_an_error_of_45_percent(ask):
    band = ask("qwen3-32b", "a100-sxm4-80gb", "vllm-0.19", closed(1000, 300, 8), tp=4)["expected"]["ttft_s"]
    assert band["high"] / band["mid"] > 1.45
    assert band["low"] / band["mid"] < 1 / 1.45


def test_t04_a_large_dense_model_reaches_about_four_fifths_of_the_bandwidth(ask):
    answer = ask("qwen3-32b", "h100-sxm5-80gb", "vllm-0.19", closed(500, 500, 4))
    assert answer["roofline"]["mbu"] == pytest.approx(0.82, rel=0.10)


def test_t05_two_gpus_make_one_stream_of_a_small_mixture_less_than_twice_as_fast(ask):
    def speed(tp):
        precision = {"expert_weights": "mxfp4"}
        answer = ask("gpt-oss-120b", "a100-sxm4-80gb", "vllm-0.11", stream(), tp=tp, precision=precision)
        return answer["expected"]["tokens_per_s_per_user"]["mid"]

    assert speed(2) < 1.4 * speed(1)
    assert speed(1) == pytest.approx(documented("T05")[0], rel=0.10)
    assert speed(2) == pytest.approx(documented("T05")[1], rel=0.10)


def test_t07_four_bit_weights_gain_on_one_stream_and_lose_at_500_requests(ask):
    def total(weights, concurrency):
        answer = ask(
            "qwen2.5-72b-instruct",
            "a800-sxm4-80gb",
            "vllm-v0-eager",
            closed(200, 100, concurrency),
            tp=4,
            precision={"weights": weights},
        )
        return answer["expected"]["tokens_per_s_total"]["mid"]

    assert total("int4", 1) > 1.3 * total("bf16", 1)
    ratio = total("int4", 500) / total("bf16", 500)
    assert ratio <= 1.0
    assert ratio == pytest.approx(1468 / 1638, rel=0.12)  # GPTQ


def test_t08_one_stream_of_a_7b_model_and_a_speculation_that_slows_it_down(ask):
    def speculate(rate, cost):
        return ask(
            "qwen2-7b",
            "a100-sxm4-80gb",
            "vllm-v0",
            stream(),
            speculative={"acceptance_rate": rate, "draft_tokens": 5, "draft_cost_ratio": cost},
        )

    answer = speculate(0.05, 0.04)
    assert answer["expected"]["tokens_per_s_per_user"]["mid"] == pytest.approx(69.79, rel=0.10)
    assert answer["speculative"]["speedup"] == pytest.approx(61.79 / 69.79, rel=0.05)
    assert speculate(0.8, 0.0)["speculative"]["speedup"] > 3


def test_t09_the_gain_of_a_1b_draft_reverses_with_the_batch_and_sooner_for_longer_drafts(ask):
    def reversal(tokens):
        answer = ask(
            "llama-3.3-70b-instruct",
            "h100-sxm5-80gb",
            "vllm-0.19",
            closed(500, 500, 32),
            tp=4,
            speculative={"acceptance_rate": 0.7, "draft_tokens": tokens, "draft_model": "llama-3.2-1b"},
        )
        return answer["speculative"]["reversal_batch_size"]

    assert reversal(5) == documented("T09")[0]
    assert reversal(10) < reversal(5) < reversal(2)


def test_t13_the_batch_decides_from_2000_to_5500_tokens_per_s(ask):
    offline = {"mode": "offline", "input_tokens": 512, "output_tokens": 512}
    answer = ask("llama-3-8b", "a100-sxm4-80gb", "trtllm-bench", offline)
    assert answer["expected"]["tokens_per_s_total"]["mid"] == pytest.approx(5500, rel=0.10)
    assert answer["expected"]["tokens_per_s_total"]["high"] < 6552
    small = ask("llama-3-8b", "a100-sxm4-80gb", "tensorrt-llm-1", closed(512, 512, 32))
    assert small["expected"]["tokens_per_s_total"]["mid"] == pytest.approx(2000, rel=0.10)


def test_t14_a_27b_model_at_4_bits_on_a_4090_writes_40_tokens_per_s(ask):
    answer = ask("qwen3.5-27b", "rtx-4090", "llama.cpp", stream(100, 400), precision={"weights": "q4_k_m"})
    # "About 40" is rounded, and the cost of linear attention in llama.cpp is not measured: 43.5 is said. Rows of dense
    # models on this card come out 3 % too slow, so that a closer figure here would be by chance.
    assert answer["expected"]["tokens_per_s_per_user"]["mid"] == pytest.approx(40, rel=0.10)


def test_t17_a_full_cache_of_299584_tokens_serves_12167_tokens_per_s(ask):
    answer = ask(
        "qwen2.5-7b-instruct",
        "gb200",
        "vllm-0.19",
        closed(1000, 5000, 128),
        memory={"kv_cache_tokens_observed": 299_584},
    )
    assert answer["concurrency"]["basis"] == "observed"
    assert answer["concurrency"]["saturated"]
    assert answer["expected"]["tokens_per_s_total"]["mid"] == pytest.approx(12_167, rel=0.12)


def test_t18_the_bandwidth_of_a_b200_is_what_the_device_reports(ask):
    answer = ask("llama-3.1-8b", "b200-sxm-180gb", "vllm-0.19", stream())
    assert answer["inputs"]["gpu"]["memory_bandwidth_bytes_per_s"] == pytest.approx(7.672e12, rel=0.005)


def deepseek(ask, concurrency):
    return ask(
        "deepseek-r1",
        "b200-sxm-180gb",
        "sglang-0.5",
        measured(922, 922, concurrency),
        engine_settings={
            "chunked_prefill_size": 16384,
            "disable_piecewise_cuda_graph": True,
            "scheduler_recv_interval": 30 if concurrency >= 16 else 10,
            "stream_interval": 10,
        },
        tp=8,
        ep=8,
        precision={"weights": "fp8", "expert_weights": "nvfp4", "kv_cache": "fp8"},
    )["expected"]


def test_t19_the_curve_of_a_latent_mixture_up_to_32_requests(ask):
    for concurrency, per_gpu in ((4, 59.7), (8, 104.8), (16, 169.3), (32, 282.4)):
        expected = deepseek(ask, concurrency)
        assert expected["tokens_per_s_per_gpu"]["mid"] == pytest.approx(per_gpu, rel=0.18), concurrency
    for concurrency, ttft in ((4, 0.200), (8, 0.197), (16, 0.355), (32, 0.394)):
        band = deepseek(ask, concurrency)["ttft_s"]
        assert band["low"] <= ttft <= band["high"], concurrency
    assert deepseek(ask, 64)["tokens_per_s_per_gpu"]["mid"] == pytest.approx(documented("T19")[0], rel=0.10)


def test_t21_a_model_larger_than_the_gpu_has_no_speed_instead_of_a_wrong_one(ask):
    answer = ask("qwen3-next-80b-a3b-instruct", "rtx-4080", "llama.cpp", stream(), precision={"weights": "q4_k_m"})
    assert answer["feasible"] is False
    assert answer["expected"]["tokens_per_s_per_user"] is None


def test_t22_bursts_make_the_mean_first_token_three_to_four_times_as_long_at_the_same_throughput(ask):
    def at(variation):
        load = {"mode": "open_loop", "input_tokens": 2000, "output_tokens": 300, "requests_per_s": 5.0}
        return ask("qwen3-14b", "h100-sxm5-80gb", "vllm-0.19", load | {"burstiness_cv": variation})

    poisson, bursty = at(1.0), at(3.0)
    ratio = bursty["expected"]["ttft_s"]["mid"] / poisson["expected"]["ttft_s"]["mid"]
    assert 3.2 <= ratio <= 4.0
    tail = bursty["open_load"]["ttft_s_p99"] / poisson["open_load"]["ttft_s_p99"]
    assert tail == pytest.approx(documented("T22")[0], rel=0.10)
    assert bursty["expected"]["tokens_per_s_total"] == poisson["expected"]["tokens_per_s_total"]
