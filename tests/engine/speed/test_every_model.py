"""Every model of the catalog through the speed model: figures for all, and a word where parts are unmeasured."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

from estimator.engine.codes import MODE_CODES, Reason
from estimator.engine.reading.reader import read_config
from estimator.engine.specs import Gpu, Parallelism, Precision, WorkloadMode
from estimator.engine.speed.prepared import Basis, Key, prepare
from estimator.engine.speed.sweep import Rows, Sweep
from estimator.engine.speed.work import decode_work
from tests.engine.shapes import serving_engine

MODELS = Path(__file__).resolve().parents[3] / "catalog" / "data" / "models.yaml"
# Memory for every model, so that speed and not fit is looked at.
HUGE = Gpu(
    slug="h200-sxm-141gb",
    memory_bytes=20_000_000_000_000,
    memory_bandwidth_bytes_per_s=4.8e12,
    peak_flops_per_s={"bf16": 989e12, "fp8": 1979e12},
    kernel_family="hopper",
    link="nvlink4",
)
UNMEASURED = {
    "llama-4-scout-17b-16e-instruct": "chunked attention",
    "nemotron-h": "mamba2 state",
    "jamba": "mamba1 state",
    "granite-4": "mamba2 state",
    "deepseek-v4-flash": "compressed attention",
    "gemma-4": "KV heads that differ between layers",
    "mimo-v2": "KV heads that differ between layers",
}


@cache
def models():
    content = yaml.load(MODELS.read_text(), Loader=yaml.CSafeLoader)
    listed = content["models"] if isinstance(content, dict) else content
    return {entry["slug"]: entry["config"] for entry in listed}


@cache
def prepared(slug):
    return prepare(
        Key(
            architecture=read_config(models()[slug]),
            gpu=HUGE,
            engine=serving_engine(),
            precision=Precision(),
            parallelism=Parallelism(),
        )
    )


def test_every_model_has_figures_no_faster_than_its_ceiling():
    keys = [prepared(slug) for slug in models()]
    columns = Sweep(keys).evaluate(
        Rows(
            key=np.arange(len(keys)),
            mode=MODE_CODES[WorkloadMode.CLOSED_LOOP],
            input_tokens=2000.0,
            output_tokens=500.0,
            concurrency=16.0,
        )
    )
    assert (columns["reason"] == Reason.NONE).all()
    assert (columns["tpot_s_mid"] > columns["tpot_s_ceiling"]).all()
    assert (columns["ttft_s_mid"] > columns["ttft_s_ceiling"]).all()
    assert (columns["tpot_s_mid"] < 60 * columns["tpot_s_ceiling"]).all()


@pytest.mark.parametrize("name", UNMEASURED)
def test_a_part_without_measurements_is_named_and_widens_the_band(name):
    slug = next((slug for slug in models() if name in slug), None)
    if slug is None:
        pytest.skip(f"no {name} in the catalog")
    found = prepared(slug)
    assert UNMEASURED[name] in found.doubts
    assert found.basis in (Basis.NEAREST_FAMILY, Basis.EXTRAPOLATED)
    assert found.band.tpot_high > 1.3


def test_decode_flops_follow_the_counted_products():
    # Counted by hand: 15.01 GFLOP a token and 524,288 per cached token for Llama 3 8B, 16,990,208 for DeepSeek V3.
    llama = prepared("llama-3-8b")
    one, two = (decode_work(llama, sequences=1.0, context_tokens=length).flops for length in (1000.0, 2000.0))
    assert one == pytest.approx(15_009_849_344 + 524_288 * 1000, rel=1e-9)
    assert (two - one) / 1000 == pytest.approx(524_288)
    deepseek = prepared("deepseek-v3")
    step = [decode_work(deepseek, sequences=1.0, context_tokens=length).flops for length in (1000.0, 2000.0)]
    assert (step[1] - step[0]) / 1000 == pytest.approx(16_990_208)


def test_a_step_reads_what_the_architecture_notes_count():
    # Counted by hand: 15.01 GB + 1.07 GB for Llama 3 8B at 8,192 tokens; 25.5 GB for one token of Mixtral 8x7B.
    llama = decode_work(prepared("llama-3-8b"), sequences=1.0, context_tokens=8192.0)
    assert llama.bytes == pytest.approx(15.01e9 + 1.0737e9, rel=1e-3)
    mixtral = next(slug for slug in models() if "mixtral-8x7b" in slug)
    one = decode_work(prepared(mixtral), sequences=1.0, context_tokens=8192.0)
    many = decode_work(prepared(mixtral), sequences=1000.0, context_tokens=0.0)
    assert one.bytes == pytest.approx(25.5e9 + 1.0737e9, rel=2e-3)
    assert many.bytes == pytest.approx(93.1e9, rel=2e-3)
