"""estimates/sizing over REST: whole replicas, what binds, objectives, budgets, and demands nothing can serve."""

import math

import orjson
import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
PRICES = {
    "h100-sxm5-80gb": {"price_per_gpu_hour": "2.50", "currency": "USD"},
    "l40s": {"price_per_gpu_hour": "0.50", "currency": "USD"},
}
BASE = {
    "model": "llama-3.1-8b",
    "engine": "ideal",
    "workload": {"input_tokens": 1500, "output_tokens": 400},
    "demand": {"concurrency": 200},
    "candidates": {"gpus": ["h100-sxm5-80gb", "l40s"], "precisions": ["bf16", "fp8"], "tp": [1, 2]},
    "slo": {"ttft_s": 2, "tpot_s": 0.05},
    "prices": PRICES,
}


@pytest.fixture
def ask(client):
    def send(status=200, **body):
        response = client.post("/api/v1/estimates/sizing/", orjson.dumps(BASE | body), content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()

    return send


def test_gpus_are_replicas_times_gpus_per_replica(ask):
    answer = ask()
    assert answer["feasible"]
    for option in answer["options"]:
        assert option["gpus"] == option["replicas"] * option["gpus_per_replica"]
        assert option["gpus_per_replica"] == option["tp"]
        assert option["replicas"] == max(math.ceil(200 / option["capacity"]["concurrency"] - 1e-9), 1)
        assert option["capacity"]["total"] == option["replicas"] * option["capacity"]["concurrency"]
        assert option["binding_constraint"] in ("memory", "ttft", "tpot", "max_num_seqs")
        assert option["capacity"]["full_length_sequences"] <= option["capacity"]["max_sequences"]
    gpus = [option["gpus"] for option in answer["options"]]
    assert gpus == sorted(gpus)


def test_p07_the_objective_is_an_input(ask):
    fewest = ask()["options"][0]
    cheapest = ask(objective="min_cost")["options"][0]
    best = ask(objective="max_goodput_per_gpu")["options"][0]
    assert float(cheapest["cost_per_month"]) <= float(fewest["cost_per_month"])
    assert best["goodput_requests_per_s_per_gpu"] >= fewest["goodput_requests_per_s_per_gpu"]
    assert fewest["gpus"] <= best["gpus"]


def test_p08_targets_nothing_meets_are_an_answer_with_the_nearest(ask):
    answer = ask(slo={"ttft_s": 0.00001, "tpot_s": 0.00001})
    assert (answer["feasible"], answer["options"], answer["binding_constraint"]) == (False, [], "slo")
    near = answer["nearest"]
    assert near["what"] == "slo"
    again = ask(slo={"ttft_s": near["ttft_s"] * 1.001, "tpot_s": near["tpot_s"] * 1.001})
    assert again["feasible"]


def test_a_model_too_large_for_every_candidate_binds_in_memory(ask):
    answer = ask(model="llama-3.1-70b", candidates={"gpus": ["l40s"], "precisions": ["bf16"], "tp": [1]})
    assert (answer["feasible"], answer["binding_constraint"]) == (False, "memory")
    assert answer["rejected"][0]["reason"].startswith("does_not_fit")


def test_a_budget_too_small_names_what_it_would_take(ask):
    answer = ask(budget={"cost_per_month": "1", "currency": "USD"})
    assert (answer["feasible"], answer["binding_constraint"]) == (False, "budget")
    assert answer["nearest"]["what"] == "budget"
    limit = {"cost_per_month": answer["nearest"]["cost_per_month"], "currency": "USD"}
    assert ask(budget=limit)["feasible"]
    assert not ask(budget={"gpus": 1}, demand={"concurrency": 100_000})["feasible"]


def test_users_follow_the_interactive_response_time_law(ask):
    concurrency = ask(demand={"users": 1000, "think_time_s": 0})["options"][0]
    thinking = ask(demand={"users": 1000, "think_time_s": 60})["options"][0]
    assert thinking["gpus"] < concurrency["gpus"]
    assert thinking["capacity"]["users"] > thinking["capacity"]["concurrency"]


def test_p05_a_rate_takes_peak_and_mean_replicas(ask):
    answer = ask(demand={"requests_per_s_peak": 100, "requests_per_s_mean": 10, "headroom": 0.25}, engine="vllm")
    option = answer["options"][0]
    assert option["replicas"] == max(math.ceil(125 / option["capacity"]["requests_per_s"] - 1e-9), 1)
    assert option["mean_replicas"] == max(math.ceil(12.5 / option["capacity"]["requests_per_s"] - 1e-9), 1)
    assert option["mean_replicas"] <= option["replicas"]


def test_headroom_adds_replicas(ask):
    plain = ask(demand={"concurrency": 5000})["options"][0]
    ample = ask(demand={"concurrency": 5000, "headroom": 0.5})["options"][0]
    assert ample["gpus"] > plain["gpus"]


def test_p16_both_lengths_are_answered(ask):
    answer = ask(
        model="llama-2-13b", engine="vllm-v0", demand={"concurrency": 100}, slo=None, prices={},
        workload={"input_tokens": 3596, "output_tokens": 500},
        candidates={"gpus": ["a100-sxm4-80gb"], "precisions": ["fp16"], "tp": [1]},
    )  # fmt: skip
    option = answer["options"][0]
    # 819,200 bytes a token: about 59 thousand tokens, 14 conversations of 4,096.
    assert option["capacity"]["full_length_sequences"] == pytest.approx(14, abs=1)
    assert option["replicas"] >= 100 / 16


def test_without_a_price_the_middle_offer_of_the_sellers_is_named(ask):
    answer = ask(prices={})
    assert any("the middle of" in entry["source"] for entry in answer["provenance"])
    assert answer["options"][0]["cost_per_month"] is not None


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"demand": {}}, "#/demand"),
        ({"demand": {"concurrency": 1, "users": 2}}, "#/demand"),
        ({"candidates": {"gpus": ["h100"]}}, "#/candidates/gpus/0"),
        ({"candidates": {"gpus": ["l40s"], "precisions": ["bf17"]}}, "#/candidates/precisions/0"),
        ({"budget": {"cost_per_month": "5"}}, "#/budget/currency"),
        ({"workload": {"mode": "closed_loop"}}, "#/workload/input_tokens"),
    ],
)
def test_faults_are_named_where_they_are(ask, change, pointer):
    assert pointer in {error["pointer"] for error in ask(400, **change)["errors"]}


