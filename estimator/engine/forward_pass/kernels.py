"""Which kernel row, peak and link apply to a format on a GPU, and whether they were measured there."""

import re
from dataclasses import dataclass
from math import log2

from estimator.constants.families import FALLBACKS, FAMILIES, LATENT_FALLBACK, OF_2024
from estimator.constants.formats import BODY_BITS, BYTES_PER_WEIGHT
from estimator.constants.kernels import AttentionRow, ExpertRow, KernelConstants, KernelRow, Table
from estimator.engine.errors import InvalidInputError, MissingFigureError
from estimator.engine.formats.quantisation import GGUF_FORMATS, weight_coding
from estimator.engine.model.cache import kv_element_bytes
from estimator.engine.specs import Gpu

# A weight-only or missing format falls back along these kernels, then over the families that stand in: judgement.
_KERNEL_FALLBACKS = {
    "bf16": ("bf16",),
    "fp8": ("fp8", "fp8_block", "fp8w", "bf16"),
    "fp8_block": ("fp8_block", "fp8", "fp8w", "bf16"),
    "fp8w": ("fp8w", "bf16", "fp8"),
    "int4": ("int4",),
    "mxfp4": ("mxfp4", "int4"),
    "mxfp4_w4a8": ("mxfp4_w4a8", "mxfp4", "int4"),
    "nvfp4": ("nvfp4", "int4"),
}
# Kernels that multiply in 16 bits, whatever the weights are stored in.
_SIXTEEN_BIT_PRODUCTS = ("bf16", "fp8w", "int4", "mxfp4")
# Whose kernels of grouped products an engine runs; those not named run TensorRT-LLM's.
_LIBRARIES = {"vllm": "vllm", "sglang": "sglang"}
_OTHER_LIBRARY = "trtllm"
# Weights of more bytes than this run on the 8-bit weight-only kernel, smaller ones on the 4-bit one.
_LEAST_BYTES_OF_8_BIT_KERNELS = 0.8
# Numbers of GPUs that links.csv holds; the interpolation below steps from one to the next by a factor of 2.
_GPUS_OF_LINK_ROWS = (2, 4, 8)


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


def kernel_library(engine: str) -> str:
    """Whose grouped products, latent attention and exchanges an engine runs, as the tables name it.

    >>> kernel_library("vllm"), kernel_library("nim")
    ('vllm', 'trtllm')
    """
    return _LIBRARIES.get(engine, _OTHER_LIBRARY)


def sixteen_bit_peak(gpu: Gpu) -> float:
    """Dense 16-bit peak in FLOP/s: bf16, or fp16 on GPUs without bf16 (T4, V100).

    Raises:
        MissingFigureError: neither is known.

    Equation: docs/model.md, eq. (18). Source: vendors' data sheets, in the catalog.

    >>> from estimator.engine.forward_pass import worked_key
    >>> sixteen_bit_peak(worked_key.H100) / 1e12
    989.0
    """
    for name in ("bf16", "fp16"):
        if gpu.peak_flops_per_s.get(name):
            return float(gpu.peak_flops_per_s[name])
    raise MissingFigureError(f"no 16-bit peak is known for {gpu.slug}", field="gpu.peak_flops_per_s")


def weight_format(name: str, gpu: Gpu, *, experts: bool = False, activations: str | None = None) -> WeightFormat:
    """The kernel, bytes and peak of weights stored as `name`.

    8-bit and fp4 products run at their own peak where the GPU has the units; otherwise, and where 16-bit activations
    are asked for, weight-only at the 16-bit peak. mxfp4 experts run with 8-bit activations on Blackwell (w4a8).

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
        return plain("mxfp4_w4a8", float(peaks["fp8"]), weight_only=True)
    if name == "mxfp4":
        return plain("mxfp4", p16, weight_only=True)
    if bytes_per_weight > _LEAST_BYTES_OF_8_BIT_KERNELS:
        return plain("fp8w", p16, weight_only=True, native=False)
    return plain("int4", p16, weight_only=True, native=name == "int4")


def _is_fp8_asked(activations: str | None) -> bool:
    return activations == "fp8"


def _bytes_per_weight(name: str) -> float:
    if name in BYTES_PER_WEIGHT:
        return BYTES_PER_WEIGHT[name]
    if name in GGUF_FORMATS:
        return BODY_BITS.get(name, float(weight_coding(name).element_bits)) / 8
    raise InvalidInputError(f"no kernel figure is known for the format {name!r}", field="precision.weights")


def cache_bytes_per_element(name: str) -> float:
    """Bytes of one element of the KV cache stored as `name`.

    Raises:
        InvalidInputError: unknown format.

    Equation: docs/model.md, eq. (18). Source: the formats' standards.

    >>> cache_bytes_per_element("bf16"), cache_bytes_per_element("fp8")
    (2.0, 1.0)
    """
    return float(kv_element_bytes(name))


def kernel_family(gpu: Gpu, *, of_2024: bool = False) -> str:
    """The family of the kernel tables that stands for this GPU: its own, or the nearest.

    `of_2024`: the engine ran the kernels that AMD GPUs had in mid-2024; other families had today's.

    Raises:
        MissingFigureError: the tables have nothing near (TPU, Trainium, Gaudi, inline GPUs without a family).
    """
    family = FAMILIES.get(gpu.kernel_family or "")
    if family is None:
        raise MissingFigureError(f"no measured kernels stand for {gpu.slug}", field="gpu")
    older = f"{family.kernels}{OF_2024}"
    return older if of_2024 and older in FAMILIES else family.kernels


def is_of_amd(family: str) -> bool:
    """Whether the kernels of a family are AMD's."""
    return FAMILIES[family].vendor == "AMD"


