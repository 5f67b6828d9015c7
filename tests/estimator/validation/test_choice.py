"""The choice among measured settings: what it loses, worked by hand."""

import dataclasses

import pytest

from estimator.engine.specs import Parallelism
from estimator.validation.choice import choices
from estimator.validation.predictions import Prediction
from estimator.validation.rows import Metric, read_measurements


def said(measured, expected, gpus=1, metric=Metric.OFFLINE, concurrency=1.0):
    row = dataclasses.replace(
        read_measurements()[0],
        metric=metric,
        value=measured,
        parallelism=Parallelism(tp=gpus),
        concurrency=concurrency,
    )
    return Prediction(
        row=row, expected=expected, roofline=1.0, saturated=False, beats_ceiling=False, model_class="dense", doubts=(),
        band=(0.5, 2.0),
    )  # fmt: skip


def test_the_loss_is_that_of_the_setting_with_the_best_prediction_by_gpu():
    # By GPU measured 100, 90, 50, 40 and said 80, 95, 60, 10: the second is chosen and loses a tenth.
    group = [said(100, 80), said(180, 190, gpus=2), said(200, 240, gpus=4), said(40, 10)]
    (found,) = choices(group)
    assert (found.questions, found.settings) == (1, 4)
    assert found.loss == pytest.approx(0.1)
    assert found.best == 0.0


def test_the_shortest_time_is_the_best_one():
    group = [said(t, s, metric=Metric.TPOT) for t, s in ((0.02, 0.03), (0.01, 0.02), (0.04, 0.05), (0.03, 0.04))]
    (found,) = choices(group)
    assert (found.loss, found.best) == (0.0, 1.0)


def test_fewer_than_four_settings_or_another_load_are_no_question():
    group = [said(100, 80), said(90, 70), said(80, 60)]
    assert choices(group) == ()
    assert choices([*group, said(70, 50, concurrency=2.0)]) == ()
