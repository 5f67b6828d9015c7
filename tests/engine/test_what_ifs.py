"""What-ifs that may come out below 1: quantisation, GPUs, speculation, cache techniques."""

import csv

import numpy as np
import pytest

from estimator.engine.codes import MODE_CODES
from estimator.engine.reading.inline import override_cache
from estimator.engine.specs import Gpu, Parallelism, Precision, WorkloadMode
from estimator.engine.speculation.cost import reversal_sequences, speculate
from estimator.engine.speculation.gain import implied_acceptance_rate, speed_up, tokens_per_pass
from estimator.engine.speed.prepared import Key, prepare
from estimator.engine.speed.sweep import Rows, Sweep
from tests.engine.shapes import H100, IDEAL, LLAMA_8B, from_shape, llama_8b_shape, serving_engine
from tests.shared_data import shared_dir

A100 = Gpu(
    slug="a100-sxm4-80gb",
    memory_bytes=85_000_000_000,
    memory_bandwidth_bytes_per_s=2.039e12,
    peak_flops_per_s={"bf16": 312e12, "int8": 624e12},
    kernel_family="ampere",
    link="nvlink3",
)
B200 = Gpu(
    slug="b200",
    memory_bytes=190_000_000_000,
    memory_bandwidth_bytes_per_s=7.7e12,
    peak_flops_per_s={"bf16": 2250e12, "fp8": 4500e12, "fp4": 9000e12},
    kernel_family="blackwell",
    link="nvlink5",
)
SHAPE = from_shape(llama_8b_shape())


def key(gpu=H100, weights="bf16", tp=1, kv="bf16", architecture=None, engine=None):
    return prepare(
        Key(
            architecture=architecture or SHAPE,
            gpu=gpu,
            engine=engine or serving_engine(),
            precision=Precision(weights=weights, kv_cache=kv),
            parallelism=Parallelism(tp=tp),
        )
    )


def steps(prepared, batches, context=500.0):
    rows = Rows(
        key=np.zeros(len(batches), int),
        mode=MODE_CODES[WorkloadMode.DECODE_STEP],
        input_tokens=context,
        output_tokens=1.0,
        concurrency=np.asarray(batches, float),
        context_tokens=context,
    )
    return Sweep([prepared]).evaluate(rows)["tpot_s_mid"]


def test_four_bit_weights_gain_at_batch_1_and_lose_beyond_a_crossover_on_a100():
    batches = 2.0 ** np.arange(0, 11)
    ratio = steps(key(A100), batches, 10.0) / steps(key(A100, "int4"), batches, 10.0)
    assert ratio[0] > 1.8
    crossing = batches[np.flatnonzero(ratio < 1.0)[0]]
    assert 64 < crossing <= 512


def test_fp8_gains_at_every_batch_on_hopper_and_nvfp4_over_fp8_on_blackwell():
    batches = 2.0 ** np.arange(0, 9)
    assert (steps(key(), batches) > steps(key(weights="fp8"), batches)).all()
    assert (steps(key(B200, "fp8"), batches) > steps(key(B200, "nvfp4"), batches)).all()


def test_fp8_weights_on_an_a100_run_weight_only():
    formats = {gemm.format.weight_only for gemm in key(A100, "fp8").layout.gemms}
    assert formats == {True}
    assert key(A100, "fp8").layout.gemms[0].format.peak_flops_per_s == 312e12


def test_more_gpus_gain_less_over_pcie_than_over_nvlink():
    pcie = Gpu(
        slug="h100-pcie",
        memory_bytes=80_000_000_000,
        memory_bandwidth_bytes_per_s=3.35e12,
        peak_flops_per_s={"bf16": 989e12},
        kernel_family="hopper",
        link="pcie5",
    )

    def gain(gpu, tp):
        return steps(key(gpu), [64.0])[0] / steps(key(gpu, tp=tp), [64.0])[0]

    assert 1.0 < gain(H100, 2) < gain(H100, 4) < gain(H100, 8) < 8.0
    assert gain(pcie, 8) < gain(pcie, 4) < gain(H100, 4)