def test_degrees_that_do_not_divide_the_heads_are_left_out_and_named(ask):
    answer = ask(candidates={"gpus": ["l40s"], "precisions": ["bf16"], "tp": [1, 3]})
    assert {option["tp"] for option in answer["options"]} == {1}
    assert any("tp 3" in text for text in answer["warnings"])


def test_amounts_in_different_currencies_are_never_ranked_or_held_against_a_budget(ask):
    mixed = PRICES | {"l40s": {"price_per_gpu_hour": "0.50", "currency": "EUR"}}
    assert ask(400, prices=mixed, objective="min_cost")["errors"][0]["pointer"] == "#/prices"
    assert ask(prices=mixed)["feasible"]
    euros = {"cost_per_month": "100000", "currency": "EUR"}
    assert ask(400, budget=euros)["errors"][0]["pointer"] == "#/budget/currency"


def test_faults_of_candidates_point_into_the_candidates(ask):
    answer = ask(400, candidates=BASE["candidates"] | {"tp": [3]})
    assert answer["errors"][0]["pointer"] == "#/candidates/tp"


def test_a_candidate_named_twice_is_sized_once(ask):
    answer = ask(candidates={"gpus": ["l40s", "l40s"], "tp": [1, 1]})
    assert len(answer["options"]) == 1


