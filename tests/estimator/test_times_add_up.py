"""Times of one answer hold together: their parts add up, none is negative, a first token is never after the last."""

from random import Random

import pytest

from estimator.estimates.throughput.answer import ENDPOINT
from tests.estimator.random_plans import answered, drawn

MODES = ("closed_loop", "open_loop", "static_batch", "single_stream")
PLANS = 250
SIDES = ("low", "mid", "high")


def answers(mode, seed):
    random = Random(seed)
    found = ((body, answered(ENDPOINT, body)) for body in (drawn(random, (mode,)) for _ in range(PLANS)))
    return [(body, answer) for body, answer in found if answer is not None]


@pytest.mark.parametrize("mode", MODES)
def test_times_of_plans_at_random_hold_together(mode):
    said = 0
    for body, answer in answers(mode, seed=11):
        expected, tokens = answer.expected, max(body["workload"]["output_tokens"], 1)
        if expected.ttft_s is None or expected.e2e_s is None:
            continue
        said += 1
        parts = answer.time_breakdown_s
        if parts is not None:
            assert all(seconds >= 0 for _name, seconds in parts), body
            assert sum(seconds for _name, seconds in parts) == pytest.approx(expected.e2e_s.mid, rel=1e-12), body
        if answer.first_token is not None:
            assert all(part >= 0 for _name, part in answer.first_token if isinstance(part, float)), body
        traffic = body["workload"].get("traffic", {})
        if traffic.get("statistic", "mean") == "mean" and traffic.get("ttft_at", "client") == "client":
            for side in SIDES:
                assert getattr(expected.ttft_s, side) <= getattr(expected.e2e_s, side) * (1 + 1e-12), body
            later = (tokens - 1) * expected.tpot_s.mid if expected.tpot_s is not None else 0.0
            assert expected.ttft_s.mid + later == pytest.approx(expected.e2e_s.mid, rel=1e-9), body
        # The roofline's source documents know no token that waits for another's prompt.
        if expected.tpot_s is not None and answer.decode.step_s is not None:
            assert expected.tpot_s.mid >= answer.decode.step_s * (1 - 1e-9), body
    assert said > PLANS / 4


def test_a_batch_beyond_its_places_takes_turns_in_both_of_its_times():
    plan = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19", "memory": {"max_num_seqs": 64}}
    load = {"mode": "static_batch", "input_tokens": 1000, "output_tokens": 100}
    once, thrice = (
        answered(ENDPOINT, plan | {"workload": load | {"concurrency": count}}).expected for count in (64, 192)
    )
    assert thrice.e2e_s.mid == pytest.approx(3 * once.e2e_s.mid)
    # The last first token comes when two turns are over and the third's prompts are through.
    assert thrice.ttft_s.mid == pytest.approx(2 * once.e2e_s.mid + once.ttft_s.mid)
    assert thrice.tokens_per_s_total.mid == pytest.approx(once.tokens_per_s_total.mid)
    assert 192 * 100 / thrice.e2e_s.mid == pytest.approx(thrice.tokens_per_s_total.mid)


@pytest.mark.parametrize("statistic", ["p50", "p99"])
def test_parts_of_the_time_are_those_of_the_mean_whichever_first_token_is_asked_for(statistic):
    plan = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19"}
    load = {"input_tokens": 1000, "output_tokens": 100, "concurrency": 64}
    mean, other = (
        answered(ENDPOINT, plan | {"workload": load | {"traffic": {"kind": "benchmark", "statistic": each}}})
        for each in ("mean", statistic)
    )
    assert other.expected.ttft_s.mid != pytest.approx(mean.expected.ttft_s.mid)
    assert other.time_breakdown_s == mean.time_breakdown_s


@pytest.mark.parametrize("mode", ["closed_loop", "open_loop"])
def test_the_time_between_two_tokens_is_neared_by_answers_of_hardly_more_than_one(mode):
    plan = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19"}
    load = {"mode": mode, "input_tokens": 1000} | (
        {"concurrency": 64} if mode == "closed_loop" else {"requests_per_s": 5}
    )
    tpot = {
        tokens: answered(ENDPOINT, plan | {"workload": load | {"output_tokens": tokens}}).expected.tpot_s
        for tokens in (1, 1.01, 1.5, 2)
    }
    assert tpot[1] is None
    assert tpot[1.01].mid == pytest.approx(tpot[2].mid, rel=0.02)
    assert tpot[1.5].mid == pytest.approx(tpot[2].mid, rel=0.02)
