"""estimates/verdict over REST: one answer for fit, speed and cost that says what those endpoints say."""

import random

import orjson
import pytest

from estimator.figures import written

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

ASKED = {
    "model": "llama-3.3-70b-instruct",
    "gpu": "h100-sxm5-80gb",
    "engine": "vllm-0.19",
    "parallelism": {"tp": 2},
    "precision": {"weights": "fp8"},
    "workload": {"input_tokens": 8000, "output_tokens": 500, "concurrency": 16},
    "slo": {"ttft_s": 2, "tpot_s": 0.05},
}
PRICE = {"price_per_gpu_hour": "2.58", "currency": "USD"}


@pytest.fixture
def ask(client):
    def post(endpoint="verdict", query="", status=200, **body):
        response = client.post(
            f"/api/v1/estimates/{endpoint}/{query}", orjson.dumps(body), content_type="application/json"
        )
        assert response.status_code == status, response.content
        return response.json()

    return post


def test_the_parts_are_those_of_the_three_endpoints(ask):
    answer = ask(**ASKED, **PRICE)
    memory = ask("memory-fit", **ASKED)
    speed = ask("throughput", **ASKED)
    cost = ask("cost", self_hosted={**ASKED, **PRICE})["self_hosted"]
    assert answer["memory"]["per_gpu"] == memory["per_gpu"]
    assert (answer["memory"]["verdict"], answer["memory"]["feasible"]) == (memory["verdict"], memory["feasible"])
    for name in ("ttft_s", "tpot_s", "tokens_per_s_total", "basis", "reason"):
        assert answer["speed"][name] == speed["expected"][name]
    assert answer["binding_term"] == speed["binding_term"]
    assert answer["cost"] == cost
    assert answer["launch_hint"] == speed["launch_hint"]


def test_the_issue_s_plan_no_endpoint_says_that_it_fits(ask):
    plan = ASKED | {"precision": {"weights": "bf16"}}
    answers = [ask("memory-fit", **plan), ask("throughput", **plan), ask("cost", self_hosted=plan)["self_hosted"]]
    assert [answer["feasible"] for answer in answers] == [False, False, False]
    answer = ask(**plan)
    assert answer["verdict"]["state"] == "does_not_fit"
    assert answer["verdict"]["sentence"] == "2 × H100 SXM5 80GB holds 1 conversation of this length, not 16."
    assert answer["verdict"]["figures"] is None
    assert "FP8 weights" in [change["label"] for change in answer["changes"]]
    one = ask("throughput", **plan | {"workload": plan["workload"] | {"concurrency": 1}})
    assert one["feasible"] is True
    # What runs while the others wait is still said.
    assert answers[1]["expected"]["tokens_per_s_total"]["mid"] > 0


def test_safe_and_likely_users_are_where_the_chance_of_throughput_passes_nine_tenths_and_a_half(ask):
    users = ask(**ASKED, changes=False)["max_concurrency_within_slo"]
    assert 0 < users["low"] < 16 <= users["mid"] <= users["high"]

    def chance(count):
        return ask("throughput", **ASKED | {"workload": ASKED["workload"] | {"concurrency": count}})["odds"]["all"]

    for name, least in (("low", 0.9), ("mid", 0.5)):
        assert chance(users[name]) >= least > chance(users[name] + 1), name
    assert chance(users["high"]) >= 0.1
    answer = ask(**ASKED, changes=False)
    assert answer["odds"]["all"] == chance(16)


def test_the_state_follows_the_users(ask):
    first = ask(**ASKED, changes=False)
    users, held = first["max_concurrency_within_slo"], first["memory"]["max_sequences"]
    assert 0 < users["low"] < users["mid"] < held
    states = {
        users["low"]: "safe",
        users["low"] + 1: "likely",
        users["mid"]: "likely",
        users["mid"] + 1: "too_slow",
        held: "too_slow",
        held + 1: "does_not_fit",
    }
    for count, state in states.items():
        answer = ask(**ASKED | {"workload": ASKED["workload"] | {"concurrency": count}}, changes=False)
        assert (count, answer["verdict"]["state"]) == (count, state)
        assert answer["max_concurrency_within_slo"] == users


def test_without_targets_users_are_those_that_memory_holds(ask):
    plan = {name: value for name, value in ASKED.items() if name != "slo"}
    answer = ask(**plan, changes=False)
    assert answer["verdict"]["state"] == "fits"
    held = answer["memory"]["max_sequences"]
    assert answer["max_concurrency_within_slo"] == {"low": held, "mid": held, "high": held, "binding": "memory"}


def test_a_change_says_what_the_changed_question_would(ask):
    answer = ask(**ASKED)
    found = {(change["change"], change["value"]): change for change in answer["changes"]}
    assert {"parallelism.tp", "precision.weights", "precision.kv_cache", "gpu"} == {name for name, _ in found}
    same = ask(**ASKED | {"precision": {"weights": "fp8", "kv_cache": "fp8"}}, changes=False)
    change = found["precision.kv_cache", "fp8"]
    assert change["max_concurrency_within_slo"] == same["max_concurrency_within_slo"]
    assert change["tpot_s"] == same["speed"]["tpot_s"]["mid"]
    assert change["cost_per_month"] == same["cost"]["cost_per_month"]
    assert change["sentence"] == same["verdict"]["sentence"]
    faster = [change for change in answer["changes"] if change["state"] == "safe"]
    assert faster
    cheapest = min(faster, key=lambda one: float(one["cost_per_month"]))
    assert f"nearest change that is safe: {cheapest['label']}" in answer["verdict"]["advice"]


