"""How many sequences an engine admits: by the room it reserves for them, and by what its memory share is of."""

import dataclasses

import pytest

from estimator.engine.forward_pass.operators import fold
from estimator.engine.forward_pass.traffic import rank_layout
from estimator.engine.serving.capacity import capacity as cache_capacity
from estimator.engine.serving.capacity import kv_budget_bytes, storage
from estimator.engine.serving.steady_state import Load, context_tokens, steady_state
from estimator.engine.specs import Gpu, Parallelism, Precision, ServingConstants, WorkloadMode
from tests.engine.shapes import from_shape

SHAPE = {"L": 32, "d": 4096, "hq": 32, "hkv": 8, "dh": 128, "ff": 14336, "V": 128256, "gated": 1, "tied": 0}
GPU = Gpu(
    slug="h",
    memory_bytes=80_000_000_000,
    memory_bandwidth_bytes_per_s=3.35e12,
    peak_flops_per_s={"bf16": 989.4e12, "fp8": 1978.9e12},
    kernel_family="hopper",
    link="nvlink4",
)


def test_the_setting_is_a_share_of_all_memory_or_of_what_weights_leave():
    whole = ServingConstants(memory_utilization=0.9, memory_reserve_bytes=1e9)
    free = dataclasses.replace(whole, utilization_of_free_memory=True)
    assert kv_budget_bytes(whole, memory_bytes=80e9, weight_bytes=70e9) == pytest.approx(0.9 * 80e9 - 71e9)
    assert kv_budget_bytes(free, memory_bytes=80e9, weight_bytes=70e9) == pytest.approx(0.9 * 9e9)


def capacity(share):
    serving = ServingConstants(kv_reserved_share_of_output=share)
    layout = rank_layout(from_shape(SHAPE), GPU, Precision(), Parallelism())
    load = Load(
        input_tokens=128.0, output_tokens=4096.0, concurrency=4096.0, context_tokens=context_tokens(128.0, 4096.0)
    )
    folded, _ = fold(layout, GPU, serving)
    store = storage(layout, budget_bytes=131072.0 * 42240, max_num_seqs=2048, reserved_share=share)
    limits = cache_capacity(store, load.context_tokens, load.output_tokens)
    return steady_state(folded, load, limits, WorkloadMode.OFFLINE)


def test_an_engine_that_never_evicts_admits_only_what_fits_to_its_end():
    assert capacity(1.0).capacity == pytest.approx(42240 / 4224)
    assert capacity(0.5).capacity == pytest.approx(42240 / 2176)


def test_the_reservation_does_not_change_the_context_that_decode_reads():
    strict, loose = capacity(1.0), capacity(0.5)
    assert strict.step_s < loose.step_s
    assert strict.admitted / strict.tpot_s < loose.admitted / loose.tpot_s


def test_parts_left_on_several_ranks_do_not_add_up_to_a_sequence():
    # Each of 8 attention-data ranks has room for 0.6 of a sequence: none fits, though the sum is 4.8.
    layout = rank_layout(from_shape(SHAPE), GPU, Precision(), Parallelism(dp=8))
    for share, admitted in ((0.6, 0.0), (1.0, 8.0), (1.5, 12.0)):
        store = storage(layout, budget_bytes=131072.0 * 1000 * share, max_num_seqs=2048)
        assert cache_capacity(store, 1000.0).cache_sequences == pytest.approx(admitted)
