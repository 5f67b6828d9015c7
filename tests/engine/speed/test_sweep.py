"""The sweep: rows equal single evaluations, in blocks, chunks and modes of any kind, in memory that does not grow."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.engine.codes import MODES
from estimator.engine.speed.columns import CAPACITY_COLUMNS, FLOAT_COLUMNS
from estimator.engine.speed.sweep import Rows, Sweep
from tests.engine.speed.keys import CLOSED, KEYS, SWEEP, random_rows


def test_a_row_of_a_sweep_equals_the_same_load_alone():
    rows = random_rows(400)
    together = SWEEP.evaluate(rows)
    for index in range(0, 400, 7):
        alone = SWEEP.evaluate(rows.part(np.array([index])))
        for name in (*FLOAT_COLUMNS, "binding_term", "reason", "saturated"):
            np.testing.assert_allclose(together[name][index], alone[name][0], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("place", range(len(KEYS)))
def test_a_row_alone_says_the_same_to_the_last_bit_as_the_same_row_twice(place):
    # One row of one key is computed with numbers, two of them with arrays.
    sweep = Sweep([KEYS[place]])
    for mode in range(len(MODES)):
        for row in range(4):
            rows = random_rows(4, seed=place).part(np.array([row]))
            load = {name: getattr(rows, name) for name in rows.__slots__}
            alone = sweep.evaluate(Rows(**load | {"key": np.zeros(1, int), "mode": mode}))
            twice = Rows(**{name: np.repeat(value, 2) if np.ndim(value) else value for name, value in load.items()})
            both = sweep.evaluate(replace(twice, key=np.zeros(2, int), mode=mode))
            for name, column in both.items():
                np.testing.assert_array_equal(alone[name][0], column[0], err_msg=f"{MODES[mode]} {name}")


def test_blocks_of_one_key_give_the_same_as_rows_in_any_order():
    count = 64 * 40
    rng = np.random.default_rng(5)
    rows = Rows(
        key=np.repeat(np.arange(40) % 5, 64),
        mode=CLOSED,
        input_tokens=rng.integers(1, 9000, count).astype(float),
        output_tokens=200.0,
        concurrency=np.tile(np.arange(1.0, 65.0), 40),
    )
    order = rng.permutation(count)
    in_blocks, mixed = SWEEP.evaluate(rows), SWEEP.evaluate(rows.part(order))
    for name, column in in_blocks.items():
        np.testing.assert_allclose(column[order], mixed[name], rtol=1e-12, err_msg=name)


def test_chunks_hold_the_same_rows_as_one_evaluation():
    rows = random_rows(1000)
    whole = SWEEP.evaluate(rows)
    parts = list(SWEEP.chunks(rows, size=300))
    assert [len(part["reason"]) for part in parts] == [300, 300, 300, 100]
    for name, column in whole.items():
        np.testing.assert_array_equal(column, np.concatenate([part[name] for part in parts]), err_msg=name)


def test_memory_does_not_grow_with_the_number_of_points():
    def peak(count):
        rows = Rows(
            key=np.zeros(count, dtype=np.int8),
            mode=CLOSED,
            input_tokens=900.0,
            output_tokens=100.0,
            concurrency=np.ones(count, dtype=np.float32),
        )
        tracemalloc.start()
        for _ in SWEEP.chunks(rows):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(160_000) < 1.1 * peak(40_000)


@given(st.integers(0, 1000), st.sampled_from([1, 7, 200]))
@settings(max_examples=20, deadline=None)
def test_places_are_those_that_the_whole_evaluation_says(seed, count):
    rows = random_rows(count, seed)
    whole = SWEEP.evaluate(rows)
    places = SWEEP.places(rows)
    assert set(places) == set(CAPACITY_COLUMNS)
    for name, column in places.items():
        np.testing.assert_array_equal(column, whole[name])


@pytest.mark.parametrize("place", range(len(KEYS)))
def test_a_sweep_of_one_key_takes_rows_of_several_modes(place):
    rows = random_rows(60, seed=place)
    assert len(np.unique(rows.mode)) > 1
    mixed = Sweep([KEYS[place]]).evaluate(replace(rows, key=np.zeros(60, dtype=np.intp)))
    among = SWEEP.evaluate(replace(rows, key=np.full(60, place)))
    for name, column in mixed.items():
        np.testing.assert_array_equal(column, among[name], err_msg=name)