def test_a_stated_price_is_of_the_gpu_asked_for_and_not_of_its_neighbours(ask):
    answer = ask(**ASKED, price_per_gpu_hour="1000", currency="USD")
    assert answer["cost"]["cost_per_hour"] == "2000"
    costs = {change["label"]: change["cost_per_month"] for change in answer["changes"] if change["change"] == "gpu"}
    assert costs
    assert all(float(cost) < 100_000 for cost in costs.values())


def test_an_open_loop_has_rates_in_place_of_users(ask):
    load = {"mode": "open_loop", "input_tokens": 1500, "output_tokens": 300, "requests_per_s": 3}
    answer = ask(model="llama-3.1-8b-instruct", gpu="l40s", workload=load, slo={"ttft_s": 1, "tpot_s": 0.05})
    assert answer["max_concurrency_within_slo"] is None
    speed = ask(
        "throughput", model="llama-3.1-8b-instruct", gpu="l40s", workload=load, slo={"ttft_s": 1, "tpot_s": 0.05}
    )
    rates = answer["max_requests_per_s_within_slo"]
    assert rates == speed["expected"]["max_requests_per_s_within_slo"]
    assert rates["low"] < 3 < rates["mid"]
    assert answer["verdict"]["state"] == "likely"
    assert f"only {written.two_digits(rates['low'])} are safe" in answer["verdict"]["sentence"]
    grows = ask(model="llama-3.1-8b-instruct", gpu="l40s", workload=load | {"requests_per_s": 500}, changes=False)
    assert grows["verdict"]["state"] == "too_slow"
    assert "queue grows" in grows["verdict"]["sentence"]


def test_a_gpu_without_price_or_measurement_is_said_in_words(ask):
    gpu = {
        "memory_bytes": 85_000_000_000,
        "memory_bandwidth_bytes_per_s": 3e12,
        "peak_flops_per_s": {"bf16": 9e14},
        "name": "X9",
    }
    answer = ask(model="llama-3.1-8b-instruct", gpu=gpu, workload=ASKED["workload"], slo={"tpot_s": 0.05})
    assert answer["verdict"]["state"] == "speed_unknown"
    assert answer["cost"] is None
    assert any("No price" in text for text in answer["warnings"])
    priced = ask(model="llama-3.1-8b-instruct", gpu=gpu, workload=ASKED["workload"], **PRICE)
    assert priced["cost"]["cost_per_hour"] == "2.58"
    assert priced["cost"]["cost_per_mtok_output"] is None


def test_a_workload_is_needed(ask):
    problem = ask(status=400, model="llama-3.1-8b-instruct", gpu="l40s")
    assert [error["pointer"] for error in problem["errors"]] == ["#/workload"]


MODELS = ("llama-3.1-8b-instruct", "qwen3-32b", "gpt-oss-120b", "deepseek-v3", "mistral-7b-v0.1", "gemma-3-27b-it")
GPUS = ("h100-sxm5-80gb", "l40s", "mi300x", "rtx-4090", "b200-sxm-180gb", "a100-sxm4-80gb")
ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "vllm-0.11")


def test_on_any_plan_the_endpoints_agree_and_the_counts_are_ordered(ask):
    rng, states = random.Random(14), []
    for _ in range(40):
        body = {
            "model": rng.choice(MODELS),
            "gpu": rng.choice(GPUS),
            "engine": rng.choice(ENGINES),
            "parallelism": {"tp": rng.choice((1, 2, 4, 8))},
            "workload": {
                "input_tokens": rng.choice((100, 2000, 30_000)),
                "output_tokens": rng.choice((1, 300, 2000)),
                "concurrency": rng.choice((1, 8, 64, 512)),
            },
            "slo": {"ttft_s": rng.choice((0.5, 5.0)), "tpot_s": rng.choice((0.02, 0.1))},
        }
        answer = ask(**body, changes=False)
        feasible = {ask(name, **body)["feasible"] for name in ("memory-fit", "throughput")}
        assert feasible == {answer["memory"]["feasible"]} == {answer["verdict"]["state"] != "does_not_fit"}
        users = answer["max_concurrency_within_slo"]
        assert 0 <= users["low"] <= users["mid"] <= users["high"] <= max(answer["memory"]["max_sequences"], 0)
        assert answer["verdict"]["sentence"].endswith(".")
        states.append(answer["verdict"]["state"])
    assert len(set(states)) >= 4


@pytest.mark.parametrize("mode", ["closed_loop", "open_loop"])
def test_a_question_without_an_answer_s_tokens_is_judged_in_either_loop(ask, mode):
    arrivals = {"requests_per_s": 1} if mode == "open_loop" else {"concurrency": 1}
    body = ASKED | {"workload": {"mode": mode, "input_tokens": 1000, "output_tokens": 0, **arrivals}}
    answer, one = (ask(**body | {"workload": body["workload"] | {"output_tokens": tokens}}) for tokens in (0, 1))
    assert answer["cost"]["cost_per_mtok_output"] == one["cost"]["cost_per_mtok_output"]
    assert answer["verdict"]["state"] == one["verdict"]["state"]
    assert ("1 request per second" if mode == "open_loop" else "1 user") in answer["verdict"]["sentence"]


def test_what_throughput_withholds_the_verdict_withholds(ask):
    plan = ASKED | {"workload": ASKED["workload"] | {"concurrency": 4000}}
    answer, speed = ask(**plan, changes=False), ask("throughput", **plan)
    assert speed["expected"]["reason"] == answer["speed"]["reason"] == "kv_settings_assumed"
    assert answer["speed"] == speed["expected"] | {
        name: answer["speed"][name] for name in ("goodput_requests_per_s", "max_requests_per_s_within_slo")
    }
    assert answer["odds"] == speed["odds"]
    assert answer["odds"]["all"] is None
