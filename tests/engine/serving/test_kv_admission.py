"""How many sequences an engine admits: whole ones, by the room it reserves, none where not one fits to its end."""

import numpy as np
import pytest

from estimator.engine.codes import MODE_CODES, Reason
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.specs import EngineProfile, Gpu, Parallelism, Precision, ServingConstants, WorkloadMode
from estimator.engine.speed.prepared import Key, prepare
from estimator.engine.speed.sweep import Rows, Sweep
from tests.engine.shapes import from_shape

SHAPE = {"L": 32, "d": 4096, "hq": 32, "hkv": 8, "dh": 128, "ff": 14336, "V": 128256, "gated": 1, "tied": 0}
LLAMA = from_shape(SHAPE)
BYTES_PER_TOKEN = 131_072
WEIGHTS = 2 * parameter_totals(LLAMA).total


def key(cache_tokens, *, share=0.5, sequences=2048, **degrees):
    """A key whose ranks have room for exactly so many tokens of cache."""
    split = Parallelism(**degrees)
    gpu = Gpu(
        slug="h",
        memory_bytes=WEIGHTS + BYTES_PER_TOKEN * cache_tokens,
        memory_bandwidth_bytes_per_s=3.35e12,
        peak_flops_per_s={"bf16": 989.4e12, "fp8": 1978.9e12},
        kernel_family="hopper",
        link="nvlink4",
    )
    plain = MemoryPolicy(
        utilization=1.0, block_tokens=1, activation_mlp_copies=0.0, activation_hidden_copies=0.0,
        max_num_seqs=sequences, small_max_num_seqs=sequences,
    )  # fmt: skip
    engine = EngineProfile(
        slug="e", engine="e", kind="serving", memory=plain,
        serving=ServingConstants(kv_reserved_share_of_output=share),
    )  # fmt: skip
    return prepare(Key(architecture=LLAMA, gpu=gpu, engine=engine, precision=Precision(), parallelism=split))


def row(prepared, inputs, outputs, mode=WorkloadMode.OFFLINE, concurrency=4096.0, context=np.nan):
    columns = Sweep([prepared]).evaluate(
        Rows(
            key=np.zeros(1, dtype=int),
            mode=MODE_CODES[mode],
            input_tokens=float(inputs),
            output_tokens=float(outputs),
            concurrency=np.array([concurrency]),
            context_tokens=context,
        )
    )
    return {name: column[0] for name, column in columns.items()}


def test_an_engine_that_never_evicts_admits_only_what_fits_to_its_end():
    strict, loose = (row(key(42_240, share=share), 128, 4096) for share in (1.0, 0.5))
    assert strict["max_sequences"] == 42_240 // 4224 == 10
    assert loose["max_sequences"] == 42_240 // 2176 == 19
    assert loose["effective_concurrency"] == pytest.approx(42_240 / 2176)
    assert strict["full_length_sequences"] == loose["full_length_sequences"] == 10


def test_the_reservation_does_not_change_the_context_that_decode_reads():
    strict, loose = (row(key(42_240, share=share), 128, 4096) for share in (1.0, 0.5))
    assert strict["step_s"] < loose["step_s"]
    assert strict["tokens_per_s_total_mid"] < loose["tokens_per_s_total_mid"]


def test_the_mean_of_those_running_has_a_fraction_and_what_fits_does_not():
    almost, just = row(key(2999), 500, 1000), row(key(3000), 500, 1000)
    assert (almost["max_sequences"], just["max_sequences"]) == (2, 3)
    assert almost["effective_concurrency"] == pytest.approx(2.999)
    assert (almost["full_length_sequences"], just["full_length_sequences"]) == (1, 2)


def test_a_sequence_that_fits_half_way_but_not_to_its_end_does_not_fit():
    # 1,400 tokens of cache hold the mean 1,000 tokens of a running sequence, but never its 1,500.
    for mode in (WorkloadMode.OFFLINE, WorkloadMode.CLOSED_LOOP, WorkloadMode.STATIC_BATCH):
        found = row(key(1400), 500, 1000, mode=mode)
        assert found["reason"] == Reason.DOES_NOT_FIT
        assert found["max_sequences"] == found["full_length_sequences"] == 0
        assert not found["saturated"]
        assert np.isnan(found["tokens_per_s_total_mid"])
        assert np.isnan(found["tokens_per_s_total_ceiling"])


def test_the_engines_own_limit_holds_beside_the_cache():
    few = row(key(100_000, sequences=8), 500, 1000, mode=WorkloadMode.CLOSED_LOOP)
    assert (few["max_sequences"], few["effective_concurrency"], few["saturated"]) == (8, 8, True)
    assert few["full_length_sequences"] == 100_000 // 1500 == 66


@pytest.mark.parametrize(("share", "admitted"), [(0.6, 0.0), (1.0, 8.0), (1.25, 8.0), (2.0, 16.0)])
def test_parts_left_on_several_ranks_do_not_add_up_to_a_sequence(share, admitted):
    # Each of 8 attention-data ranks has room for 0.6 of a sequence: none fits, though the sum is 4.8.
    found = row(key(int(1000 * share), dp=8), 1000, 0, context=1000.0)
    assert found["full_length_sequences"] == admitted
    assert found["max_sequences"] == (8 * share if admitted else 0.0)


def test_the_stage_with_the_least_room_decides():
    # The last stage holds the head beside half of the layers; the first the embedding: equal here.
    one, two = row(key(20_000), 500, 1000), row(key(20_000, pp=2), 500, 1000)
    stages = key(20_000, pp=2).cache.stages
    assert two["full_length_sequences"] == min(int(s.budget_bytes // (1500 * BYTES_PER_TOKEN // 2)) for s in stages)
    assert two["full_length_sequences"] > 2 * one["full_length_sequences"]