def test_a_mean_rate_above_the_peak_is_refused(ask):
    answer = ask(400, demand={"requests_per_s_peak": 5, "requests_per_s_mean": 10})
    assert answer["errors"][0]["pointer"] == "#/demand/requests_per_s_mean"


def test_a_gpu_without_measured_kernels_is_rejected_for_that_and_not_for_its_speed(ask):
    answer = ask(engine="vllm-0.19", candidates={"gpus": ["trainium2"], "tp": [1]})
    assert [one["reason"] for one in answer["rejected"]] == ["missing-figure"]
    assert answer["binding_constraint"] != "slo"


def test_what_was_sized_is_echoed_resolved(ask):
    body = {"engine": "vllm", "model": "Llama 3.1 8B", "candidates": {"gpus": ["H100 SXM5 80GB"], "tp": [1]}}
    inputs = ask(**body, budget={"gpus": 64})["inputs"]
    assert inputs["model"]["slug"] == "llama-3.1-8b"
    assert inputs["engine"]["slug"] == "vllm-0.33"
    assert inputs["memory"]["utilization"] == 0.92
    assert inputs["candidates"] == {"gpus": ["h100-sxm5-80gb"], "precisions": ["bf16"], "tp": [1], "kv_cache": "bf16"}
    assert inputs["demand"]["concurrency"] == 200
    assert inputs["workload"]["input_tokens"] == 1500
    assert (inputs["slo"]["percentile"], inputs["slo"]["band_side"]) == (50, "conservative")
    assert inputs["budget"] == {"gpus": 64, "watts": None, "cost_per_month": None, "currency": None}
    assert ask(demand={"requests_per_s_peak": 5})["inputs"]["slo"]["percentile"] == 95


def test_two_spellings_of_one_gpu_with_two_prices_are_ambiguous(ask):
    answer = ask(400, prices={**PRICES, "H100 SXM5 80GB": PRICES["l40s"]})
    assert [(error["pointer"], error["code"]) for error in answer["errors"]] == [("#/prices", "ambiguous")]


def one(gpu, **more):
    return {"gpus": [gpu], "precisions": ["bf16"], "tp": [1]} | more


@pytest.mark.parametrize(
    ("change", "what"),
    [
        # 70.6e9 parameters of two bytes: 141 GB, four L40S of 48 GB.
        ({"model": "llama-3.1-70b", "candidates": one("l40s")}, "memory"),
        # Only one GPU a machine: no degree helps, another GPU or fewer bits must.
        ({"model": "llama-3.1-70b", "candidates": one("l4"), "gpus_per_node": 1}, "memory"),
        ({"model": "llama-3.1-405b", "candidates": one("l4"), "gpus_per_node": 1}, "memory"),
        # 671e9 parameters: 335 GB at four bits are in no single GPU.
        ({"model": "deepseek-v3", "candidates": one("l4"), "gpus_per_node": 1}, "node"),
        ({"model": "deepseek-v3", "candidates": one("l40s")}, "memory"),
        ({"candidates": one("h100-sxm5-80gb", tp=[8]), "gpus_per_node": 4}, "memory"),
    ],
)
def test_where_memory_rules_everything_out_the_nearest_candidate_that_holds_it_is_named(ask, change, what):
    answer = ask(**{"engine": "vllm-0.19", "slo": None, "prices": {}} | change)
    near = answer["nearest"]
    assert (answer["feasible"], near["what"]) == (False, what)
    again = {"gpus": [near["gpu"]], "precisions": [near["precision"]], "tp": [near["tp"]]}
    node = {"gpus_per_node": max(near["tp"], change.get("gpus_per_node", 8))}
    assert ask(**{"engine": "vllm-0.19", "slo": None, "prices": {}} | change | node | {"candidates": again})["feasible"]


def test_a_length_that_nothing_holds_is_said_to_be_too_long(ask):
    answer = ask(workload={"input_tokens": 1e8, "output_tokens": 1}, candidates=one("l40s"))
    assert (answer["nearest"], answer["binding_constraint"]) == (None, "memory")
    assert any("shorten it" in text for text in answer["warnings"])


