"""A server started without graphs launches each of its steps kernel by kernel, and its answer says so."""

import numpy as np
import pytest

from estimator.engine.speed.sweep import Sweep
from estimator.estimates.throughput.answer import ENDPOINT
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import setting_of
from estimator.question.plan import PlanRequest
from estimator.resolvers.resolve import resolve_plan
from estimator.validation import shipped
from tests.estimator.random_plans import answered


def asked(model, gpu, *, concurrency=1, **more):
    load = {"input_tokens": 1000, "output_tokens": 300, "concurrency": concurrency}
    return answered(ENDPOINT, {"model": model, "gpu": gpu, "engine": "vllm-0.19", "workload": load} | more)


EAGER = {"memory": {"enforce_eager": True}}


@pytest.mark.parametrize(
    ("model", "gpu", "measured"),
    # vllm-project/vllm-omni issue 7960: the thinker of Qwen2.5-Omni-7B on one A800, 22.5 ms without graphs and 13 with
    [("qwen2.5-7b-instruct", "a100-sxm4-80gb", 22.5 / 13)],
)
def test_a_token_takes_as_many_times_longer_as_was_measured(model, gpu, measured):
    eager, captured = asked(model, gpu, **EAGER).expected.tpot_s, asked(model, gpu).expected.tpot_s
    assert eager.mid / captured.mid == pytest.approx(measured, rel=0.15)


def test_graphs_help_less_the_more_is_in_flight_and_never_slow_a_server():
    ratios = [
        asked("llama-3.1-8b", "h100-sxm5-80gb", concurrency=n, **EAGER).expected.tpot_s.mid
        / asked("llama-3.1-8b", "h100-sxm5-80gb", concurrency=n).expected.tpot_s.mid
        for n in (1, 16, 256)
    ]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] > 2
    assert ratios[-1] >= 1


def test_the_answer_says_what_was_asked_for_and_that_nothing_measured_it():
    by_memory = asked("llama-3.1-8b", "h100-sxm5-80gb", **EAGER)
    by_name = asked("llama-3.1-8b", "h100-sxm5-80gb", engine_settings={"enforce_eager": True})
    assert by_memory.expected.tpot_s == by_name.expected.tpot_s
    assert by_memory.expected.basis == "nearest_family"
    assert any("steps without graphs" in text for text in by_memory.warnings)
    for answer in (by_memory, by_name):
        said = {one.name: (one.value, one.stated) for one in answer.inputs.engine_settings}
        assert said["enforce_eager"] == (True, True)
        assert said["async_scheduling"] == (True, False)


def test_an_engine_whose_rows_were_run_without_graphs_is_not_charged_twice():
    captures_none = {"engine": "vllm-v0-eager"}
    plain = asked("llama-3.1-8b", "h100-sxm5-80gb", **captures_none)
    assert asked("llama-3.1-8b", "h100-sxm5-80gb", **captures_none, **EAGER).expected.tpot_s == plain.expected.tpot_s


def test_keys_with_and_without_graphs_in_one_sweep_are_what_each_is_alone():
    load = {"input_tokens": 1000, "output_tokens": 300, "concurrency": 16}
    keys, alone = [], []
    for memory in ({}, {"enforce_eager": True}):
        body = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "workload": load, "memory": memory}
        plan = resolve_plan(PlanRequest.model_validate(body), shipped.facts())
        keys.append(setting_of(plan).speed)
        alone.append(Sweep(keys[-1:]).evaluate(rows_of(plan.workload, np.ones(1)))["tpot_s_mid"][0])
    both = Sweep(keys).evaluate(rows_of(plan.workload, np.ones(2), key=np.arange(2)))["tpot_s_mid"]
    assert both.tolist() == alone
    assert alone[1] > 2 * alone[0]
