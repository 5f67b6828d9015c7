"""Arrivals at a rate: the sequences that decode are those of Little's law, and no wait falls as the rate grows."""

import numpy as np
import pytest

from estimator.engine.serving.load import Load
from estimator.engine.serving.open_loop import open_state, serving_pace
from estimator.engine.specs import Parallelism, Precision
from estimator.engine.speed.prepared import Key, prepare
from tests.engine.shapes import H100, from_shape, llama_8b_shape, mixture_shape, serving_engine

SHARES = (0.001, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
PLACES = 1024.0


def states(shape, input_tokens, output_tokens, shares=SHARES):
    """The pace, the rates and the state at each share of the highest stable one."""
    key = Key(
        architecture=from_shape(shape),
        gpu=H100,
        engine=serving_engine(),
        precision=Precision(weights="bf16"),
        parallelism=Parallelism(),
    )
    load = Load(
        input_tokens=float(input_tokens),
        output_tokens=float(output_tokens),
        concurrency=1.0,
        context_tokens=input_tokens + output_tokens / 2,
    )
    prepared = prepare(key)

    def pace_at(rate):
        return serving_pace(prepared.serving, prepared.scheduler, load, rate, PLACES)

    stable = float(open_state(pace_at(1e-6), load, PLACES, 1e-6, 1.0).max_stable_requests_per_s)
    rates = np.array(shares) * stable
    pace = pace_at(rates)
    return pace, rates, open_state(pace, load, PLACES, rates, 1.0)


@pytest.mark.parametrize("shape", [llama_8b_shape(), mixture_shape()], ids=["dense", "mixture"])
@pytest.mark.parametrize("input_tokens", [16, 500, 8000])
@pytest.mark.parametrize("output_tokens", [2, 4, 16, 128, 2000])
def test_sequences_decoding_are_those_of_littles_law(shape, input_tokens, output_tokens):
    pace, rates, state = states(shape, input_tokens, output_tokens)
    asked = rates * output_tokens * pace.at(state.decoding).tpot_s
    # Where prompts begin to share a step TPOT jumps: there the root lies between the two sides of the jump.
    below, above = (rates * output_tokens * pace.at(state.decoding * side).tpot_s for side in (0.95, 1.05))
    least, most = np.minimum(below, above), np.maximum(below, above)
    assert np.all(state.decoding >= 0.95 * np.minimum(asked, least))
    assert np.all(state.decoding <= 1.05 * np.maximum(asked, most))


@pytest.mark.parametrize("shape", [llama_8b_shape(), mixture_shape()], ids=["dense", "mixture"])
@pytest.mark.parametrize("input_tokens", [16, 500, 8000])
@pytest.mark.parametrize("output_tokens", [1, 2, 4, 16, 128, 2000])
class TestOfAnyLength:
    def test_time_to_the_first_token_does_not_fall_as_the_rate_grows(self, shape, input_tokens, output_tokens):
        _, _, state = states(shape, input_tokens, output_tokens)
        mean = state.base_ttft_s + state.waits_s[..., 0]
        assert np.all(mean[1:] >= 0.97 * mean[:-1])

    def test_half_full_nobody_waits_as_if_full(self, shape, input_tokens, output_tokens):
        pace, _, state = states(shape, input_tokens, output_tokens)
        half = SHARES.index(0.5)
        assert np.all(state.waits_s[half, 0] < 3.0 * pace.prefill_s)


def test_a_lone_request_waits_for_nothing():
    pace, _, state = states(llama_8b_shape(), 500, 100, shares=(1e-9,))
    alone = float(pace.first_s + pace.prefill_s[0])
    assert state.base_ttft_s[0] + state.waits_s[0, 0] == pytest.approx(alone, rel=1e-3)