@pytest.mark.parametrize("demand", [{"concurrency": 10}, {"requests_per_s_peak": 0.1}])
def test_a_target_of_the_whole_answer_that_nothing_meets_has_a_nearest_too(ask, demand):
    near = ask(slo={"e2e_s": 0.001}, demand=demand)["nearest"]
    assert (near["what"], near["ttft_s"], near["tpot_s"]) == ("slo", None, None)
    assert ask(slo={"e2e_s": near["e2e_s"] * 1.001}, demand=demand)["feasible"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"workload": {"mode": "open_loop"}}, "#/workload/mode"),
        ({"workload": {"mode": "offline"}}, "#/workload/mode"),
        ({"workload": {"requests_per_s": 5}}, "#/workload/requests_per_s"),
        ({"workload": {"concurrency": 5}}, "#/workload/concurrency"),
        ({"workload": {"burstiness_cv": 2}}, "#/workload/burstiness_cv"),
        ({"workload": {"batch_sizes": [1, 2]}}, "#/workload/batch_sizes"),
        ({"demand": {"concurrency": 5, "think_time_s": 3}}, "#/demand/think_time_s"),
        ({"demand": {"concurrency": 5, "burstiness_cv": 3}}, "#/demand/burstiness_cv"),
    ],
)
def test_a_load_that_contradicts_the_demand_is_refused_and_never_ignored(ask, change, pointer):
    body = {name: {**(BASE[name] if name == "workload" else {}), **part} for name, part in change.items()}
    assert [error["pointer"] for error in ask(400, **body)["errors"]] == [pointer]


def test_a_load_that_agrees_with_the_demand_is_taken(ask):
    lengths = BASE["workload"]
    assert ask(workload=lengths | {"mode": "closed_loop", "concurrency": 200})["feasible"]
    rate = {"mode": "open_loop", "requests_per_s": 5, "burstiness_cv": 2}
    assert ask(workload=lengths | rate, demand={"requests_per_s_peak": 5, "burstiness_cv": 2})["feasible"]


def test_a_target_of_tokens_after_the_first_does_not_bind_answers_of_one_token(ask):
    answer = ask(workload={"input_tokens": 1500, "output_tokens": 1}, slo={"tpot_s": 1e-9})
    assert answer["feasible"]
    assert any("does not bind" in text for text in answer["warnings"])


@pytest.mark.parametrize(("engine", "gpu"), [("vllm-0.19", "trainium2"), ("llama.cpp", "rtx-4090")])
@pytest.mark.parametrize("demand", [{"concurrency": 4}, {"requests_per_s_peak": 0.01}])
def test_loads_of_which_no_figure_is_known_are_never_capacity(ask, engine, gpu, demand):
    formats = {"precisions": ["q4_k_m"]} if engine == "llama.cpp" else {}
    answer = ask(engine=engine, candidates=one(gpu, **formats), slo=None, prices={}, demand=demand)
    for option in answer["options"]:
        assert (option["capacity"]["concurrency"], option["binding_constraint"]) == (1, "max_num_seqs")
    assert all(option["reason"] == "missing-figure" for option in answer["rejected"])


def test_sequences_the_engine_runs_at_once_are_no_memory(ask):
    answer = ask(slo=None, engine="vllm-0.19", memory={"max_num_seqs": 4}, candidates=one("l40s"))
    assert answer["options"][0]["binding_constraint"] == "max_num_seqs"
    assert answer["options"][0]["replicas"] == 200 / 4


