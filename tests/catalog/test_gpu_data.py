"""The shipped accelerator figures: consistent with each other, sourced, and equal to the survey they rest on."""

import csv
import datetime

import pytest

from catalog import data_files
from catalog.kernel_families import kernel_family
from catalog.models.gpu import DTYPES, Gpu
from estimator.constants.families import FAMILIES
from tests.shared_data import shared_dir

GIB = 2**30


@pytest.fixture(scope="module")
def gpus() -> dict[str, Gpu]:
    return {record.slug: Gpu(**record.values) for record in data_files.gpus().records}


def test_every_row_passes_the_checks_of_the_model(gpus):
    for gpu in gpus.values():
        gpu.clean_fields()
        gpu.clean()


def test_halving_the_width_never_lowers_the_dense_rate_and_at_most_quadruples_it(gpus):
    # fp32 is the vector rate; tf32 and below run on matrix units. Blackwell Ultra cut int8, and is named here for it.
    cut_int8 = {"b300-sxm-288gb", "gb300"}
    for gpu in gpus.values():
        peaks = gpu.peak_flops_per_s
        for wide, narrow in (("tf32", "bf16"), ("bf16", "fp8"), ("fp8", "fp4"), ("fp16", "int8"), ("int8", "int4")):
            if wide not in peaks or narrow not in peaks or (narrow == "int8" and gpu.slug in cut_int8):
                continue
            # Gaudi 3 runs matrix products in bf16 at four times its tf32 rate.
            assert 0.95 <= peaks[narrow] / peaks[wide] <= 4.05, f"{gpu.slug}: {wide} to {narrow}"


def test_no_figure_is_one_with_sparsity(gpus):
    # Dense tensor rates of NVIDIA's cards by compute capability: FLOP per SM clock against the vector rate (fp32).
    for slug, most in {"h100-sxm5-80gb": 990e12, "l40s": 363e12, "l4": 122e12, "a100-sxm4-80gb": 313e12}.items():
        assert gpus[slug].peak_flops_per_s["bf16"] <= most


def test_fp16_and_bf16_agree_wherever_both_exist(gpus):
    for gpu in gpus.values():
        peaks = gpu.peak_flops_per_s
        # Gaudi 3 is named here: Intel's paper gives its matrix engine a quarter of the bf16 rate in fp16.
        if "fp16" in peaks and "bf16" in peaks and gpu.slug != "gaudi3":
            assert peaks["fp16"] == pytest.approx(peaks["bf16"], rel=1e-9), gpu.slug


def test_bandwidth_and_ridge_point_are_plausible(gpus):
    for gpu in gpus.values():
        assert 1e11 <= gpu.memory_bandwidth_bytes_per_s <= 9e12, gpu.slug
        peaks = gpu.peak_flops_per_s
        half = peaks.get("bf16") or peaks.get("fp16")
        if half:
            assert 20 <= half / gpu.memory_bandwidth_bytes_per_s <= 600, gpu.slug


def test_memory_figures_are_ordered_and_in_bytes(gpus):
    for gpu in gpus.values():
        assert gpu.memory_vendor_bytes % 10**9 == 0, gpu.slug
        if gpu.memory_driver_bytes and gpu.memory_visible_bytes:
            # The RTX 5080 keeps 2.8 % to itself; no reading lies further from its driver.
            assert 0.97 <= gpu.memory_visible_bytes / gpu.memory_driver_bytes <= 1.0, gpu.slug


def test_visible_memory_not_read_anywhere_is_the_driver_figure_times_0_985_and_says_so(gpus):
    derived = [g for g in gpus.values() if "× 0.985" in g.sources.get("memory_visible_bytes", {}).get("source", "")]
    assert len(derived) > 10
    for gpu in derived:
        assert gpu.memory_visible_bytes == round(gpu.memory_driver_bytes * 0.985)
        assert gpu.sources["memory_visible_bytes"]["confidence"] == "low"


@pytest.mark.parametrize(
    ("slug", "gib"),
    [("h100-sxm5-80gb", 79.19), ("a100-sxm4-40gb", 39.49), ("l4", 22.16), ("t4", 14.74), ("rtx-3090", 23.58)],
)
def test_visible_memory_is_what_start_up_logs_print(gpus, slug, gib):
    assert gpus[slug].memory_visible_bytes / GIB == pytest.approx(gib, abs=0.005)


