"""Percentiles of a load that is played through, beside the closed form's: bounded, seeded, and near each other."""

import json

import pytest

from estimator.engine.errors import InvalidInputError
from estimator.estimates.endpoint import Asked
from estimator.estimates.throughput.answer import ENDPOINT
from estimator.validation import shipped
from tests.estimator.random_plans import answered

PLAN = {
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm5-80gb",
    "engine": "vllm-0.19",
    "memory": {"utilization": 0.9},
    "precision": {"kv_cache": "bf16"},
    "percentiles": "simulated",
}
LENGTHS = {"input_tokens": 1000, "output_tokens": 300}
CLOSED = LENGTHS | {"concurrency": 32}
OPEN = LENGTHS | {"mode": "open_loop", "requests_per_s": 5}


def asked(workload, **changes):
    return answered(ENDPOINT, PLAN | changes | {"workload": workload})


@pytest.mark.parametrize(
    "workload",
    [
        LENGTHS | {"concurrency": 1},
        CLOSED,
        CLOSED | {"traffic": {"kind": "benchmark", "random_range_ratio": 0.8}},
        OPEN,
        OPEN | {"requests_per_s": 10},
    ],
    ids=str,
)
def test_what_is_played_and_what_the_closed_form_says_are_near(workload):
    answer = asked(workload)
    played, said = answer.simulated, answer.expected
    assert played.reason is None
    assert 0 < played.counted <= played.requests
    assert played.passes > 0
    # Half of the requests, and the mean of what a token and a whole answer take.
    assert played.ttft_s.p50 == pytest.approx(played.closed_form_ttft_s.p50, rel=0.2)
    assert played.tpot_s.mean == pytest.approx(said.tpot_s.mid, rel=0.05)
    assert played.e2e_s.mean == pytest.approx(said.e2e_s.mid, rel=0.05)
    for each in (played.ttft_s, played.tpot_s, played.e2e_s):
        assert each.p50 <= each.p90 <= each.p99


def test_the_same_question_has_the_same_figures_and_another_seed_others():
    first, again, other = (asked(OPEN, simulation_seed=seed).simulated for seed in (0, 0, 1))
    assert first == again
    assert first.ttft_s != other.ttft_s


def test_requests_asked_for_are_played_and_too_few_are_refused_by_their_field():
    assert asked(CLOSED, simulated_requests=150).simulated.requests == 150
    with pytest.raises(InvalidInputError) as refused:
        _answer(CLOSED, simulated_requests=50)
    assert refused.value.field == "simulated_requests"


def test_more_work_than_the_limit_is_refused_by_its_field():
    # A prompt of two thousand passes, two thousand times over.
    long = {"input_tokens": 100_000, "output_tokens": 2, "mode": "open_loop", "requests_per_s": 0.01}
    with pytest.raises(InvalidInputError) as refused:
        _answer(long, simulated_requests=2000, memory={"max_batched_tokens": 256})
    assert refused.value.field == "simulated_requests"


def _answer(workload, **changes):
    body = json.dumps(PLAN | changes | {"workload": workload})
    return ENDPOINT.answer(ENDPOINT.request.model_validate_json(body), Asked(facts=shipped.facts(), explain=False))


@pytest.mark.parametrize(
    ("changes", "workload"),
    [
        ({"engine": "ideal"}, CLOSED),
        ({"model": "qwen3-30b-a3b", "parallelism": {"dp": 2}}, CLOSED),
        ({}, LENGTHS | {"mode": "offline"}),
        ({}, CLOSED | {"prefix_cache_hit_rate": 0.5}),
        ({}, OPEN | {"requests_per_s": 10_000}),
    ],
    ids=["ideal", "ranks", "offline", "prefix", "queue grows"],
)
def test_what_cannot_be_played_says_why(changes, workload):
    found = asked(workload, **changes).simulated
    assert (found.requests, found.ttft_s, found.e2e_s) == (0, None, None)
    assert found.reason


def test_beyond_the_places_requests_wait_for_one():
    answer = asked(CLOSED | {"concurrency": 64}, memory={"utilization": 0.9, "max_num_seqs": 32})
    assert answer.concurrency.saturated
    # Half of them wait for a whole answer of the others.
    assert answer.simulated.ttft_s.mean == pytest.approx(answer.expected.ttft_s.mid, rel=0.1)


def test_answers_of_one_token_have_no_time_between_tokens():
    assert asked(CLOSED | {"output_tokens": 1}).simulated.tpot_s is None


def test_a_crowded_loop_of_short_answers_says_that_the_closed_form_is_too_slow():
    def texts(output, concurrency):
        load = {"input_tokens": 64, "output_tokens": output, "concurrency": concurrency}
        plan = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19", "workload": load}
        return " ".join(answered(ENDPOINT, plan).warnings)

    words = "run in step with each other"
    assert words in texts(16, 32)
    assert all(words not in texts(*load) for load in ((32, 32), (1, 32), (16, 16)))
