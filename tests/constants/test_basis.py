"""What an answer says of its basis follows from the rows that it was computed with."""

import dataclasses
import itertools

import numpy as np
import pytest

from catalog.kernel_families import kernel_family as of_the_catalog
from estimator.constants import bands, formats, kernels, launching, power, rows, scheduling
from estimator.constants.families import FAMILIES
from estimator.engine.codes import MODE_CODES
from estimator.engine.power import draw
from estimator.engine.serving.launch import LaunchSettings, launched
from estimator.engine.specs import Parallelism, Precision, ServingConstants, WorkloadMode
from estimator.engine.speed import odds, words
from estimator.engine.speed.prepared import Basis, Key, prepare
from estimator.engine.speed.sweep import Rows, Sweep
from estimator.validation import shipped
from estimator.validation.rows import read_measurements

ROW_CLASSES = (
    kernels.KernelRow, kernels.ExpertRow, kernels.AttentionRow, kernels.LatentModuleRow, kernels.FixedTimeRow,
    kernels.ExchangeRow, kernels.LinkPoint, kernels.LinkRate, kernels.OperatorConstants,
    scheduling.SchedulingConstants, launching.LaunchConstants, bands.BandRules, bands.SpeedWords, power.PowerConstants,
)  # fmt: skip
# A dense model, sliding windows with mxfp4 experts, few large experts, latent and sparse latent attention, recurrent
# layers.
MODELS = ("llama-3.1-8b", "gpt-oss-20b", "mixtral-8x7b-v0.1", "deepseek-v3", "deepseek-v3.2", "qwen3.5-397b-a17b")
ENGINES = ("vllm-0.19", "sglang-0.5", "trtllm-bench", "vllm-v0")
WEIGHTS = ("bf16", "fp8", "int4", "nvfp4", "mxfp4", "int8")
DEGREES = (
    Parallelism(),
    Parallelism(tp=4),
    Parallelism(tp=8, pp=2),
    Parallelism(dp=8, ep=8),
    Parallelism(tp=2),
    Parallelism(tp=2, dp=2, ep=4),
)


@pytest.fixture
def reads(monkeypatch):
    """(object, field) of each constant that is read, by the identity of the object that holds it."""
    found = set()

    def recording(self, name):
        found.add((id(self), name))
        return object.__getattribute__(self, name)

    for cls in ROW_CLASSES:
        monkeypatch.setattr(cls, "__getattribute__", recording)
    return found


def is_answered(row):
    """Whether a GPU has what an estimate needs; a package of two devices has no answer of its own."""
    has_peak = bool({"bf16", "fp16"} & row["peak_flops_per_s"].keys())
    return has_peak and row["memory_visible_bytes"] is not None and row.get("devices_per_unit", 1) == 1


def gpus():
    """One GPU of each family and link of the data files, with a 16-bit peak."""
    chosen = {}
    for slug in shipped.facts().slugs("gpu"):
        if is_answered(row := shipped.facts().row("gpu", slug)) and row["kernel_family"] in FAMILIES:
            chosen.setdefault((row["kernel_family"], row.get("link")), shipped.gpu(slug))
    return list(chosen.values())


def architecture(slug):
    found = next((each for each in shipped.facts().slugs("model") if each == slug), None)
    return shipped.architecture(found or next(s for s in shipped.facts().slugs("model") if s.startswith(slug)))


def keys():
    profiles = [shipped.profile(slug) for slug in ENGINES]
    for turn, (gpu, model, weights) in enumerate(itertools.product(gpus(), MODELS, WEIGHTS)):
        for at, degrees in enumerate(DEGREES):
            precision = Precision(weights=weights, expert_weights=weights, kv_cache=("bf16", "fp8")[at % 2])
            if model == "gpt-oss-20b" and weights == "mxfp4":
                precision = dataclasses.replace(precision, weights="bf16")
            yield Key(
                architecture=architecture(model),
                gpu=gpu,
                engine=profiles[(turn + at) % len(profiles)],
                precision=precision,
                parallelism=degrees,
            )


def wide_activations():
    """mxfp4 experts with 16-bit activations asked for, on every GPU and by every library."""
    for gpu, slug in itertools.product(gpus(), ENGINES):
        yield Key(
            architecture=architecture("gpt-oss-20b"),
            gpu=gpu,
            engine=shipped.profile(slug),
            precision=Precision(weights="bf16", expert_weights="mxfp4", activations="bf16"),
            parallelism=Parallelism(),
        )


def exchanges():
    """A key for each back end of the exchange between ranks."""
    for _, back_end in kernels.shipped().exchange:
        engine = shipped.profile("sglang-0.5")
        yield Key(
            architecture=architecture("deepseek-v3"),
            gpu=shipped.gpu("h200-sxm-141gb"),
            engine=dataclasses.replace(engine, serving=dataclasses.replace(engine.serving, moe_a2a_backend=back_end)),
            precision=Precision(weights="fp8"),
            parallelism=Parallelism(dp=8, ep=8),
        )


def test_what_is_judgement_is_never_said_to_be_calibrated(reads):
    judged = {}
    known = ("gemm", "expert", "link", "attention", "latent_attention", "exchange")
    for table in (getattr(kernels.shipped(), name) for name in known):
        for place, row in table.items():
            judged |= {(id(row), name): (place, name) for name in row.judged}
    operators = kernels.shipped().operators
    judged |= {(id(operators), name): ("operators", name) for name in operators.judged}
    calibrated = doubtful = 0
    for key in keys():
        reads.clear()
        found = prepare(key)
        if found.unsupported:
            continue
        used = {judged[read] for read in reads & judged.keys()}
        assert (found.basis is Basis.CALIBRATED) == (found.doubts == ())
        if used:
            doubtful += 1
            assert found.basis is not Basis.CALIBRATED, (key.gpu.slug, key.precision, used)
        calibrated += found.basis is Basis.CALIBRATED
    assert calibrated > 10
    assert doubtful > 100