def test_every_figure_has_a_source_with_a_date(gpus):
    for gpu in gpus.values():
        assert "*" in gpu.sources, gpu.slug
        for figure, entry in gpu.sources.items():
            assert entry["source"], f"{gpu.slug} {figure}"
            datetime.date.fromisoformat(entry["date"])


def test_sources_name_figures_of_the_row(gpus):
    figures = {field.name for field in Gpu._meta.concrete_fields} | {"*", "peak_flops_per_s", "measured_matmul"}
    for gpu in gpus.values():
        assert set(gpu.sources) <= figures, gpu.slug
        assert all(entry.get("confidence") for entry in gpu.sources.values()), gpu.slug


def test_links_follow_the_board(gpus):
    assert gpus["h100-sxm5-80gb"].link == "nvlink4"
    assert gpus["h100-nvl-94gb"].link == "pcie5"
    assert gpus["h100-nvl-94gb"].scale_up_gpus == 2
    assert gpus["l40s"].link == "pcie4"
    assert gpus["mi300x"].link == "xgmi"
    assert gpus["gb200"].scale_up_gpus == 72
    # The export parts keep their generation's class and carry the cut rate.
    assert gpus["h800-sxm5-80gb"].link == "nvlink4"
    assert gpus["h800-sxm5-80gb"].link_bytes_per_s_per_direction == 200e9
    assert gpus["a800-sxm4-80gb"].link == "nvlink3"
    assert gpus["a800-sxm4-80gb"].link_bytes_per_s_per_direction == 200e9


@pytest.mark.parametrize(
    ("slug", "own", "used", "basis"),
    [
        ("h100-sxm5-80gb", "hopper", "hopper", "calibrated"),
        ("a100-sxm4-80gb", "ampere", "ampere", "calibrated"),
        ("rtx-3090", "ampere_g", "ampere_g", "nearest_family"),
        ("b300-sxm-288gb", "ultra", "ultra", "calibrated"),
        ("t4", "turing", "ampere_g", "nearest_family"),
        ("mi355x", "cdna4", "cdna4", "nearest_family"),
        ("gb10-dgx-spark", "gb10", "rtxbw", "nearest_family"),
        ("tpu-v5e", "tpu_v5e", None, None),
        ("gaudi3", "gaudi3", None, None),
        ("apple-m2-ultra", "apple", "apple", "nearest_family"),
        ("mi300x", "cdna3", "cdna3", "nearest_family"),
    ],
)
def test_the_kernel_family_is_exact_or_nearest_and_says_which(gpus, slug, own, used, basis):
    family = gpus[slug].kernel_family
    assert (family.own, family.used, family.basis) == (own, used, basis)


def test_every_kernel_family_used_is_one_with_measured_kernels(gpus):
    used = {gpu.kernel_family.used for gpu in gpus.values()} - {None}
    assert used <= {family.kernels for family in FAMILIES.values()}
    assert kernel_family("AMD", "gfx1100", "RDNA3").own == "rdna3"


def test_one_device_of_an_mi250x_is_half_the_package(gpus):
    package, device = gpus["mi250x"], gpus["mi250x-gcd"]
    assert package.devices_per_unit == 2
    assert device.memory_driver_bytes * 2 == package.memory_driver_bytes
    assert device.memory_bandwidth_bytes_per_s * 2 == package.memory_bandwidth_bytes_per_s


# Rows we correct, with the reason in the row's notes and sources.
CORRECTED = {("rtx-4000-ada", dtype) for dtype in ("tf32", "fp16", "bf16", "fp8", "int8")}
# Not published by the maker and empty in the survey; from clock and lanes, marked low.
CORRECTED |= {(slug, dtype) for slug in ("apple-m4", "apple-m5") for dtype in ("fp32", "fp16")}


def test_all_accelerators_of_the_survey_are_there_with_its_figures(gpus):
    with (shared_dir() / "data" / "gpus.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) >= 81
    for row in rows:
        gpu = gpus[row["slug"]]
        assert gpu.memory_vendor_bytes == float(row["memory_gb_vendor"]) * 1e9
        assert gpu.memory_bandwidth_bytes_per_s == pytest.approx(float(row["memory_bandwidth_gb_s"]) * 1e9)
        if row["memory_mib_driver"]:
            assert gpu.memory_driver_bytes == int(row["memory_mib_driver"]) * 2**20
        for dtype in DTYPES:
            if (row["slug"], dtype) not in CORRECTED:
                expected = pytest.approx(float(row[dtype]) * 1e12) if row[dtype] else None
                assert gpu.peak_flops_per_s.get(dtype) == expected, f"{row['slug']} {dtype}"
