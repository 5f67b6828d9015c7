"""Which kernel row, peak and link apply to a format on a GPU, and whether they were measured there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import log2
from typing import TypeVar

from estimator.engine.errors import InvalidInputError, MissingFigureError
from estimator.engine.formats.quantisation import GGUF_FORMATS, weight_coding
from estimator.engine.forward_pass.kernel_tables import (
    ATTENTION_ROWS,
    BYTES_PER_WEIGHT,
    EXPERT_ROWS,
    GEMM_ROWS,
    LATENT_ATTENTION_ROWS,
    LINK_ROWS,
    MEASURED_FAMILIES,
    NEAREST_FAMILY,
    NO_FACTORS,
    AttentionRow,
    Factors,
    KernelRow,
)
from estimator.engine.model.cache import kv_element_bytes
from estimator.engine.specs import Gpu

RowT = TypeVar("RowT", KernelRow, AttentionRow)
# A weight-only or missing format falls back along these kernels, then over the families below: judgement.
_KERNEL_FALLBACKS = {
    "bf16": ("bf16",),
    "fp8": ("fp8", "fp8w", "bf16"),
    "fp8w": ("fp8w", "bf16", "fp8"),
    "int4": ("int4",),
    "mxfp4": ("mxfp4", "int4"),
    "nvfp4": ("nvfp4", "int4"),
}
_FAMILY_FALLBACKS = ("hopper", "ampere_g", "ampere")
_LATENT_FALLBACK = "ampere"
# Layers of a q4_k_m file without its head, which is priced apart (03-engine 1.5); 4.89 is the mean of the whole file.
_BODY_BITS = {"q4_k_m": 4.85}


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFormat:
    """How weights of one format run on a GPU: bytes read per weight, kernel table, and dense peak in FLOP/s.

    `weight_only`: the weights are unpacked before a 16-bit product. `native` is False where the format had to be run
    by another format's kernel.
    """

    name: str
    bytes_per_weight: float
    kernel: str
    peak_flops_per_s: float
    weight_only: bool = False
    native: bool = True


def sixteen_bit_peak(gpu: Gpu) -> float:
    """Dense 16-bit peak in FLOP/s: bf16, or fp16 on GPUs without bf16 (T4, V100).

    Raises:
        MissingFigureError: neither is known.
    """
    for name in ("bf16", "fp16"):
        if gpu.peak_flops_per_s.get(name):
            return float(gpu.peak_flops_per_s[name])
    raise MissingFigureError(f"no 16-bit peak is known for {gpu.slug}", field="gpu.peak_flops_per_s")


def weight_format(name: str, gpu: Gpu, *, experts: bool = False, activations: str | None = None) -> WeightFormat:
    """The kernel, bytes and peak of weights stored as `name`.

    8-bit and fp4 products run at their own peak where the GPU has the units; otherwise, and where 16-bit activations
    are asked for, weight-only at the 16-bit peak. mxfp4 experts run as fp8 products on Blackwell (w4a8).

    Args:
        name: format of the weights (`bf16`, `fp8`, `int4`, `q4_k_m`, …).
        gpu: peaks in FLOP/s by dtype.
        experts: True for routed experts.
        activations: dtype of activations asked for, None for what the kernels run in.

    Raises:
        InvalidInputError: unknown format.
    """
    peaks = gpu.peak_flops_per_s
    p16 = sixteen_bit_peak(gpu)
    wide = activations in ("bf16", "fp16", "fp32")
    bytes_per_weight = _bytes_per_weight(name)

    def plain(kernel: str, peak: float, *, weight_only: bool = False, native: bool = True) -> WeightFormat:
        return WeightFormat(
            name=name, bytes_per_weight=bytes_per_weight, kernel=kernel, peak_flops_per_s=peak,
            weight_only=weight_only, native=native,
        )  # fmt: skip

    if name in ("bf16", "fp16"):
        return plain("bf16", p16)
    if name == "fp32":
        return plain("bf16", float(peaks.get("fp32") or p16), native=False)
    if name in ("fp8", "int8"):
        peak = peaks.get(name)
        if peak and not wide:
            return plain("fp8", float(peak), native=name == "fp8")
        return plain("fp8w", p16, weight_only=True)
    if name == "nvfp4" and not wide and (peaks.get("fp4") or peaks.get("nvfp4")) and not _is_fp8_asked(activations):
        return plain("nvfp4", float(peaks.get("fp4") or peaks["nvfp4"]))
    if name == "mxfp4" and experts and not wide and peaks.get("fp4") and peaks.get("fp8"):
        return plain("mxfp4", float(peaks["fp8"]), weight_only=True)
    if name == "mxfp4":
        return plain("mxfp4", p16, weight_only=True)
    if bytes_per_weight > 0.8:
        return plain("fp8w", p16, weight_only=True, native=False)
    return plain("int4", p16, weight_only=True, native=name == "int4")


def _is_fp8_asked(activations: str | None) -> bool:
    return activations == "fp8"


def _bytes_per_weight(name: str) -> float:
    if name in BYTES_PER_WEIGHT:
        return BYTES_PER_WEIGHT[name]
    if name in GGUF_FORMATS:
        return _BODY_BITS.get(name, float(weight_coding(name).element_bits)) / 8
    raise InvalidInputError(f"no kernel figure is known for the format {name!r}", field="precision.weights")


def cache_bytes_per_element(name: str) -> float:
    """Bytes of one element of the KV cache stored as `name`.

    Raises:
        InvalidInputError: unknown format.
    """
    return float(kv_element_bytes(name))


def kernel_family(gpu: Gpu, *, of_2024: bool = False) -> tuple[str, bool]:
    """The family of the kernel tables that stands for this GPU, and whether it is the GPU's own measured one.

    `of_2024`: the engine ran the kernels that AMD GPUs had in mid-2024; other families had today's.

    Raises:
        MissingFigureError: the tables have nothing near (TPU, Trainium, Gaudi, inline GPUs without a family).
    """
    family = gpu.kernel_family or ""
    if family in ATTENTION_ROWS or family in NEAREST_FAMILY:
        near = NEAREST_FAMILY.get(family, family)
        row = f"{near}_2024" if of_2024 and f"{near}_2024" in ATTENTION_ROWS else near
        return row, family in MEASURED_FAMILIES
    raise MissingFigureError(f"no measured kernels stand for {gpu.slug}", field="gpu")


def gemm_row(family: str, kernel: str, factors: Factors = NO_FACTORS) -> tuple[KernelRow, bool]:
    """Constants of a matrix product, and whether they are this family's and kernel's own."""
    return _row("gemm", GEMM_ROWS, family, kernel, factors)


def expert_row(family: str, kernel: str, factors: Factors = NO_FACTORS) -> tuple[KernelRow, bool]:
    """Constants of the grouped product of routed experts, and whether they are this family's and kernel's own."""
    return _row("expert", EXPERT_ROWS, family, kernel, factors)


def attention_row(family: str, *, latent: bool, factors: Factors = NO_FACTORS) -> tuple[AttentionRow, bool]:
    """Shares of bandwidth and peak that attention kernels reach, and whether they are this family's own."""
    if not latent:
        return _scaled(ATTENTION_ROWS[family], ("attention", family), factors), True
    own = LATENT_ATTENTION_ROWS.get(family)
    return (own, True) if own else (LATENT_ATTENTION_ROWS[_LATENT_FALLBACK], False)


