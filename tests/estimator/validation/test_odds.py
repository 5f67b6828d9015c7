"""Chances said of rows whose source nothing was fitted to, and what happened; the scores worked by hand."""

import dataclasses
import math

import pytest

from estimator.validation.leave_out import stand_in
from estimator.validation.odds_rows import FIRST_S, reliability
from estimator.validation.predictions import Prediction, predict
from estimator.validation.rows import Metric, read_measurements, used


@pytest.fixture(scope="module")
def found():
    predictions, _ = predict(used(read_measurements()))
    return {each.kind: each for each in reliability(stand_in(predictions, lambda row: row.without_source))}


def test_what_is_said_to_happen_happens_about_as_often(found):
    assert set(found) == {"TTFT", "TPOT", "both together"}
    for kind, each in found.items():
        assert each.rows > 800, kind
        for one in each.bins:
            assert abs(one.said - one.happened) <= 0.2, (kind, one)
        for one in (each.bins[0], each.bins[-1]):
            assert abs(one.said - one.happened) <= 0.01, (kind, one)


def test_a_chance_tells_more_than_the_yes_or_no_of_the_middle(found):
    for kind, each in found.items():
        assert each.brier < 0.85 * each.brier_of_middle, kind


def test_the_brier_score_is_the_mean_squared_distance_of_said_and_happened():
    row = dataclasses.replace(next(r for r in read_measurements() if r.metric is Metric.TTFT), value=0.3)
    said = Prediction(
        row=row, expected=0.5, roofline=1.0, saturated=True, beats_ceiling=False, model_class="dense", doubts=(),
        band=(0.5, 2.0),
    )  # fmt: skip
    first = reliability([said])[0]
    assert (first.kind, first.rows, first.questions) == ("TTFT", 1, len(FIRST_S))
    # The middle is 0.5: even odds there, which happened; the odds are 9 for each factor of two.
    chances = [1.0 / (1.0 + 9.0 ** (-math.log2(target / 0.5))) for target in FIRST_S]
    happened = [target >= 0.3 for target in FIRST_S]
    expected = sum((c - h) ** 2 for c, h in zip(chances, happened, strict=True)) / len(FIRST_S)
    assert first.brier == pytest.approx(expected)
