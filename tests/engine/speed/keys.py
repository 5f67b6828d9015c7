"""Keys and random loads that tests of the sweep share."""

from dataclasses import replace

import numpy as np

from estimator.engine.codes import MODE_CODES, MODES
from estimator.engine.specs import Gpu, Parallelism, Precision, WorkloadMode
from estimator.engine.speed.prepared import Key, prepare
from estimator.engine.speed.sweep import Rows, Sweep
from tests.engine.shapes import (
    H100,
    IDEAL,
    LLAMA_8B,
    LLAMA_CPP,
    from_shape,
    latent_shape,
    llama_8b_shape,
    mixture_shape,
    serving_engine,
)

CLOSED = MODE_CODES[WorkloadMode.CLOSED_LOOP]


CARD = replace(H100, tdp_w=700.0)


def key(architecture=None, engine=None, gpu=CARD, precision=None, launch=None, power_cap_w=None, **degrees):
    return prepare(
        Key(
            architecture=architecture or from_shape(llama_8b_shape()),
            gpu=gpu,
            engine=engine or serving_engine(),
            precision=precision or Precision(),
            parallelism=Parallelism(**degrees),
            launch=launch,
            power_cap_w=power_cap_w,
        )
    )


KEYS = [
    key(),
    key(tp=2, precision=Precision(weights="fp8", kv_cache="fp8")),
    key(from_shape(mixture_shape()), precision=Precision(weights="bf16", expert_weights="mxfp4")),
    key(from_shape(latent_shape()), dp=4, ep=4, precision=Precision(weights="fp8")),
    key(pp=2, precision=Precision(weights="int4")),
    key(LLAMA_8B, engine=IDEAL),
    key(LLAMA_8B, engine=LLAMA_CPP, precision=Precision(weights="q4_k_m")),
    key(gpu=Gpu(slug="t", memory_bytes=10**11, memory_bandwidth_bytes_per_s=1e12, peak_flops_per_s={"bf16": 1e14})),
    key(power_cap_w=300.0),
]
SWEEP = Sweep(KEYS)


def random_rows(count, seed=3):
    rng = np.random.default_rng(seed)
    return Rows(
        key=rng.integers(0, len(KEYS), count),
        mode=rng.integers(0, len(MODES), count),
        input_tokens=rng.integers(1, 9000, count).astype(float),
        output_tokens=rng.integers(1, 3000, count).astype(float),
        concurrency=rng.integers(1, 900, count).astype(float),
        prefix_cache_hit_rate=rng.choice([0.0, 0.5, 1.0], count),
        requests_per_s=rng.uniform(0.01, 20.0, count),
        burstiness_cv=rng.choice([0.0, 1.0, 3.0], count),
    )
