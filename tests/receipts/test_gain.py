"""Calibrated on three runs of a cluster the others get better: published rows, said without their model."""

import math
import random
from collections import defaultdict
from itertools import combinations

import pytest

from estimator.engine.calibration.correction import METRICS, RunError, correct, gain
from estimator.validation.leave_out import left_out
from estimator.validation.rows import Metric, read_measurements, used

_OF = {Metric.TPOT: "tpot_s", Metric.TTFT: "ttft_s"}
LEAST_RUNS, CHOICES = 5, 20
POINT = 0.01


def clusters() -> list[list[dict[str, RunError]]]:
    """Runs of model × GPU × engine version × split × formats with five and more of both figures."""
    known = left_out()
    found: dict[tuple, dict[str, dict[tuple, RunError]]] = defaultdict(lambda: {name: {} for name in METRICS})
    for row in used(read_measurements()):
        said = known.get((row.id, row.metric))
        if row.metric not in _OF or said is None:
            continue
        load = (row.input_tokens, row.output_tokens, row.concurrency)
        run = RunError(
            input_tokens=load[0], output_tokens=load[1], concurrency=load[2], error=-math.log(said.without_model)
        )
        setting = (row.model, row.gpu, row.engine_version, row.parallelism, row.precision)
        runs = found[setting][_OF[row.metric]]
        runs.setdefault((*load, sum(key[:3] == load for key in runs)), run)
    joined = [
        [{name: figures[name][load] for name in METRICS} for load in figures["tpot_s"] if load in figures["ttft_s"]]
        for figures in found.values()
    ]
    return [runs for runs in joined if len(runs) >= LEAST_RUNS]


def errors(runs: list[dict[str, RunError]], three: tuple[int, ...], *, checked: bool) -> tuple[float, float]:
    """Mean error of the other runs before and after; a figure is corrected where left-out runs say that it helps."""
    before, after = [], []
    for metric in METRICS:
        fit = [runs[at][metric] for at in three]
        rest = [run[metric] for at, run in enumerate(runs) if at not in three]
        helps = gain(metric, fit, rest if checked else ()).better
        correction = correct(metric, fit)
        for run in rest:
            factor = float(correction.factor(run.input_tokens, run.output_tokens, run.concurrency)) if helps else 1.0
            before.append(abs(math.expm1(-run.error)))
            after.append(abs(math.expm1(math.log(factor) - run.error)))
    return sum(before) / len(before), sum(after) / len(after)


@pytest.fixture(scope="module")
def found() -> list[list[dict[str, RunError]]]:
    return clusters()


@pytest.mark.parametrize(("checked", "share", "worst"), [(True, 0.98, 0.0), (False, 0.75, 2.0)])
def test_three_runs_make_the_others_better_in_three_of_four_clusters_and_none_much_worse(found, checked, share, worst):
    changes = []
    for runs in found:
        choices = list(combinations(range(len(runs)), 3))
        random.Random(1).shuffle(choices)
        pairs = [errors(runs, three, checked=checked) for three in choices[:CHOICES]]
        changes.append(sum(after - before for before, after in pairs) / len(pairs))
    assert len(changes) > 50
    assert sum(change < 0.0 for change in changes) >= share * len(changes)
    assert max(changes) <= worst * POINT


def test_runs_of_one_error_are_carried_near_and_fade_far_away():
    run = RunError(input_tokens=1000, output_tokens=200, concurrency=16, error=0.3)
    found = correct("ttft_s", [run] * 3)
    near, far = (float(found.factor(1000 * by, 200, 16 * by)) for by in (1, 50))
    assert 1.2 < near < math.exp(0.3)
    assert 1.0 <= far < near


def test_one_run_out_of_its_mind_moves_little():
    sane = [RunError(input_tokens=1000, output_tokens=200, concurrency=c, error=0.05) for c in (4, 16)]
    mad = RunError(input_tokens=1000, output_tokens=200, concurrency=64, error=9.0)
    assert float(correct("tpot_s", [*sane, mad]).factor(1000, 200, 4)) < math.exp(0.5)


def test_runs_that_contradict_each_other_say_no_gain():
    runs = [RunError(input_tokens=1000, output_tokens=200, concurrency=16, error=e) for e in (0.2, -0.2, 0.0)]
    assert not gain("ttft_s", runs).better
