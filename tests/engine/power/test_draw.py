"""Power of a GPU: between idle and its limit whatever it does; under a cap it is slower by what physics bounds."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.engine.codes import MODE_CODES, Reason
from estimator.engine.errors import InvalidInputError
from estimator.engine.power.draw import capped_slowdown, draw_of, gpu_watts, unknown_work_ends, watts_ends
from estimator.engine.specs import Parallelism, Precision, WorkloadMode
from estimator.engine.speed.prepared import Key, prepare
from estimator.engine.speed.sweep import Rows, Sweep
from estimator.figures.energy import ENERGY, SIDES
from tests.engine.shapes import H100, from_shape, llama_8b_shape, serving_engine

CARD = replace(H100, slug="h100-sxm5-80gb", tdp_w=700.0)
ROOM = np.random.default_rng(11)


def test_power_is_never_below_idle_nor_above_the_limit_and_grows_with_each_part_of_the_work():
    draw = draw_of(CARD)
    shares = ROOM.random((1000, 3))
    watts = gpu_watts(draw, busy=shares[:, 0], memory_share=shares[:, 1], compute_share=shares[:, 2])
    assert np.all((watts >= 70.0) & (watts <= 0.97 * 700.0))
    for part, name in enumerate(("busy", "memory_share", "compute_share")):
        named = dict(zip(("busy", "memory_share", "compute_share"), shares.T, strict=True))
        more = gpu_watts(draw, **named | {name: np.minimum(shares[:, part] + 0.1, 1.0)})
        assert np.all(more >= watts)
    low, mid, high = watts_ends(draw_of(CARD, 400.0), watts)
    assert np.all((low >= 70.0) & (low <= mid) & (mid <= high) & (high <= 400.0))
    assert gpu_watts(draw, busy=0.0, memory_share=0.0, compute_share=0.0) == 70.0


def test_a_cap_slows_between_nothing_and_in_proportion_to_the_power_that_it_leaves():
    draw = draw_of(CARD, 385.0)
    low, mid, high = (float(factor) for factor in capped_slowdown(draw, np.array(700.0)))
    # 630 W beyond idle, of which the cap leaves 315: half the speed at worst, the cube root of it in the middle.
    assert (low, high) == (1.0, 2.0)
    assert mid == pytest.approx(2.0**0.33)
    assert [float(factor) for factor in capped_slowdown(draw, np.array(300.0))] == [1.0, 1.0, 1.0]


def test_a_cap_at_which_the_gpu_could_do_nothing_is_refused_and_one_above_its_design_power_is_none():
    with pytest.raises(InvalidInputError, match="70 W") as refused:
        draw_of(CARD, 70.0)
    assert refused.value.field == "power_cap_w"
    assert draw_of(CARD, 900.0) == draw_of(CARD)


def test_the_work_of_a_given_rate_is_not_known_so_that_its_power_lies_between_busy_and_the_limit():
    low, mid, high = unknown_work_ends(draw_of(CARD))
    assert (low + high) / 2 == mid
    assert 70.0 < low < mid < high == 700.0


LOADS = {
    WorkloadMode.CLOSED_LOOP: {},
    WorkloadMode.OFFLINE: {},
    WorkloadMode.STATIC_BATCH: {},
    WorkloadMode.DECODE_STEP: {},
    WorkloadMode.OPEN_LOOP: {"requests_per_s": np.array([0.01, 0.5, 2.0])},
}


def rows(mode, **more):
    size = np.array([1.0, 16.0, 128.0])
    known = {"input_tokens": 1000.0, "output_tokens": 200.0, "concurrency": size}
    return Rows(key=np.zeros(3, dtype=np.intp), mode=MODE_CODES[mode], **known | LOADS[mode] | more)


def swept(gpu=CARD, power_cap_w=None, **degrees):
    asked = Key(
        architecture=from_shape(llama_8b_shape()), gpu=gpu, engine=serving_engine(), precision=Precision(),
        parallelism=Parallelism(**degrees), power_cap_w=power_cap_w,
    )  # fmt: skip
    return Sweep([prepare(asked)])


@pytest.mark.parametrize("mode", LOADS)
def test_joules_are_watts_over_tokens_per_second_in_every_mode(mode):
    found = swept(tp=2).evaluate(rows(mode))
    joules = 2 * found["watts_per_gpu_mid"] / found["tokens_per_s_total_mid"]
    assert found["joules_per_token_mid"] == pytest.approx(joules)
    for name in ENERGY:
        low, mid, high = (found[f"{name}_{side}"] for side in SIDES)
        if mode is WorkloadMode.DECODE_STEP and name == "joules_per_request":
            assert np.all(np.isnan(mid))
            continue
        assert np.all((low <= mid) & (mid <= high))
    assert np.all((found["watts_per_gpu_low"] >= 70.0) & (found["watts_per_gpu_high"] <= 700.0))
    if mode is not WorkloadMode.DECODE_STEP:
        assert found["joules_per_request_mid"] == pytest.approx(200.0 * joules)


def test_more_at_once_takes_more_watts_and_fewer_joules_a_token_and_a_queue_that_is_hardly_used_is_nearly_idle():
    loop = swept().evaluate(rows(WorkloadMode.CLOSED_LOOP))
    assert np.all(np.diff(loop["watts_per_gpu_mid"]) > 0)
    assert np.all(np.diff(loop["joules_per_token_mid"]) < 0)
    arrivals = swept().evaluate(rows(WorkloadMode.OPEN_LOOP))
    assert 70.0 < arrivals["watts_per_gpu_mid"][0] < 90.0


def test_a_queue_that_nobody_comes_to_is_idle_and_no_token_has_an_energy():
    found = swept().evaluate(rows(WorkloadMode.OPEN_LOOP, requests_per_s=0.0))
    assert np.all(found["watts_per_gpu_mid"] == 70.0)
    for name in ("joules_per_token", "joules_per_request"):
        assert np.all(np.isnan([found[f"{name}_{side}"] for side in SIDES]))


def test_a_gpu_whose_design_power_is_not_known_has_speed_and_no_power():
    found = swept(gpu=replace(CARD, tdp_w=None)).evaluate(rows(WorkloadMode.CLOSED_LOOP))
    assert np.all(np.isfinite(found["tpot_s_mid"]))
    assert np.all(np.isnan([found[f"{name}_{side}"] for name in ENERGY for side in SIDES]))


@pytest.mark.parametrize("mode", [mode for mode in LOADS if mode is not WorkloadMode.OPEN_LOOP])
def test_a_cap_makes_times_longer_and_rates_smaller_and_saves_energy_at_most_what_it_takes_of_power(mode):
    free, capped = (swept(power_cap_w=cap).evaluate(rows(mode)) for cap in (None, 300.0))
    assert np.all(capped["watts_per_gpu_high"] <= 300.0)
    slower = capped["tpot_s_mid"] / free["tpot_s_mid"]
    assert np.all(slower > 1.0)
    assert capped["tokens_per_s_total_mid"] == pytest.approx(free["tokens_per_s_total_mid"] / slower)
    assert capped["tpot_s_low"] == pytest.approx(free["tpot_s_low"])
    # A slower clock takes no more energy for an operation, whatever it takes in the middle of the band.
    assert np.all(capped["joules_per_token_mid"] <= free["joules_per_token_mid"])


def test_a_queue_under_a_cap_that_binds_is_longer_and_ends_at_a_lower_rate():
    rates = rows(WorkloadMode.OPEN_LOOP)
    free, capped = (swept(power_cap_w=cap).evaluate(rates) for cap in (None, 200.0))
    assert np.all(capped["max_stable_requests_per_s"] < free["max_stable_requests_per_s"])
    queues = np.isfinite(capped["ttft_s_mid"])
    assert queues[0]
    assert np.all(capped["reason"][~queues] == Reason.QUEUE_GROWS)
    assert np.all(capped["ttft_s_mid"][queues] >= free["ttft_s_mid"][queues])
    assert np.all(capped["utilization"] > free["utilization"])