def test_the_budget_names_the_option_nearest_to_it_and_not_the_first(ask):
    # 384 H100 cost more than 863 L40S at these prices: fewest GPUs come first, the lower bill is nearer to a limit.
    answer = ask(demand={"concurrency": 100_000}, budget={"cost_per_month": "1", "currency": "USD"})
    bills = [float(option["cost_per_month"]) for option in answer["options"]]
    assert float(answer["nearest"]["cost_per_month"]) == min(bills)
    fewest = ask(demand={"concurrency": 100_000}, budget={"gpus": 1}, objective="min_cost")
    assert fewest["nearest"]["gpus"] == min(option["gpus"] for option in fewest["options"])


def test_the_price_of_a_gpu_that_is_no_candidate_is_said_not_to_count(ask):
    answer = ask(prices=PRICES | {"h200-sxm-141gb": {"price_per_gpu_hour": "3", "currency": "USD"}})
    assert any("h200-sxm-141gb" in text for text in answer["warnings"])


@pytest.mark.parametrize(
    "load",
    [
        {},
        {"engine": "vllm-0.19", "demand": {"users": 900, "think_time_s": 20}},
        {"engine": "vllm-0.19", "demand": {"requests_per_s_peak": 30, "burstiness_cv": 1.5}},
        {"engine": "vllm-0.19", "model": "llama-3.3-70b-instruct"},
    ],
    ids=["in-flight", "users", "arrivals", "some-do-not-fit"],
)
def test_an_option_is_the_same_whatever_it_is_compared_with(ask, load):
    parts = ("options", "rejected")
    candidates = BASE["candidates"]
    together = ask(**load)
    found = {(one["gpu"], one["precision"], one["tp"]): one for part in parts for one in together[part]}
    assert len(found) == 8
    for (gpu, precision, tp), one in found.items():
        alone = ask(**load, candidates=candidates | {"gpus": [gpu], "precisions": [precision], "tp": [tp]})
        assert [other for part in parts for other in alone[part]] == [one]


def test_owned_gpus_are_ranked_by_what_they_cost_a_month(ask):
    """8,166.666667 + 7.84 kW · 730 h · 0.12 = 686.784 + 3,000 over 8 · 730 GPU hours: 2.02970046."""
    owned = {"capex": "392000", "gpus": 8, "watts": 5600, "pue": 1.4, "price_per_kwh": "0.12",
             "overhead_per_month": "3000"}  # fmt: skip
    answer = ask(prices={"h100-sxm5-80gb": {"currency": "USD", "owned": owned}}, objective="min_cost")
    option = next(option for option in answer["options"] if option["gpu"] == "h100-sxm5-80gb")
    assert float(option["cost_per_hour"]) == pytest.approx(2.02970046 * option["gpus"])
    entry = next(entry for entry in answer["provenance"] if entry["what"] == "prices.h100-sxm5-80gb")
    assert entry["source"].startswith("owned: capital 8166.66667, electricity 686.784, overhead 3000")


@pytest.mark.parametrize(
    ("price", "pointer"),
    [
        ({}, "owned"),
        ({"price_per_gpu_hour": "2", "owned": {"capex": "1"}}, "owned"),
        ({"owned": {"capex": "1", "residual_value": "2"}}, "owned/residual_value"),
        ({"owned": {"capex": "1", "colocation_per_kw_month": "2"}}, "owned/watts"),
        ({"owned": {"capex": "1", "pue": 1.2, "watts": 5}}, "owned/price_per_kwh"),
    ],
)
def test_a_price_that_contradicts_itself_is_refused(ask, price, pointer):
    answer = ask(400, prices={"h100-sxm5-80gb": {"currency": "USD"} | price})
    assert [error["pointer"] for error in answer["errors"]] == [f"#/prices/h100-sxm5-80gb/{pointer}"]


SURE = {
    "model": "llama-3.3-70b-instruct",
    "engine": "vllm-0.19",
    "workload": {"input_tokens": 4000, "output_tokens": 500},
    "candidates": {"gpus": ["h100-sxm5-80gb"], "precisions": ["fp8"], "tp": [2, 4]},
}


