"""Speculative decoding: the published formula and its limits."""

import pytest

from estimator.engine.errors import InvalidInputError
from estimator.engine.speculation.gain import implied_acceptance_rate, speed_up, tokens_per_pass


def test_four_drafts_at_80_percent_acceptance_give_3_36_tokens_a_pass_and_2_8_times_the_speed():  # S21
    assert tokens_per_pass(acceptance_rate=0.8, draft_tokens=4) == pytest.approx(3.3616, rel=1e-3)
    gain = speed_up(acceptance_rate=0.8, draft_tokens=4, draft_cost_ratio=0.05)
    assert gain == pytest.approx(2.801, rel=1e-3)


def test_a_fully_accepted_draft_of_k_gives_k_plus_1_tokens_a_pass():
    assert tokens_per_pass(acceptance_rate=1.0, draft_tokens=5) == 6.0


def test_no_acceptance_costs_the_draft_and_slows_down():
    assert speed_up(acceptance_rate=0.0, draft_tokens=5, draft_cost_ratio=0.1) == pytest.approx(1 / 1.5)


def test_the_acceptance_rate_is_recovered_from_the_accepted_length():
    assert implied_acceptance_rate(accepted_length=3.3616, draft_tokens=4) == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_an_acceptance_rate_outside_0_to_1_is_refused(rate):
    with pytest.raises(InvalidInputError, match="acceptance_rate"):
        tokens_per_pass(acceptance_rate=rate, draft_tokens=4)


def test_fewer_than_one_draft_token_is_refused():
    with pytest.raises(InvalidInputError, match="draft_tokens"):
        tokens_per_pass(acceptance_rate=0.5, draft_tokens=0)
