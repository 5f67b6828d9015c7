"""Figures of a sweep: nothing is faster than its ceiling, ends are ordered, gaps are told."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.constants.bands import BAND_RULES
from estimator.engine.codes import MODE_CODES, Binding, Reason
from estimator.engine.serving.launch import LaunchSettings
from estimator.engine.specs import Gpu, Parallelism, Precision, WorkloadMode
from estimator.engine.speed.columns import FLOAT_COLUMNS
from estimator.engine.speed.prepared import Basis, Key, prepare
from estimator.engine.speed.sweep import Rows, Sweep
from tests.engine.shapes import (
    H100,
    REFERENCE_MEMORY,
    from_shape,
    latent_shape,
    llama_8b_shape,
    mixture_shape,
    serving_engine,
)
from tests.engine.speed.keys import CLOSED, KEYS, SWEEP, key, random_rows


def test_no_figure_is_faster_than_the_ceiling_and_the_ends_are_ordered():
    columns = SWEEP.evaluate(random_rows(20_000))
    for name in ("ttft_s", "tpot_s", "e2e_s"):
        low, mid, high = (columns[f"{name}_{side}"] for side in ("low", "mid", "high"))
        said = ~np.isnan(mid)
        assert said.any()
        assert (low[said] >= columns[f"{name}_ceiling"][said] * (1 - 1e-12)).all(), name
        assert (low[said] <= mid[said] * (1 + 1e-12)).all(), name
        assert (mid[said] <= high[said] * (1 + 1e-12)).all(), name
    for name in ("tokens_per_s_per_user", "tokens_per_s_total", "tokens_per_s_per_gpu"):
        low, mid, high = (columns[f"{name}_{side}"] for side in ("low", "mid", "high"))
        said = ~np.isnan(mid)
        assert (high[said] <= columns[f"{name}_ceiling"][said] * (1 + 1e-12)).all(), name
        assert (low[said] <= mid[said] * (1 + 1e-12)).all(), name
        assert (mid[said] <= high[said] * (1 + 1e-12)).all(), name


def test_nothing_is_infinite_and_every_gap_has_a_reason():
    columns = SWEEP.evaluate(random_rows(5_000))
    for name in FLOAT_COLUMNS:
        assert not np.isinf(columns[name]).any(), name
    assert (columns["reason"][np.isnan(columns["tpot_s_mid"])] != Reason.NONE).all()


def test_the_parts_of_a_step_add_up():
    columns = SWEEP.evaluate(random_rows(2_000))
    parts = sum(np.nan_to_num(columns[f"step_{b.label}_s"]) for b in Binding if b is not Binding.KV_CACHE)
    rows = random_rows(2_000)
    serving = np.isin(rows.key, [0, 1, 2, 3, 4]) & ~np.isnan(columns["step_s"])
    serving &= rows.mode != MODE_CODES[WorkloadMode.OPEN_LOOP]
    assert columns["step_s"][serving] == pytest.approx(parts[serving], rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    bandwidth=st.floats(2e11, 1e13),
    faster=st.floats(1.01, 4.0),
    tokens=st.integers(1, 20_000),
    output=st.integers(1, 4_000),
    concurrency=st.integers(1, 200),
    which=st.integers(0, 2),
)
def test_more_bandwidth_never_slows(bandwidth, faster, tokens, output, concurrency, which):
    shape = (llama_8b_shape, mixture_shape, latent_shape)[which]()

    def tpot(rate):
        gpu = Gpu(
            slug="g",
            memory_bytes=200_000_000_000,
            memory_bandwidth_bytes_per_s=rate,
            peak_flops_per_s={"bf16": 989e12, "fp8": 1978e12},
            kernel_family="hopper",
        )
        rows = Rows(
            key=np.zeros(1, int),
            mode=MODE_CODES[WorkloadMode.DECODE_STEP],
            input_tokens=np.array([float(tokens)]),
            output_tokens=float(output),
            concurrency=float(concurrency),
        )
        return Sweep([key(from_shape(shape), gpu=gpu)]).evaluate(rows)

    slow, fast = tpot(bandwidth), tpot(bandwidth * faster)
    assert fast["tpot_s_mid"][0] <= slow["tpot_s_mid"][0] * (1 + 1e-12)
    assert fast["tpot_s_ceiling"][0] <= slow["tpot_s_ceiling"][0] * (1 + 1e-12)


def test_longer_contexts_never_decode_faster_and_longer_prompts_never_prefill_faster():
    lengths = np.arange(16.0, 40_000.0, 97.0)
    for place in range(5):
        columns = SWEEP.evaluate(
            Rows(
                key=np.full(len(lengths), place),
                mode=MODE_CODES[WorkloadMode.SINGLE_STREAM],
                input_tokens=lengths,
                output_tokens=10.0,
                concurrency=1.0,
            )
        )
        said = ~np.isnan(columns["tpot_s_mid"])
        assert (np.diff(columns["tpot_s_mid"][said]) >= 0).all()
        assert (np.diff(columns["prefill_s"][said]) >= 0).all()


def test_a_closed_loop_of_one_is_a_single_stream():
    def at(mode):
        return SWEEP.evaluate(
            Rows(key=np.array([0]), mode=MODE_CODES[mode], input_tokens=900.0, output_tokens=300.0, concurrency=1.0)
        )

    one, stream = at(WorkloadMode.CLOSED_LOOP), at(WorkloadMode.SINGLE_STREAM)
    assert one["tpot_s_mid"] == stream["tpot_s_mid"]
    assert stream["tpot_s_mid"] == pytest.approx(stream["step_s"], rel=1e-12)


def test_one_gpu_exchanges_nothing_and_two_do():
    columns = SWEEP.evaluate(
        Rows(key=np.array([0, 1]), mode=CLOSED, input_tokens=900.0, output_tokens=300.0, concurrency=8.0)
    )
    assert columns["step_interconnect_s"][0] == 0.0
    assert columns["step_interconnect_s"][1] > 0.0


def test_a_batch_beyond_the_cache_is_saturated_and_bound_by_the_cache():
    columns = SWEEP.evaluate(
        Rows(key=np.array([0]), mode=CLOSED, input_tokens=8000.0, output_tokens=500.0, concurrency=np.array([512.0]))
    )
    assert columns["saturated"][0]
    assert columns["binding_term"][0] == Binding.KV_CACHE
    assert columns["effective_concurrency"][0] < 60
    assert np.isfinite(columns["ttft_s_mid"][0])


def test_assumed_cache_settings_withhold_the_first_token_time_of_a_saturated_loop():
    assumed = prepare(
        Key(
            architecture=from_shape(llama_8b_shape()),
            gpu=H100,
            engine=serving_engine(),
            precision=Precision(),
            parallelism=Parallelism(),
            kv_settings_assumed=True,
        )
    )
    rows = Rows(key=np.array([0]), mode=CLOSED, input_tokens=8000.0, output_tokens=500.0, concurrency=np.array([512.0]))
    columns = Sweep([assumed]).evaluate(rows)
    assert np.isnan(columns["ttft_s_mid"][0])
    assert columns["reason"][0] == Reason.KV_SETTINGS_ASSUMED
    assert columns["tpot_s_mid"][0] > 0


def test_weights_that_do_not_fit_give_no_number():
    big = key(from_shape(llama_8b_shape() | {"L": 200}))
    columns = Sweep([big]).evaluate(
        Rows(key=np.array([0]), mode=CLOSED, input_tokens=100.0, output_tokens=100.0, concurrency=1.0)
    )
    assert columns["reason"][0] == Reason.DOES_NOT_FIT
    assert np.isnan(columns["tpot_s_mid"][0])
    assert np.isnan(columns["tpot_s_ceiling"][0])


def test_a_gpu_without_measured_kernels_has_a_ceiling_and_no_expectation():
    columns = SWEEP.evaluate(
        Rows(key=np.array([7]), mode=CLOSED, input_tokens=100.0, output_tokens=100.0, concurrency=1.0)
    )
    assert columns["reason"][0] == Reason.MISSING_FIGURE
    assert np.isnan(columns["tpot_s_mid"][0])
    assert columns["tpot_s_ceiling"][0] == pytest.approx(0.01517, rel=0.02)


def test_a_nearest_family_is_said_and_its_band_is_wider():
    turing = Gpu(
        slug="t4",
        memory_bytes=16_000_000_000,
        memory_bandwidth_bytes_per_s=320e9,
        peak_flops_per_s={"fp16": 65e12},
        kernel_family="turing",
    )
    near = key(gpu=turing, precision=Precision(weights="int8"))
    assert near.basis in (Basis.NEAREST_FAMILY, Basis.EXTRAPOLATED)
    assert near.doubts
    assert near.band.tpot_high > KEYS[0].band.tpot_high * 1.1
    assert near.band.tpot_low < KEYS[0].band.tpot_low


def test_sixty_conversations_of_8000_tokens_by_the_ideal_profile():  # S13, S14
    columns = SWEEP.evaluate(
        Rows(
            key=np.array([5, 5]),
            mode=MODE_CODES[WorkloadMode.DECODE_STEP],
            input_tokens=8000.0,
            output_tokens=1.0,
            concurrency=np.array([60.0, 60.0]),
            context_tokens=np.array([8000.0, 128_000.0]),
        )
    )
    assert columns["max_sequences"].tolist() == [60.0, 3.0]
    assert columns["tokens_per_s_per_user_mid"][0] == pytest.approx(42.42, abs=0.01)
    assert columns["tokens_per_s_total_mid"][0] == pytest.approx(2545.1, abs=0.1)
    assert columns["tpot_s_low"][0] == columns["tpot_s_high"][0]


def windowed(layers_with_window):
    return from_shape({**llama_8b_shape(), "Lw": layers_with_window, "win": 4096})


def offline(architecture, **policy):
    prepared = key(architecture, engine=replace(serving_engine(), memory=replace(REFERENCE_MEMORY, **policy)))
    mode = MODE_CODES[WorkloadMode.OFFLINE]
    return Sweep([prepared]).evaluate(
        Rows(key=0, mode=mode, input_tokens=20000.0, output_tokens=2000.0, concurrency=1.0)
    )


def test_an_engine_that_ignores_a_window_of_all_layers_computes_as_without_one():
    told, ignored = offline(windowed(32)), offline(windowed(32), uniform_window=False)
    without = offline(from_shape(llama_8b_shape()))
    for name in ("tokens_per_s_total_mid", "tpot_s_mid", "effective_concurrency"):
        assert ignored[name][0] == pytest.approx(without[name][0], rel=1e-12)
    assert told["tokens_per_s_total_mid"][0] > 1.5 * ignored["tokens_per_s_total_mid"][0]
    # What physics allows is not the engine's choice.
    assert ignored["tpot_s_ceiling"][0] < without["tpot_s_ceiling"][0]


def test_a_window_of_some_layers_belongs_to_the_model():
    told, same = offline(windowed(16)), offline(windowed(16), uniform_window=False)
    assert same["tokens_per_s_total_mid"][0] == told["tokens_per_s_total_mid"][0]


def first_token_s(concurrency, **launch):
    prepared = key(launch=LaunchSettings(**launch))
    rows = Rows(key=0, mode=CLOSED, input_tokens=1000.0, output_tokens=1000.0, concurrency=float(concurrency))
    columns = Sweep([prepared]).evaluate(rows)
    return columns["ttft_s_mid"][0], columns["step_s"][0]


def test_a_first_token_waits_for_steps_of_the_others_and_for_none_alone():
    assert first_token_s(1, poll_steps=11.0)[0] == first_token_s(1)[0]
    waiting, step = first_token_s(16, poll_steps=11.0)
    # The mailbox is read every 11 steps: 5 on average beyond the one met.
    assert waiting - first_token_s(16)[0] == pytest.approx(5 * step, rel=0.05)


def test_the_wait_for_a_place_has_the_ends_of_more_and_of_fewer_places():
    def at(concurrency):
        rows = Rows(key=0, mode=CLOSED, input_tokens=8000.0, output_tokens=500.0, concurrency=concurrency)
        columns = Sweep([KEYS[0]]).evaluate(rows)
        return {name: float(column[0]) for name, column in columns.items()}

    places = at(512.0)["effective_concurrency"]
    barely, far = at(1.2 * places), at(10.0 * places)
    more = BAND_RULES.places_doubt
    # With 1.7 times the places nobody would wait: the low end is a first token inside the engine.
    assert barely["ttft_s_low"] < at(0.99 * places)["ttft_s_mid"]
    assert barely["ttft_s_high"] > 4.0 * (barely["ttft_s_mid"] - at(0.99 * places)["ttft_s_mid"])
    # Ten times over the wait is certain: nine answers in front, 10 / 1.7 − 1 or 10 · 1.7 − 1 at the ends.
    for side, turns in (("low", 10.0 / more), ("mid", 10.0), ("high", 10.0 * more)):
        tpot = far[f"tpot_s_{side}"] / far["tpot_s_mid"]
        assert far[f"ttft_s_{side}"] / far["ttft_s_mid"] == pytest.approx((turns - 1.0) / 9.0 * tpot, rel=0.15)
