"""Faults of planners that people reported (P…), asked of the product as the person who reported them would."""

import csv
import json
import math

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.acceptance.unaskable import NOT_ASKABLE
from tests.shared_data import shared_dir

H100 = "h100-sxm5-80gb"
A100 = "a100-sxm4-80gb"
ELSEWHERE = {
    "P14": "tests/reports: a stored version keeps its snapshot, its rows and their sha256",
}


@pytest.fixture
def size(ask):
    def of(model, workload, demand, gpus, *, precisions=("bf16",), tp=(1,), **more):
        body = {
            "model": model, "workload": workload, "demand": demand,
            "candidates": {"gpus": list(gpus), "precisions": list(precisions), "tp": list(tp)},
        }  # fmt: skip
        return ask("sizing", body | more)

    return of


def lengths(inputs, outputs):
    return {"input_tokens": inputs, "output_tokens": outputs}


def test_p02_gpus_replicas_and_users_of_each_are_told_apart(size):
    # One replica holds 13 requests of 8,192 tokens: 13.5 · 8,192 · 131,072 bytes beside the weights.
    shape = {"parameters": 8e9, "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128}
    held = 13.5 * 8192 * 131_072
    memory = {"runtime_overhead_bytes": round(80e9 - 16e9 / 8 - held / 8)}
    answer = size(shape, lengths(8191, 1), {"concurrency": 32}, [H100], tp=[8], engine="ideal", memory=memory)
    option = answer["options"][0]
    assert option["capacity"]["concurrency"] == 13
    assert option["gpus_per_replica"] == 8
    assert option["replicas"] == math.ceil(32 / 13) == 3
    assert option["gpus"] == 24
    assert option["capacity"]["total"] == 39
    assert option["binding_constraint"] == "memory"


@pytest.mark.parametrize("model", ["llama-3.1-8b", "qwen3-32b"])
def test_p03_p04_the_time_per_token_leaves_the_first_one_out_and_the_other_reading_has_a_name(ask, model):
    body = {
        "model": model, "gpu": H100, "precision": {"kv_cache": "bf16"}, "memory": {"utilization": 0.9},
        "workload": lengths(1000, 200) | {"concurrency": 16},
    }  # fmt: skip
    expected = ask("throughput", body)["expected"]
    for end in ("low", "mid", "high"):
        whole, first, each = (expected[name][end] for name in ("e2e_s", "ttft_s", "tpot_s"))
        assert each == pytest.approx((whole - first) / 199, rel=1e-6)
        assert expected["normalized_tpot_s"][end] == pytest.approx(whole / 200)
        assert expected["normalized_tpot_s"][end] > each


def test_p03_the_prompts_of_others_are_part_of_a_token_s_time(ask):
    def tpot(inputs):
        body = {
            "model": "llama-3.1-8b", "gpu": H100, "precision": {"kv_cache": "bf16"}, "memory": {"utilization": 0.9},
            "workload": lengths(inputs, 200) | {"concurrency": 32}, "slo": {"tpot_s": 0.015, "band_side": "mid"},
        }  # fmt: skip
        answer = ask("throughput", body)
        return answer["time_breakdown_s"], answer["meets_slo"]["all"], answer["expected"]["goodput_requests_per_s"]

    short, within, served = tpot(64)
    long, beyond, late = tpot(8192)
    assert long["prefill_interference"] > 5 * short["prefill_interference"]
    assert (within, beyond) == (True, False)
    # Late requests are not good ones.
    assert served["mid"] > 0
    assert late["mid"] == 0


def test_p05_gpus_follow_the_peak_the_mean_is_told_beside_it(size):
    demand = {"requests_per_s_peak": 100, "requests_per_s_mean": 20}
    targets = {"ttft_s": 1, "tpot_s": 0.05}
    option = size("llama-3.1-8b", lengths(1000, 200), demand, [H100], slo=targets)["options"][0]
    rate = option["capacity"]["requests_per_s"]
    assert option["replicas"] == math.ceil(100 / rate)
    assert option["mean_replicas"] == math.ceil(20 / rate)
    more = size("llama-3.1-8b", lengths(1000, 200), demand | {"headroom": 0.5}, [H100], slo=targets)["options"][0]
    assert more["replicas"] == math.ceil(150 / rate)
    assert more["mean_replicas"] == math.ceil(30 / rate)


def test_p05_without_headroom_the_answer_says_so(size):
    answer = size("llama-3.1-8b", lengths(1000, 200), {"concurrency": 10}, [H100])
    assert any("headroom" in text for text in answer["assumptions"])
    assert not any("Concurrency" in text for text in answer["assumptions"])


def test_p07_most_per_gpu_and_fewest_gpus_are_two_objectives(size):
    def best(objective):
        return size(
            "llama-3.3-70b-instruct", lengths(1000, 300), {"concurrency": 8}, [H100], precisions=["fp8"],
            tp=[1, 2, 4, 8], slo={"tpot_s": 0.05, "ttft_s": 2}, objective=objective,
        )["options"][0]  # fmt: skip

    fewest, most = best("min_gpus"), best("max_goodput_per_gpu")
    assert fewest["gpus"] <= most["gpus"]
    assert most["goodput_requests_per_s_per_gpu"] >= fewest["goodput_requests_per_s_per_gpu"]
    cheapest = best("min_cost")
    assert float(cheapest["cost_per_month"]) <= min(float(fewest["cost_per_month"]), float(most["cost_per_month"]))


def test_p08_targets_nobody_meets_are_an_answer_with_the_nearest(size):
    answer = size("llama-3.3-70b-instruct", lengths(1000, 300), {"concurrency": 64}, ["l40s"], tp=[8],
                  slo={"tpot_s": 0.001, "ttft_s": 5})  # fmt: skip
    assert (answer["feasible"], answer["binding_constraint"]) == (False, "slo")
    near = answer["nearest"]
    assert (near["what"], near["gpu"], near["tp"]) == ("slo", "l40s", 8)
    assert near["tpot_s"] > 0.001
    assert near["ttft_s"] is None  # met already
    met = size("llama-3.3-70b-instruct", lengths(1000, 300), {"concurrency": 1}, ["l40s"], tp=[8],
               slo={"tpot_s": near["tpot_s"] * 1.001, "ttft_s": 5})  # fmt: skip
    assert met["feasible"]


def test_p08_a_model_that_fits_nowhere_names_memory_and_a_candidate_that_would_do(size):
    answer = size("llama-3.1-405b", lengths(1000, 300), {"concurrency": 8}, [H100], tp=[4, 8])
    assert (answer["feasible"], answer["binding_constraint"], answer["options"]) == (False, "memory", [])
    near = answer["nearest"]
    assert near["what"] == "memory"
    again = size("llama-3.1-405b", lengths(1000, 300), {"concurrency": 8}, [near["gpu"]],
                 precisions=[near["precision"]], tp=[near["tp"]])  # fmt: skip
    assert again["feasible"]


def test_p08_a_budget_that_is_too_small_names_what_it_would_take(size):
    answer = size("llama-3.1-8b", lengths(1000, 300), {"concurrency": 6400}, ["l40s"], budget={"gpus": 2})
    assert (answer["feasible"], answer["binding_constraint"]) == (False, "budget")
    assert answer["nearest"]["gpus"] == answer["options"][0]["gpus"] > 2
    assert not answer["options"][0]["within_budget"]


def test_p08_a_plan_that_does_not_fit_is_no_error_of_the_service(ask):
    body = {"model": "llama-3.1-405b", "gpu": "l4", "workload": lengths(1000, 300)}
    assert ask("memory-fit", body)["feasible"] is False
    answer = ask("throughput", body)
    assert answer["feasible"] is False
    assert answer["expected"]["reason"] == "does_not_fit"


def test_p11_a_vendor_s_own_unit_is_no_meter(ask):
    price = {"currency": "USD", "meters": {"ptu": "1"}}
    problem = ask("cost", {"api": {"price": price, "usage": {"input_tokens": 200}}}, status=400)
    assert problem["errors"][0]["pointer"] == "#/api/price/meters/ptu"


def test_p12_a_calibration_refuses_a_run_that_wrote_other_lengths_or_waited_in_a_queue(ask):
    keeper = Client()
    keeper.force_login(get_user_model().objects.create_superuser("keeper", "keeper@example.org", "x"))
    run = {
        "model_id": "meta-llama/Llama-3.1-8B", "max_concurrency": 16, "num_prompts": 160, "completed": 160, "failed": 0,
        "total_input_tokens": 160 * 1024, "total_output_tokens": 160 * 1024,
        "request_throughput": 1.5, "output_throughput": 1.5 * 1024,
        "mean_ttft_ms": 80.0, "median_ttft_ms": 52.8, "mean_tpot_ms": 10.2, "median_tpot_ms": 10.0,
    }  # fmt: skip

    def calibrate(result):
        body = {
            "model": "llama-3.1-8b", "gpu": H100, "engine": "vllm-0.19", "text": json.dumps(result),
            "input_tokens": 1024, "output_tokens": 1024,
        }  # fmt: skip
        return keeper.post("/api/v1/measurements/", json.dumps(body), content_type="application/json")

    # 300 tokens of an answer that was to be 1,024.
    short = calibrate(run | {"total_output_tokens": 160 * 300})
    assert short.status_code == 400
    assert any("(lengths_do_not_match)" in fault["detail"] for fault in short.json()["errors"])
    # 15.6 s to the first token: such requests would be 39 in flight at this rate, not the 16 claimed.
    queued = calibrate(run | {"mean_ttft_ms": 15_900.0, "median_ttft_ms": 15_559.0})
    assert queued.status_code == 400, queued.content
    assert any("(more_in_flight_than_asked)" in fault["detail"] for fault in queued.json()["errors"])


def test_p13_rates_say_over_which_time_they_are_taken(client, ask):
    body = {"model": "llama-3.1-8b", "gpu": H100, "workload": lengths(8000, 100) | {"mode": "single_stream"}}
    expected = ask("throughput", body)["expected"]
    # A slow first token: the rate of generation is not that of the whole request.
    assert expected["tokens_per_s_per_user"]["mid"] == pytest.approx(1 / expected["tpot_s"]["mid"])
    assert expected["tokens_per_s_total"]["mid"] == pytest.approx(100 / expected["e2e_s"]["mid"])
    assert expected["tokens_per_s_total"]["mid"] < 0.9 * expected["tokens_per_s_per_user"]["mid"]


@pytest.mark.parametrize(("tokens", "sequences"), [(4096, 14), (900, 64)])
def test_p16_how_many_depends_on_the_tokens_in_flight_both_counts_are_given(ask, size, tokens, sequences):
    body = {
        "model": "llama-2-13b", "gpu": A100, "engine": "vllm-0.19",
        "precision": {"weights": "fp16", "kv_cache": "fp16"}, "workload": lengths(tokens - 1, 1) | {"concurrency": 100},
    }  # fmt: skip
    memory = ask("memory-fit", body)
    cache = memory["kv_cache"]
    assert cache["bytes_per_token"] == 2 * 40 * 40 * 128 * 2 == 819_200
    assert cache["capacity_bytes"] / 2**30 == pytest.approx(45, abs=2)
    assert cache["capacity_tokens"] == pytest.approx(59_000, rel=0.05)
    assert cache["max_sequences"] == pytest.approx(sequences, abs=3)
    assert not memory["warnings"]  # 4,096 tokens are inside the window of Llama 2
    option = size("llama-2-13b", lengths(tokens - 256, 256), {"concurrency": 100}, [A100], precisions=["fp16"])[
        "options"
    ][0]
    assert option["capacity"]["full_length_sequences"] == pytest.approx(sequences, abs=4)
    assert option["capacity"]["max_sequences"] >= option["capacity"]["full_length_sequences"]
    assert option["replicas"] == math.ceil(100 / option["capacity"]["concurrency"])


def test_every_planning_case_is_asked_or_its_reason_stands_in_the_table():
    with (shared_dir() / "cases/public_cases.csv").open(encoding="utf-8") as stream:
        cases = {row["id"] for row in csv.DictReader(stream) if row["id"].startswith("P")}
    asked = {name[5:8].upper() for name in globals() if name.startswith("test_p")} | {"P04"}
    assert cases <= asked | set(ELSEWHERE) | set(NOT_ASKABLE)
