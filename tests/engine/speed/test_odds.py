"""Chances of meeting targets: what bands say of one, the copula of two, whole answers, and queues."""

import numpy as np
import pytest

from estimator.engine.speed.odds import Ends, Times, both, chance_within, given, odds, odds_ratio, together

RATIO = odds_ratio(0.2)


def ends(low, mid, high, least=0.0):
    return Ends(low=low, mid=mid, high=high, least=least)


def times(gaps=100.0, **changes):
    first, each = ends(0.4, 0.5, 0.8), ends(0.02, 0.025, 0.03)
    whole = ends(2.4, 0.5 + gaps * 0.025, 3.8)
    return Times(**{"first": first, "each": each, "whole": whole, "gaps": gaps, "first_of_whole_s": 0.5} | changes)


def drawn(count=200_000, seed=3):
    """Times of runs drawn from the same distributions, one by one: what the closed form must meet."""
    rng = np.random.default_rng(seed)
    second, share = rng.uniform(size=(2, count))
    low, high = np.zeros(count), np.ones(count)
    for _ in range(30):
        middle = (low + high) / 2.0
        below = given(middle, second, RATIO) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)

    def time_of(chance, band):
        logit = np.log(chance / (1.0 - chance)) / np.log(9.0)
        width = np.where(logit >= 0.0, np.log(band.high / band.mid), np.log(band.mid / band.low))
        return band.mid * np.exp(width * logit)

    return time_of(low, times().first), time_of(second, times().each)


def test_the_ends_of_a_band_are_nine_to_one_and_its_middle_is_even():
    band = ends(0.5, 1.0, 3.0)
    assert [float(chance_within(t, band)) for t in (0.5, 1.0, 3.0)] == pytest.approx([0.1, 0.5, 0.9])
    # Twice as far in ln, the odds are squared.
    assert float(chance_within(9.0, band)) == pytest.approx(81 / 82)


def test_nothing_is_within_a_target_below_its_ceiling_and_no_width_is_yes_or_no():
    assert float(chance_within(0.59, ends(0.5, 1.0, 3.0, least=0.6))) == 0.0
    sure = ends(1.0, 1.0, 1.0)
    assert [float(chance_within(t, sure)) for t in (0.99, 1.0, 1.01)] == [0.0, 1.0, 1.0]
    assert np.isnan(chance_within(1.0, ends(np.nan, np.nan, np.nan)))


def test_two_errors_that_go_together_are_both_within_more_often_than_by_chance():
    assert float(both(0.5, 0.5, 1.0)) == 0.25
    p, q = np.meshgrid(np.linspace(0.01, 0.99, 25), np.linspace(0.01, 0.99, 25))
    joint = both(p, q, RATIO)
    assert np.all((joint > p * q) & (joint <= np.minimum(p, q)) & (joint >= p + q - 1.0))
    slope = (both(p, q + 1e-6, RATIO) - both(p, q - 1e-6, RATIO)) / 2e-6
    assert np.allclose(slope, given(p, q, RATIO), atol=1e-6)


@pytest.mark.parametrize(
    "targets",
    [
        {"ttft_s": 0.6},
        {"tpot_s": 0.027},
        {"e2e_s": 3.2},
        {"ttft_s": 0.6, "tpot_s": 0.027},
        {"ttft_s": 0.55, "e2e_s": 3.0},
        {"ttft_s": 0.9, "tpot_s": 0.03, "e2e_s": 3.5},
    ],
)
def test_chances_are_the_shares_of_runs_drawn_one_by_one(targets):
    first, each = drawn()
    whole = first + times().gaps * each
    inside = [
        value <= targets[name]
        for name, value in zip(("ttft_s", "tpot_s", "e2e_s"), (first, each, whole), strict=True)
        if name in targets
    ]
    assert float(together(times(), targets)) == pytest.approx(np.mean(np.all(inside, axis=0)), abs=0.01)


def test_all_targets_are_met_no_more_often_than_any_and_longer_targets_more_often():
    rng = np.random.default_rng(5)
    before = 0.0
    for stretch in np.linspace(0.6, 2.0, 15):
        asked = {"ttft_s": 0.5 * stretch, "tpot_s": 0.025 * stretch, "e2e_s": 3.0 * stretch}
        found = odds(times(load_share=rng.choice([0.0]), gaps=100.0), asked)
        every = float(found.together)
        assert every <= min(float(found.ttft_s), float(found.tpot_s), float(found.e2e_s))
        assert every >= before
        before = every


def test_an_answer_of_one_token_has_its_first_token_s_chance_alone():
    one = times(gaps=0.0, each=ends(np.nan, np.nan, np.nan), whole=ends(0.4, 0.5, 0.8))
    found = odds(one, {"ttft_s": 0.6, "tpot_s": 1e-9, "e2e_s": 0.6})
    assert float(found.together) == pytest.approx(float(chance_within(0.6, one.first)), abs=0.01)


def test_a_busier_queue_meets_its_targets_less_often_and_one_without_end_hardly():
    chances = [
        float(together(times(load_share=np.array(busy), unhurried_s=0.4), {"ttft_s": 0.8, "tpot_s": 1.0}))
        for busy in (0.0, 0.3, 0.6, 0.9, 0.999)
    ]
    assert chances == sorted(chances, reverse=True)
    # At the highest stable rate every second error of the step makes the queue grow.
    assert chances[0] > 0.85
    assert chances[-1] < 0.5


def test_the_odds_ratio_has_the_rank_correlation_asked_for():
    first, each = drawn()
    ranks = [np.argsort(np.argsort(values)) for values in (first, each)]
    assert np.corrcoef(ranks)[0, 1] == pytest.approx(0.2, abs=0.01)
