"""Calibration from a user's own runs: what is refused, and that known constants are found again."""

import dataclasses
import json

import numpy as np
import pytest

from estimator.engine.calibration.bench_file import BenchRun, read_bench_run
from estimator.engine.calibration.constants import CalibrationCase, _predicted, calibrate
from estimator.engine.errors import InvalidInputError
from estimator.engine.specs import EngineProfile, Gpu, IdealConstants, Parallelism, Precision, ServingConstants
from estimator.engine.speed.prepared import Key
from tests.engine.shapes import from_shape

SHAPE = {"L": 32, "d": 4096, "hq": 32, "hkv": 8, "dh": 128, "ff": 14336, "V": 128256, "gated": 1, "tied": 0}
GPU = Gpu(
    slug="h100",
    memory_bytes=85_000_000_000,
    memory_bandwidth_bytes_per_s=3.35e12,
    peak_flops_per_s={"bf16": 989.4e12, "fp8": 1978.9e12},
    kernel_family="hopper",
    link="nvlink4",
)
PARENT = ServingConstants(kernel_time_scale=1.1, server_in_s=0.036, launch_share=0.6)
RESULT = {
    "max_concurrency": 16,
    "num_prompts": 160,
    "completed": 160,
    "failed": 0,
    "total_input_tokens": 160 * 1024,
    "total_output_tokens": 160 * 256,
    "request_throughput": 6.0,
    "output_throughput": 6.0 * 256,
    "mean_ttft_ms": 80.0,
    "median_ttft_ms": 70.0,
    "mean_tpot_ms": 10.2,
    "median_tpot_ms": 10.0,
    "generated_texts": ["secret answer"],
    "errors": ["secret error"],
    "input_lens": [1024],
}


def key(serving=PARENT):
    engine = EngineProfile(slug="vllm-0.19", engine="vllm", kind="serving", serving=serving)
    return Key(architecture=from_shape(SHAPE), gpu=GPU, engine=engine, precision=Precision(), parallelism=Parallelism())


def runs_of(constants):
    cases = []
    for concurrency in (1, 4, 16, 64, 128):
        for inputs, outputs in ((128, 512), (1024, 256), (4096, 512)):
            blank = BenchRun(
                input_tokens=inputs, output_tokens=outputs, concurrency=concurrency, ttft_s=1.0, tpot_s=1.0,
                output_tokens_per_s=1.0, completed=1000, failed=0,
            )  # fmt: skip
            tpot, ttft, _ = _predicted(CalibrationCase(key=key(), run=blank), constants)
            cases.append(CalibrationCase(key=key(), run=dataclasses.replace(blank, tpot_s=tpot, ttft_s=ttft)))
    return cases


def test_a_run_is_read_by_its_achieved_figures_and_medians():
    run = read_bench_run(RESULT, expected_input_tokens=1000, expected_output_tokens=250)
    assert (run.input_tokens, run.output_tokens, run.concurrency) == (1024, 256, 16)
    assert (run.ttft_s, run.tpot_s) == (0.07, 0.01)


def test_no_text_survives_the_reading():
    assert "secret" not in json.dumps(dataclasses.asdict(read_bench_run(RESULT)))


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"failed": 4}, "result.failed", "4 of 164 requests failed"),
        ({"failed": None, "num_prompts": 200}, "result.failed", "40 of 200 requests failed"),
        ({"total_output_tokens": 160 * 75}, "result.total_output_tokens", "75 tokens a request were achieved, 256"),
        ({"request_throughput": 2.0}, "result.max_concurrency", "were in flight on average, 16 asked for"),
        ({"max_concurrency": None}, "result.max_concurrency", "--max-concurrency"),
        ({"max_concurrency": 100, "request_throughput": 40.0}, "result.completed", "too few"),
        ({"completed": None}, "result.completed", "missing"),
        ({"median_tpot_ms": "fast"}, "result.median_tpot_ms", "number"),
        ({"median_tpot_ms": float("nan")}, "result.median_tpot_ms", "number"),
        ({"median_ttft_ms": None, "mean_ttft_ms": None}, "result.median_ttft_ms", "missing"),
        ({"completed": True}, "result.completed", "number"),
    ],
)
def test_runs_that_would_teach_something_wrong_are_refused(change, field, words):
    with pytest.raises(InvalidInputError, match=words) as refused:
        read_bench_run({**RESULT, **change}, expected_output_tokens=256)
    assert refused.value.field == field


def test_constants_that_made_the_runs_are_found_again():
    truth = dataclasses.replace(PARENT, kernel_time_scale=1.25, step_s=0.0012, per_sequence_s=2e-5, server_in_s=0.06)
    cases = runs_of(truth)
    found = calibrate(cases)
    for error in found.errors:
        assert error.before_median > 0.04
        assert error.median < 0.02
        assert error.left_out_median < 0.025
        assert error.median <= error.largest
    for case in cases:
        tpot, _, _ = _predicted(case, found.constants)
        assert tpot == pytest.approx(case.run.tpot_s, rel=0.06)  # the priors hold a little back
    # Prompts beside decoding hang on the same runs, and share the rest with the launches.
    assert found.constants.per_sequence_s > 3 * PARENT.per_sequence_s


def test_runs_that_agree_with_the_profile_leave_it_as_it_is():
    found = calibrate(runs_of(PARENT))
    assert found.constants.kernel_time_scale == pytest.approx(1.1, rel=1e-3)
    assert found.constants.server_in_s == pytest.approx(0.036, rel=1e-3)


def test_one_wild_run_does_not_carry_the_fit_away():
    cases = runs_of(PARENT)
    wild = dataclasses.replace(cases[3].run, tpot_s=10 * cases[3].run.tpot_s)
    cases[3] = dataclasses.replace(cases[3], run=wild)
    found = calibrate(cases)
    assert found.constants.kernel_time_scale == pytest.approx(1.1, rel=0.05)
    tpot = next(error for error in found.errors if error.metric == "tpot_s")
    assert tpot.median < 0.03
    assert tpot.largest > 0.8


def test_a_saturated_run_teaches_no_ttft():
    case = runs_of(PARENT)[0]
    full = dataclasses.replace(case.run, concurrency=5000.0, ttft_s=900.0, tpot_s=0.2)
    found = calibrate([CalibrationCase(key=key(), run=full)])
    assert [error.metric for error in found.errors] == ["tpot_s"]


def test_fewer_than_three_runs_state_no_left_out_error():
    assert {error.left_out_median for error in calibrate(runs_of(PARENT)[:2]).errors} == {None}


def test_no_runs_and_other_kinds_of_profile_are_refused():
    with pytest.raises(InvalidInputError, match="at least one"):
        calibrate([])
    ideal = EngineProfile(slug="ideal", engine="ideal", kind="ideal", ideal=IdealConstants())
    run = runs_of(PARENT)[0].run
    with pytest.raises(InvalidInputError, match="serving"):
        calibrate([CalibrationCase(key=dataclasses.replace(key(), engine=ideal), run=run)])


def test_constants_stay_inside_what_a_profile_allows():
    fast = dataclasses.replace(runs_of(PARENT)[0].run, tpot_s=1e-4, ttft_s=1e-4)
    found = calibrate([CalibrationCase(key=key(), run=fast)] * 3)
    assert found.constants.bandwidth_factor <= 1.0
    assert np.isfinite(list(found.changed.values())).all()
