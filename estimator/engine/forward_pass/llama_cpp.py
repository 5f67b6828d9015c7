"""llama.cpp: one stream, layers split over GPUs, quantised files (its own class of engine)."""

import re
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from estimator.constants.families import CARD_FALLBACK, FAMILIES
from estimator.constants.formats import HEAD_BITS
from estimator.constants.kernels import inline_ecc, shipped
from estimator.engine.forward_pass.flops import active_parameters
from estimator.engine.forward_pass.kernels import sixteen_bit_peak, weight_format
from estimator.engine.forward_pass.traffic import RankLayout
from estimator.engine.model.spec import Architecture
from estimator.engine.specs import Gpu, LlamaCppConstants, Precision

# Consumer GeForce cards accumulate fp16 products at twice the rate the catalog gives for fp32 accumulation.
_GEFORCE = re.compile(r"rtx-(?:30|40|50)[5-9]0(?:-ti)?(?:-super)?(?:-|$)(?!.*ada)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaCpp:
    """Constants of one key folded to seconds; fields are numbers or arrays."""

    decode_fixed_s: Any
    weights_s: Any
    windows: tuple[Any, ...]
    cache_read_s: tuple[Any, ...]
    prefill_fixed_s: Any
    prefill_token_s: Any
    prefill_square_s: Any
    gpus: Any
    micro_batch_tokens: Any
    split_exponent: Any
    read_bytes: Any


def read_bytes(architecture: Architecture, precision: Precision, gpu: Gpu) -> float:
    """Weight bytes of one token: active parameters without the input embedding, the head in its own file type.

    Equation: docs/model.md, eq. (25). Source: llama.cpp keeps the input embedding on the host and the head of small
    file types in q6_k.

    >>> from estimator.engine.forward_pass import worked_key
    >>> from estimator.engine.specs import Precision
    >>> round(read_bytes(worked_key.model(), Precision(), worked_key.H100) / 1e9, 2)
    15.01
    """
    counts = active_parameters(architecture)
    fmt = weight_format(precision.weights, gpu)
    head_bytes = fmt.bytes_per_weight if fmt.bytes_per_weight >= 1.0 else HEAD_BITS / 8
    return (counts.active_matrix - counts.head) * fmt.bytes_per_weight + counts.head * head_bytes


def fold_llama_cpp(
    architecture: Architecture, layout: RankLayout, gpu: Gpu, precision: Precision, constants: LlamaCppConstants
) -> LlamaCpp:
    """Folds one key.

    Source: docs/model.md, llama.cpp; the share of bandwidth is of the family's kernels, the peak turns.
    """
    bandwidth = _bandwidth(gpu)
    wide = weight_format(precision.weights, gpu).bytes_per_weight >= 1.0
    apple = _is_metal(gpu)
    share = _bandwidth_share(gpu, constants, wide=wide)
    counts = active_parameters(architecture)
    layers = layout.layers
    gpus = layout.parallelism.gpus
    weights = read_bytes(architecture, precision, gpu)
    peak = _prefill_flops_per_s(gpu, constants, wide=wide)
    cache = bandwidth * constants.kv_bandwidth_efficiency
    width = sum(group.layers * group.prefill_width for group in layout.caches)
    # Scores of a prompt pass through memory on CUDA builds of 2024; Apple's rows show no such cost.
    heads = 0 if apple else sum(g.layers * g.attention.query_heads for g in architecture.layer_groups if g.attention)
    score_s = heads * constants.prefill_score_bytes / bandwidth
    return LlamaCpp(
        decode_fixed_s=layers * (constants.layer_s_apple if apple else constants.layer_s_cuda)
        + (gpus - 1) * constants.split_hop_s,
        weights_s=weights / (bandwidth * share),
        windows=tuple(group.read_window_tokens for group in layout.caches) or (inf,),
        cache_read_s=tuple(g.layers * g.read_bytes_per_token / cache for g in layout.caches) or (0.0,),
        prefill_fixed_s=layers * constants.prefill_layer_s,
        prefill_token_s=2.0 * (counts.active_matrix - counts.head) / peak
        + layers * layout.hidden_size * constants.prefill_activation_bytes / bandwidth,
        prefill_square_s=2.0 * width / peak + score_s,
        gpus=float(gpus),
        micro_batch_tokens=float(constants.prefill_micro_batch_tokens),
        split_exponent=constants.split_prefill_exponent,
        read_bytes=weights,
    )


def _bandwidth(gpu: Gpu) -> float:
    """Bytes/s that data can reach, less what check bits take on cards with inline ECC."""
    ecc = inline_ecc().get(gpu.slug)
    return gpu.memory_bandwidth_bytes_per_s * (ecc.bandwidth_share if ecc else 1.0)


def _bandwidth_share(gpu: Gpu, constants: LlamaCppConstants, *, wide: bool) -> float:
    """Share of bandwidth of weight reads, at most 1: `eta / (1 + BW / BW0)` of what the family's kernels reach."""
    eta = constants.eta_16bit if wide else constants.eta_4bit
    turning = constants.bw0_16bit_bytes_per_s if wide else constants.bw0_4bit_bytes_per_s
    if _is_metal(gpu):
        eta *= constants.apple_eta_factor
    elif constants.eta_of_kernels:
        eta *= _sixteen_bit_share(gpu)
    return min(eta / (1.0 + gpu.memory_bandwidth_bytes_per_s / turning), 1.0)


def _is_metal(gpu: Gpu) -> bool:
    family = FAMILIES.get(gpu.kernel_family or "")
    return family is not None and family.llama_cpp == "metal"


def _sixteen_bit_share(gpu: Gpu) -> float:
    """Share of bandwidth of the family's 16-bit products; of the family that stands for cards where it has none."""
    family = FAMILIES.get(gpu.kernel_family or "")
    rows = shipped().gemm
    own = rows.get((family.kernels, "bf16")) if family else None
    return (own or rows[CARD_FALLBACK, "bf16"]).bandwidth_share


def _prefill_flops_per_s(gpu: Gpu, constants: LlamaCppConstants, *, wide: bool) -> float:
    """FLOP/s of a prompt's products: a share of the peak that falls as the peak grows.

    Kernels of 2024 use Ampere's matrix instructions, which Hopper runs below its peak, and pieces of 512 tokens fill a
    large GPU less.
    """
    peak = sixteen_bit_peak(gpu)
    if _GEFORCE.search(gpu.slug):
        peak *= constants.geforce_prefill_factor
    reached = peak * (constants.prefill_efficiency_16bit if wide else constants.prefill_efficiency_4bit)
    if constants.prefill_turning_flops_per_s > 0.0:
        reached /= 1.0 + peak / constants.prefill_turning_flops_per_s
    return reached * (constants.apple_prefill_factor if _is_metal(gpu) else 1.0)


def llama_cpp_step_s(folded: LlamaCpp, context_tokens: Any) -> Any:
    """Seconds of one token: layers, weights at the reached bandwidth, cache, hops between GPUs.

    Equation: docs/model.md, eq. (26). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> from estimator.engine.specs import Precision
    >>> precision = Precision(weights="q4_k_m")
    >>> key = (worked_key.model(), worked_key.layout(), worked_key.H100, precision, worked_key.llama_cpp_constants())
    >>> round(float(llama_cpp_step_s(fold_llama_cpp(*key), 1000.0)) * 1e3, 2)
    6.48
    """
    total = folded.decode_fixed_s + folded.weights_s
    for window, read in zip(folded.windows, folded.cache_read_s, strict=True):
        total = total + read * np.minimum(context_tokens, window)
    return total


def llama_cpp_prefill_s(folded: LlamaCpp, tokens: Any) -> Any:
    """Seconds of a prompt; n GPUs work as a pipeline of micro-batches, `(m·n / (m + n − 1))^0.8` times as fast.

    Equation: docs/model.md, eq. (27). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> from estimator.engine.specs import Precision
    >>> precision = Precision(weights="q4_k_m")
    >>> key = (worked_key.model(), worked_key.layout(), worked_key.H100, precision, worked_key.llama_cpp_constants())
    >>> round(float(llama_cpp_prefill_s(fold_llama_cpp(*key), 512.0)) * 1e3, 1)
    51.3
    """
    work = folded.prefill_token_s * tokens + folded.prefill_square_s * tokens**2
    pieces = np.maximum(tokens / folded.micro_batch_tokens, 1.0)
    gain = (pieces * folded.gpus / (pieces + folded.gpus - 1.0)) ** folded.split_exponent
    return work / gain + folded.prefill_fixed_s
