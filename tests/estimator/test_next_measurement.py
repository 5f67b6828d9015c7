"""The benchmark that would narrow a decision: its command, what it would tell, and where nothing is left to tell."""

from random import Random

import pytest

from estimator.estimates.memory_fit.launch_command import read_argument_lists
from estimator.estimates.sizing import answer as sizing
from estimator.estimates.throughput import answer as throughput
from estimator.estimates.throughput import bench_command
from estimator.estimates.throughput.next_measurement import is_sure, most_telling
from estimator.estimates.verdict import answer as verdict
from tests.estimator.random_plans import answered, drawn

PLAN = {
    "model": "llama-3.3-70b-instruct",
    "gpu": "h100-sxm5-80gb",
    "engine": "vllm-0.19",
    "parallelism": {"tp": 2},
    "precision": {"weights": "fp8"},
    "workload": {"input_tokens": 8000, "output_tokens": 500, "concurrency": 16},
    "slo": {"ttft_s": 2, "tpot_s": 0.05},
}


def asked(**changes):
    return answered(throughput.ENDPOINT, PLAN | changes).next_measurement


def flags(command):
    """Flags of a command with their values."""
    lines = [line.strip() for line in command.split("\\\n")]
    return dict([*line.split(maxsplit=1), ""][:2] for line in lines[1:])


def test_every_command_takes_flags_of_its_client_alone_and_measures_the_load_asked_for():
    lists, random, made = read_argument_lists(bench_command._ARGUMENTS), Random(7), set()
    for _ in range(300):
        body = drawn(random, ("closed_loop", "open_loop", "single_stream", "static_batch"))
        body |= {"engine": random.choice(sorted(lists)), "slo": {"ttft_s": 1.0, "tpot_s": 0.03}}
        answer = answered(throughput.ENDPOINT, body)
        found = None if answer is None else answer.next_measurement
        if found is None or found.command is None:
            assert found is None or found.reason
            continue
        engine, load = answer.inputs.engine.slug, body["workload"]
        client = lists[engine]
        assert (found.version, found.source) == (client.version, client.source)
        assert found.command.startswith(client.program)
        told = flags(found.command)
        assert {name for name in told if name.startswith("--")} <= client.names
        if "--random-input-len" in told and "kind" not in load.get("traffic", {}):
            assert int(told["--random-input-len"]) == load["input_tokens"]
        if load["mode"] == "open_loop":
            assert float(told["--request-rate"]) == pytest.approx(load["requests_per_s"], rel=1e-5)
            assert "--max-concurrency" not in told
        assert 0.02 < found.chance < 0.98
        assert found.doubt == pytest.approx(found.chance * (1 - found.chance))
        made.add(client.program)
    assert len(made) >= 3


def test_lengths_that_differ_are_said_as_each_client_says_them():
    traffic = {"kind": "benchmark", "random_range_ratio": 0.8}
    load = PLAN["workload"] | {"input_tokens": 900, "traffic": traffic}
    targets = {"ttft_s": 0.15, "tpot_s": 0.05}
    # From 800 to 1,000: of vLLM 900 less and more by a ninth, of SGLang from 0.8 of 1,000.
    told = flags(asked(workload=load, slo=targets).command)
    assert (told["--random-input-len"], float(told["--random-range-ratio"])) == ("900", pytest.approx(1 / 9, abs=1e-4))
    told = flags(asked(workload=load, slo=targets, engine="sglang-0.5").command)
    assert (told["--random-input-len"], told["--random-range-ratio"]) == ("1000", "0.8")


def test_the_shape_of_bursty_gaps_is_one_over_the_square_of_their_variation():
    load = {"mode": "open_loop", "input_tokens": 8000, "output_tokens": 500, "requests_per_s": 0.4, "burstiness_cv": 2}
    assert flags(asked(workload=load).command)["--burstiness"] == "0.25"
    refused = asked(workload=load, engine="sglang-0.5")
    assert refused.command is None
    assert "Poisson" in refused.reason


def test_a_measurement_leaves_less_doubt_and_a_sure_decision_asks_for_none():
    found = asked()
    assert 0 < found.doubt_after < found.doubt / 2
    for slo in ({"ttft_s": 1000, "tpot_s": 10}, {"ttft_s": 0.001}):
        sure = asked(slo=slo)
        assert (sure.command, sure.doubt_after) == (None, None)
        assert "sure already" in sure.reason
    assert asked(engine="ideal").command is None


def test_without_targets_there_is_no_decision_to_narrow():
    plan = {name: value for name, value in PLAN.items() if name != "slo"}
    assert answered(throughput.ENDPOINT, plan).next_measurement is None


def test_a_verdict_asks_for_the_measurement_of_throughput():
    said = answered(verdict.ENDPOINT, PLAN | {"changes": False, "price_per_gpu_hour": "2", "currency": "USD"})
    assert said.next_measurement == asked()


def test_of_plans_the_one_is_measured_whose_outcome_decides():
    # The first is taken where it holds: to know that it does, or not, settles nearly all.
    assert most_telling([0.7, 0.9]) == 0
    # The first is nearly sure to miss: whether the second holds is what is open.
    assert most_telling([0.03, 0.5]) == 1
    assert most_telling([0.99, 0.5]) is None
    assert most_telling([]) is None
    assert is_sure(0.99)
    assert is_sure(0.01)


def test_a_sizing_names_the_option_to_measure_at_the_load_that_it_carries():
    body = {
        "model": PLAN["model"], "engine": PLAN["engine"], "slo": PLAN["slo"], "demand": {"concurrency": 100},
        "workload": {"input_tokens": 4000, "output_tokens": 500},
        "candidates": {"gpus": ["h100-sxm5-80gb", "h200-sxm-141gb"], "precisions": ["fp8"], "tp": [2, 4]},
        "prices": {gpu: {"price_per_gpu_hour": "2", "currency": "USD"} for gpu in ("h100-sxm5-80gb", "h200-sxm-141gb")},
    }  # fmt: skip
    answer = answered(sizing.ENDPOINT, body)
    found, first = answer.next_measurement, answer.options[0]
    assert (found.gpu, found.tp, found.chance) == (first.gpu, first.tp, pytest.approx(first.chance_within_slo))
    assert flags(found.command)["--max-concurrency"] == str(first.capacity.concurrency)
    plain = answered(sizing.ENDPOINT, {name: value for name, value in body.items() if name != "slo"})
    assert plain.next_measurement is None