@pytest.mark.parametrize("demand", [{"concurrency": 100}, {"requests_per_s_peak": 10}])
def test_a_confidence_is_the_chance_of_every_option_and_more_of_it_takes_more_gpus(ask, demand):
    fewest = []
    for confidence in (0.5, 0.8, 0.95):
        answer = ask(**SURE, demand=demand, confidence=confidence)
        assert answer["inputs"]["confidence"] == confidence
        assert all(option["chance_within_slo"] >= confidence for option in answer["options"])
        assert any(f"a chance of {confidence:g}" in text for text in answer["assumptions"])
        fewest.append(answer["options"][0]["gpus"])
    assert fewest == sorted(fewest)
    assert fewest[0] < fewest[-1]


def test_the_load_of_a_confidence_is_the_largest_that_has_it(ask, client):
    option = ask(**SURE, confidence=0.9)["options"][0]
    count = option["capacity"]["concurrency"]

    def chance(concurrency):
        body = {
            "model": SURE["model"], "engine": SURE["engine"], "gpu": option["gpu"], "slo": BASE["slo"],
            "precision": {"weights": "fp8"}, "parallelism": {"tp": option["tp"]},
            "workload": SURE["workload"] | {"concurrency": concurrency},
        }  # fmt: skip
        answer = client.post("/api/v1/estimates/throughput/", orjson.dumps(body), content_type="application/json")
        return answer.json()["odds"]["all"]

    assert chance(count) >= 0.9 > chance(count + 1)
    assert option["chance_within_slo"] == pytest.approx(chance(count))


def test_targets_that_have_no_such_chance_are_answered_with_those_that_have_it(ask):
    hard = {"ttft_s": 0.3, "tpot_s": 0.02}
    near = ask(**SURE, slo=hard, confidence=0.99)["nearest"]
    assert near["what"] == "slo"
    assert near["ttft_s"] / hard["ttft_s"] == pytest.approx(near["tpot_s"] / hard["tpot_s"])
    longer = {name: near[name] * 1.001 for name in hard}
    assert ask(**SURE, slo=longer, confidence=0.99)["feasible"]


def test_a_budget_of_power_is_held_against_the_high_end_of_all_gpus_and_a_cap_takes_more_of_them(ask):
    free = ask()["options"][0]
    assert free["watts"]["high"] == pytest.approx(free["gpus"] * free["watts_per_gpu"]["high"])
    assert ask(budget={"watts": free["watts"]["high"]})["feasible"]
    tight = ask(budget={"watts": 100})
    assert (tight["feasible"], tight["binding_constraint"], tight["nearest"]["what"]) == (False, "budget", "budget")
    assert tight["nearest"]["watts"] > 100
    capped = {option["gpu"]: option for option in ask(power_cap_w=200, slo={"tpot_s": 0.03})["options"]}
    plain = {option["gpu"]: option for option in ask(slo={"tpot_s": 0.03})["options"]}
    for gpu, option in capped.items():
        assert option["watts_per_gpu"]["high"] <= 200
        assert option["goodput_requests_per_s_per_gpu"] <= plain[gpu]["goodput_requests_per_s_per_gpu"] * (1 + 1e-9)


def test_without_gpus_those_with_offers_are_tried(client):
    body = {
        "model": "llama-3.1-8b", "workload": {"input_tokens": 1000, "output_tokens": 200},
        "demand": {"concurrency": 20}, "candidates": {"tp": [1]}, "objective": "min_cost",
    }  # fmt: skip
    response = client.post("/api/v1/estimates/sizing/", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    answer = response.json()
    tried = answer["inputs"]["candidates"]["gpus"]
    assert {"h100-sxm5-80gb", "l40s"} <= set(tried)
    # Each has an offer in the catalog, so that each has a bill.
    assert all(one["cost_per_month"] for one in answer["options"])
    assert any("GPUs not given" in text for text in answer["assumptions"])
    assert answer["options"][0]["cost_per_month"] == min((o["cost_per_month"] for o in answer["options"]), key=float)