@pytest.mark.parametrize(
    ("gpu", "weights"),
    [
        ("l40s", "int4"),
        ("a100-sxm4-80gb", "fp8"),
        ("h100-sxm5-80gb", "int4"),
        ("h100-sxm5-80gb", "mxfp4"),
    ],
)
def test_formats_without_kernels_in_the_tables_are_no_calibration(gpu, weights):
    found = prepare(
        Key(
            architecture=architecture("llama-3.1-8b"),
            gpu=shipped.gpu(gpu),
            engine=shipped.profile("vllm"),
            precision=Precision(weights=weights),
            parallelism=Parallelism(),
        )
    )
    assert found.basis in (Basis.NEAREST_FAMILY, Basis.EXTRAPOLATED)
    assert f"{weights} kernels" in found.doubts


def test_the_catalog_says_of_no_gpu_more_than_an_answer_on_it():
    said = {}
    for slug, row in ((slug, shipped.facts().row("gpu", slug)) for slug in shipped.facts().slugs("gpu")):
        # Cards that only measurements name have no row of the catalog.
        if "kernel_family_basis" not in row or not is_answered(row):
            continue
        found = prepare(
            Key(
                architecture=architecture("llama-3.1-8b"),
                gpu=shipped.gpu(slug),
                engine=shipped.profile("vllm-0.19"),
                precision=Precision(),
                parallelism=Parallelism(),
            )
        )
        said[slug] = (row["kernel_family_basis"], None if found.unsupported else found.basis.value)
    assert len(said) > 50
    assert [slug for slug, (kernels_of, whole) in said.items() if whole == "calibrated" and kernels_of != whole] == []
    assert [slug for slug, (kernels_of, whole) in said.items() if (kernels_of is None) != (whole is None)] == []
    assert said["mi300x"][0] == "nearest_family"
    assert said["mi300x"][1] != "calibrated"


def test_a_family_of_the_catalog_has_one_nearest_family():
    for name, family in FAMILIES.items():
        for capability in family.compute_capabilities:
            found = of_the_catalog(family.vendor, capability.replace("*", "00"), "")
            assert (found.own, found.used) == (name, family.kernels)


def test_llama_cpp_is_calibrated_on_the_families_that_its_measured_rows_are_of():
    measured = {shipped.gpu(row.gpu).kernel_family for row in read_measurements() if row.engine == "llama.cpp-b2800"}
    fitted = {name for name, family in FAMILIES.items() if family.llama_cpp_basis is rows.Basis.FITTED}
    assert fitted == measured


def test_every_constant_is_read_by_some_formula(reads):
    known = {}
    shipped_kernels = kernels.shipped()
    for table in (
        "gemm", "expert", "attention", "latent_attention", "latent_module", "fixed_time", "exchange", "link",
        "link_rate",
    ):  # fmt: skip
        for place, row in getattr(shipped_kernels, table).items():
            fields = [field.name for field in dataclasses.fields(row) if field.name != "judged"]
            known |= {(id(row), name): (table, place, name) for name in fields if getattr(row, name) is not None}
    singles = (
        shipped_kernels.operators, scheduling.SCHEDULING, launching.LAUNCH, bands.BAND_RULES, bands.SPEED_WORDS,
        power.POWER,
    )  # fmt: skip
    for one in singles:
        fields = [field.name for field in dataclasses.fields(one) if field.name != "judged"]
        known |= {(id(one), name): (type(one).__name__, name) for name in fields}
    reads.clear()
    prepared = [prepare(key) for key in (*keys(), *wide_activations(), *exchanges())]
    for mode in WorkloadMode:
        Sweep(prepared[:40]).evaluate(
            Rows(
                key=np.arange(40) % 40,
                mode=MODE_CODES[mode],
                input_tokens=2000.0,
                output_tokens=200.0,
                concurrency=64.0,
                requests_per_s=0.1,
            )
        )
    words.speed_word(1.0)
    band = odds.Ends(low=0.8, mid=1.0, high=1.25, least=0.5)
    times = odds.Times(first=band, each=band, whole=band, gaps=9.0, first_of_whole_s=1.0)
    odds.together(times, {"ttft_s": 1.0, "tpot_s": 1.0})
    capped = draw.draw_of(shipped.gpu("h100-sxm5-80gb"), cap_w=400.0)
    draw.capped_slowdown(capped, draw.gpu_watts(capped, busy=1.0, memory_share=0.7, compute_share=0.1))
    launched(ServingConstants(), LaunchSettings(tuned=False))
    unread = {place for read, place in known.items() if read not in reads}
    # Runs that constants are fitted to come from a client; no answer does (tests/engine/calibration).
    assert unread == {("LaunchConstants", "benchmark_client_s")}


def test_every_format_and_class_of_bands_is_read():
    named = {row.scope["format"] for row in rows.all_constants() if row.name == "bytes_per_weight"}
    assert named == set(formats.BYTES_PER_WEIGHT)
    classes = {("tpot", name) for name in ("dense", "moe", "attention_dp", "mxfp4", "saturated")}
    assert classes <= {(metric, name) for metric, each in bands.SPREADS.items() for name in each}