@pytest.mark.parametrize(
    ("change", "kv"),
    [
        ({"kv_heads": 4}, "bf16"),
        ({"kv_heads": 1}, "bf16"),
        ({"latent_rank": 256}, "bf16"),
        ({"window_tokens": 1024}, "bf16"),
        ({}, "fp8"),
        ({}, "int8"),
        ({}, "int4"),
    ],
)
def test_every_cache_technique_is_a_parameter_and_admits_more_conversations(change, kv):  # S27
    plain = key(engine=IDEAL, architecture=LLAMA_8B)
    changed = key(engine=IDEAL, architecture=override_cache(LLAMA_8B, **change), kv=kv)
    rows = Rows(
        key=np.array([0, 1]),
        mode=MODE_CODES[WorkloadMode.DECODE_STEP],
        input_tokens=8000.0,
        output_tokens=1.0,
        concurrency=16.0,
        context_tokens=np.array([8000.0, 8000.0]),
    )
    columns = Sweep([plain, changed]).evaluate(rows)
    assert columns["max_sequences"][0] == 60
    assert columns["max_sequences"][1] > 100
    assert columns["tpot_s_mid"][1] < columns["tpot_s_mid"][0]


def spec_rows():
    with (shared_dir() / "truth" / "spec_decode.csv").open() as file:
        return list(csv.DictReader(file))


def test_published_gains_of_drafts_follow_the_formula_in_order_and_size():
    costs = {"T5-small 77M": 0.02, "T5-base 250M": 0.04, "T5-large 800M": 0.11}  # arXiv 2211.17192, table 2
    rows = [row for row in spec_rows() if row["method"].startswith("draft model (Leviathan)")]
    assert len(rows) >= 12
    errors = []
    by_case = {}
    for row in rows:
        said = speed_up(
            acceptance_rate=float(row["acceptance_rate_alpha"]),
            draft_tokens=float(row["gamma_or_draft_tokens"]),
            draft_cost_ratio=costs[row["draft"]],
        )
        measured = float(row["speedup"])
        errors.append(abs(said / measured - 1.0))
        by_case.setdefault((row["task"], row["temperature"]), []).append((measured, float(said)))
    assert np.median(errors) < 0.15
    for pairs in by_case.values():
        assert min(pairs)[1] == min(said for _, said in pairs)  # the dearest draft gains least


def test_accepted_lengths_of_served_drafts_have_an_acceptance_rate():
    rows = [row for row in spec_rows() if row["source"].startswith("github:SemiAnalysisAI")]
    assert len(rows) > 40
    for row in rows:
        drafted, length = int(row["gamma_or_draft_tokens"]), float(row["mean_accepted_or_acceptance_length"])
        rate = implied_acceptance_rate(accepted_length=length, draft_tokens=drafted)
        assert 0.4 < rate < 0.95
        assert tokens_per_pass(acceptance_rate=rate, draft_tokens=drafted) == pytest.approx(length, rel=1e-6)


def published_reversal(method, gpu):
    """Batch at which a published gain falls below 1, and the batches it was measured at."""
    rows = [
        r for r in spec_rows() if r["method"] == method and r["gpu"] == gpu and r["batch_or_qps"].startswith("batch")
    ]
    pairs = sorted((int(r["batch_or_qps"].split()[1]), float(r["speedup"])) for r in rows if "8B" in r["target_model"])
    return next(batch for batch, gain in pairs if gain < 1.0)


@pytest.mark.parametrize(("gpu", "spec"), [("A100", A100), ("H100", H100)])
def test_the_gain_of_a_draft_tree_reverses_at_about_the_published_batch(gpu, spec):
    # EAGLE verifies a tree of about 60 drafted positions a pass and accepts about 4 tokens of it (arXiv 2401.15077).
    batches = np.array([4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 56.0, 96.0, 128.0])
    found = speculate(
        key(spec),
        sequences=batches,
        context_tokens=500.0,
        acceptance_rate=0.7,
        draft_tokens=25,
        draft_cost_ratio=0.02,
    )
    assert (np.diff(found.speedup) < 0).all()
    ours = reversal_sequences(batches, found.speedup)
    assert ours is not None
    assert published_reversal("EAGLE", gpu) / 3 <= ours <= published_reversal("EAGLE", gpu) * 3


def test_longer_drafts_reverse_at_smaller_batches():
    batches = np.unique(np.round(np.geomspace(1.0, 4096.0, 200)))

    def reversal(drafted):
        found = speculate(
            key(),
            sequences=batches,
            context_tokens=500.0,
            acceptance_rate=0.7,
            draft_tokens=drafted,
            draft_cost_ratio=0.05,
        )
        return reversal_sequences(batches, found.speedup)

    assert reversal(12) < reversal(8) < reversal(5)


def test_speculation_of_the_ideal_profile_is_the_formula_while_memory_binds():
    found = speculate(
        key(engine=IDEAL, architecture=LLAMA_8B),
        sequences=np.array([1.0]),
        context_tokens=100.0,
        acceptance_rate=0.8,
        draft_tokens=4,
        draft_cost_ratio=0.05,
    )
    assert found.speedup[0] == pytest.approx(2.801, rel=1e-3)