def _row(
    kind: str, rows: Mapping[str, Mapping[str, KernelRow]], family: str, kernel: str, factors: Factors
) -> tuple[KernelRow, bool]:
    for near in (family, *_FAMILY_FALLBACKS):
        for name in _KERNEL_FALLBACKS[kernel]:
            row = rows.get(near, {}).get(name)
            if row:
                return _scaled(row, (kind, f"{near}.{name}"), factors), near == family and name == kernel
    raise MissingFigureError(f"no kernel stands for {kernel} on {family}", field="precision.weights")


def _scaled(row: RowT, where: tuple[str, str], factors: Factors) -> RowT:
    names = [f.name for f in fields(row) if (*where, f.name) in factors]
    return replace(row, **{name: getattr(row, name) * factors[(*where, name)] for name in names}) if names else row


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """All-reduce over `gpus` of one node: latency in seconds, bus bandwidth in bytes/s; `own`: not a nearest link."""

    name: str
    latency_s: float
    bus_bytes_per_s: float
    own: bool


def link_row(gpu: Gpu, gpus: int) -> Link:
    """Latency and bus bandwidth of the GPU's link at a tensor-parallel degree (log2 interpolation, clamped to 2 … 8).

    A link cut by the vendor scales the bus by its published rate; PCIe 3 counts half of PCIe 4.

    Raises:
        MissingFigureError: the link is not one of the tables'.
    """
    name, scale = _link_name(gpu)
    row = LINK_ROWS[name]
    published = gpu.link_bytes_per_s_per_direction
    if published and not name.startswith("pcie"):
        cut = published / row.nominal_bytes_per_s_per_direction
        scale *= min(cut, 1.0)
    position = min(max(log2(max(gpus, 1)), 1.0), 3.0) - 1.0
    low = min(int(position), 1)
    share = position - low

    def at(values: tuple[float, float, float]) -> float:
        return values[low] + (values[low + 1] - values[low]) * share

    own = scale == 1.0 and name != "xgmi"
    return Link(
        name=name, latency_s=at(row.latency_us) * 1e-6, bus_bytes_per_s=at(row.bus_gb_per_s) * 1e9 * scale, own=own
    )


def _link_name(gpu: Gpu) -> tuple[str, float]:
    link = re.sub(r"[^a-z0-9]", "", (gpu.link or "").lower())
    if link in LINK_ROWS:
        return link, 1.0
    if "infinity" in link or "xgmi" in link:
        return "xgmi", 1.0
    generation = re.search(r"\d", link)
    number = int(generation.group()) if generation else 0
    if link.startswith("nvlink"):
        return f"nvlink{min(max(number, 3), 5)}", 1.0
    if link in ("", "none") or "pcie" in link or "bridge" in link:
        if number in (0, 4):
            return "pcie4", 1.0
        return ("pcie4", 0.5 ** (4 - number)) if number < 4 else ("pcie5", 1.0)
    raise MissingFigureError(f"no all-reduce figures stand for the link {gpu.link!r}", field="gpu.link")
