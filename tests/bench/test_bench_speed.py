"""How fast the speed model is: points per second of a sweep, and one estimate; `make bench` prints it."""

import numpy as np
import pytest

from estimator.engine.codes import MODE_CODES
from estimator.engine.specs import Parallelism, Precision, WorkloadMode
from estimator.engine.speed.prepared import Key, prepare
from estimator.engine.speed.sweep import Rows, Sweep
from tests.bench.cpu_time import least_cpu_s, yardstick
from tests.engine.shapes import H100, from_shape, latent_shape, llama_8b_shape, mixture_shape, serving_engine

pytestmark = pytest.mark.bench

KEYS = 12
BLOCK = 256


def keys():
    shapes = (llama_8b_shape(), mixture_shape(), latent_shape())
    return [
        prepare(
            Key(
                architecture=from_shape(shapes[place % 3]),
                gpu=H100,
                engine=serving_engine(),
                precision=Precision(weights=("bf16", "fp8")[place % 2]),
                parallelism=Parallelism(tp=(1, 2)[place // 6]),
            )
        )
        for place in range(KEYS)
    ]


def rows(count):
    rng = np.random.default_rng(1)
    return Rows(
        key=np.repeat(np.arange(count // BLOCK + 1) % KEYS, BLOCK)[:count],
        mode=MODE_CODES[WorkloadMode.CLOSED_LOOP],
        input_tokens=rng.integers(100, 8000, count).astype(float),
        output_tokens=rng.integers(50, 2000, count).astype(float),
        concurrency=rng.integers(1, 512, count).astype(float),
    )


def test_points_per_second_of_a_sweep():
    sweep, load = Sweep(keys()), rows(32_768)
    columns = sweep.evaluate(load)
    spent, copied = least_cpu_s(
        lambda: sweep.evaluate(load),
        lambda: {name: column.copy() for name, column in columns.items()},
        times=30,
        loops=1,
    )
    rate = len(load) / spent
    print(  # noqa: T201
        f"\nsweep: {rate / 1e6:.2f} M points/s on one core, {len(columns)} columns each, "
        f"{spent / copied:.0f} x the time of copying the columns"
    )
    assert spent <= 8 * copied


def test_one_estimate():
    key = keys()[0].key
    one = rows(1)

    def estimate():
        Sweep([prepare(key)]).evaluate(one)

    spent, fixed = least_cpu_s(estimate, yardstick, times=30, loops=10)
    print(f"\none estimate, constants folded anew: {spent * 1e3:.2f} ms of CPU, {spent / fixed:.1f} yardsticks")  # noqa: T201
    assert spent <= 10 * fixed