def is_judged(family: str, constants: KernelConstants) -> bool:
    """Whether the 16-bit kernels of a family of the tables are judgement, so that nothing on it is calibrated."""
    attention = constants.attention[family]
    product = constants.gemm.get((family, "bf16"))
    return bool({"decode_bf16", "prefill_bf16"} & attention.judged) or (product is not None and bool(product.judged))


def gemm_row(family: str, kernel: str, constants: KernelConstants) -> tuple[KernelRow, bool]:
    """Constants of a matrix product, and whether they are this family's and kernel's own."""
    return _row(constants.gemm, family, kernel)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedKernel:
    """The grouped product that stands for a format: its constants, whether it multiplies in 16 bits, whether own.

    `own`: measured or fitted for this library, family and format.
    """

    row: ExpertRow
    sixteen_bit: bool
    own: bool


def expert_kernel(library: str, family: str, kernel: str, constants: KernelConstants) -> GroupedKernel:
    """The grouped product of routed experts: of the library, else of all, else of another; then of near families.

    Raises:
        MissingFigureError: no grouped product stands for the format.
    """
    libraries = dict.fromkeys((library, "", _OTHER_LIBRARY, *_LIBRARIES.values()))
    for near in (family, *FALLBACKS):
        for whose in libraries:
            for name in _KERNEL_FALLBACKS[kernel]:
                row = constants.expert.get((whose, near, name))
                if row:
                    own = near == family and name == kernel and whose in (library, "")
                    return GroupedKernel(row=row, sixteen_bit=name in _SIXTEEN_BIT_PRODUCTS, own=own)
    raise MissingFigureError(f"no grouped product stands for {kernel} on {family}", field="precision.weights")


def attention_row(family: str, *, latent: bool, constants: KernelConstants) -> tuple[AttentionRow, bool]:
    """Shares of bandwidth and peak that attention kernels reach, and whether they are this family's own."""
    if not latent:
        return constants.attention[family], True
    own = constants.latent_attention.get(family)
    return (own, True) if own else (constants.latent_attention[LATENT_FALLBACK], False)


def _row(rows: Table[KernelRow], family: str, kernel: str) -> tuple[KernelRow, bool]:
    for near in (family, *FALLBACKS):
        for name in _KERNEL_FALLBACKS[kernel]:
            row = rows.get((near, name))
            if row:
                return row, near == family and name == kernel
    raise MissingFigureError(f"no kernel stands for {kernel} on {family}", field="precision.weights")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """All-reduce inside a node: latency in seconds, bus bandwidth in bytes/s; `own`: this very link was measured."""

    name: str
    latency_s: float
    bus_bytes_per_s: float
    own: bool


def link_row(gpu: Gpu, gpus: int, constants: KernelConstants) -> Link:
    """Latency and bus bandwidth of the GPU's link at a tensor-parallel degree (log2 interpolation, clamped to 2 … 8).

    A link cut by the vendor scales the bus by its published rate; PCIe 3 counts half of PCIe 4.

    Raises:
        MissingFigureError: the link is not one of the tables'.

    Equation: docs/model.md, eq. (19). Source: constants of docs/constants.md.
    """
    name, scale, exact = _link_name(gpu, constants)
    published = gpu.link_bytes_per_s_per_direction
    if published and not name.startswith("pcie"):
        cut = published / (constants.link_rate[name].nominal_gb_per_s_per_direction * 1e9)
        scale *= min(cut, 1.0)
    position = min(max(log2(max(gpus, 1)), 1.0), log2(_GPUS_OF_LINK_ROWS[-1])) - 1.0
    low = min(int(position), 1)
    share = position - low
    below, above = (constants.link[name, _GPUS_OF_LINK_ROWS[at]] for at in (low, low + 1))
    latency_us = below.latency_us + (above.latency_us - below.latency_us) * share
    bus = below.bus_gb_per_s + (above.bus_gb_per_s - below.bus_gb_per_s) * share
    return Link(
        name=name,
        latency_s=latency_us * 1e-6,
        bus_bytes_per_s=bus * 1e9 * scale,
        own=exact and scale == 1.0 and not below.judged and not above.judged,
    )


def _link_name(gpu: Gpu, constants: KernelConstants) -> tuple[str, float, bool]:
    """Name of the link's rows, what its bus figures are multiplied by, and whether the rows are of this very link."""
    link = re.sub(r"[^a-z0-9]", "", (gpu.link or "").lower())
    if (link, _GPUS_OF_LINK_ROWS[0]) in constants.link:
        return link, 1.0, True
    if "infinity" in link or "xgmi" in link:
        return "xgmi", 1.0, True
    generation = re.search(r"\d", link)
    number = int(generation.group()) if generation else 0
    if link.startswith("nvlink"):
        nearest = min(max(number, 3), 5)
        return f"nvlink{nearest}", 1.0, number == nearest
    if link in ("", "none") or "pcie" in link or "bridge" in link:
        if number in (0, 4):
            return "pcie4", 1.0, number == 4
        return ("pcie4", 0.5 ** (4 - number), False) if number < 4 else ("pcie5", 1.0, number == 5)
    raise MissingFigureError(f"no all-reduce figures stand for the link {gpu.link!r}", field="gpu.link")
