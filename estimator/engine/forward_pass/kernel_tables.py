"""Measured kernel efficiencies by GPU family and format: the numbers behind the calibrated speeds.

A kernel row is `(fixed time in µs, share of bandwidth, share of dense peak, half-size of the matrix side)`, fitted with
`n·t0 + sqrt((bytes / (BW · share))² + (FLOP / (peak · share · x / (x + half_size)))²)`.

Source of GEMM, grouped experts, attention and collectives: the measured kernel tables of aiconfigurator-core 0.12
(NVIDIA, Apache-2.0), refitted; see the evidence beside each table. Rows marked `judgement` have no kernel data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class KernelRow:
    """Fixed time in microseconds, shares of bandwidth and of dense peak, half-size of the matrix side in elements."""

    fixed_us: float
    bandwidth_share: float
    compute_share: float
    half_size: float


@dataclass(frozen=True, slots=True)
class AttentionRow:
    """Share of bandwidth reading a 16-bit and an 8-bit cache, share of the 16-bit peak in prefill (bf16 and fp8).

    `unshared_kv_reads`: 1 where the kernel reads a KV head once for each of its query heads, 0 where once for all.
    """

    decode_bf16: float
    decode_fp8: float
    prefill_bf16: float
    prefill_fp8: float
    unshared_kv_reads: float = 0.0


@dataclass(frozen=True, slots=True)
class LinkRow:
    """All-reduce inside a node at 2, 4 and 8 GPUs: latency in microseconds and bus bandwidth in GB/s."""

    latency_us: tuple[float, float, float]
    bus_gb_per_s: tuple[float, float, float]
    nominal_bytes_per_s_per_direction: float


# What end-to-end rows want of a kernel constant beside the kernel tables: (table, family.format, field) → factor.
Factors = Mapping[tuple[str, str, str], float]
NO_FACTORS: Factors = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorConstants:
    """Constants of the operator model that hold for every GPU and engine; times in seconds."""

    attention_fixed_s: float = 8.5e-6
    elementwise_fixed_s: float = 9e-6
    elementwise_hidden_factor: float = 14.0
    elementwise_ffn_factor: float = 3.0
    elementwise_bandwidth_share: float = 0.7
    expert_load_imbalance: float = 1.1
    attention_dp_exchange_s: float = 28e-6
    attention_dp_prefill_factor: float = 0.5
    pipeline_hop_s: float = 20e-6
    pipeline_offline_bubble: float = 0.05
    kv_occupancy_share_of_output: float = 0.5
    prefill_half_length_tokens: float = 400.0
    sparse_attention_fixed_s: float = 60e-6
    sparse_index_bytes_overhead: float = 4.0
    linear_attention_fixed_s: float = 15e-6
    linear_attention_width: float = 12000.0
    latent_query_width: float = 1536.0
    latent_head_width: float = 192.0
    prefill_steal_floor_s_per_layer: float = 0.0003
    batched_tokens: float = 8192.0
    queue_utilization_limit: float = 0.98
    kernel_factors: Factors = field(default_factory=lambda: NO_FACTORS)


# n = 5,000 sampled shapes per cell, M = 1 … 65,536. Median (P90) absolute error of the form: A100 bf16 6.9 (21) %, int4
# 12.8 (43); L40S bf16 11 (53), fp8 12 (50); Hopper bf16 6 (22), fp8 12 (37); B200 7.5 (28), 12 (31), nvfp4 12 (32);
# B300 7.8 (28), 12 (31), 13 (34); RTX PRO 6000 7.4 (31), 12 (41), 21 (64). Fastest engine per shape.
# Judgement: ada int4, ampere_g, rdna3, apple, A100 fp8 (weight only); hopper int4/mxfp4 from int8 weight-only kernels;
# cdna3 fitted on mid-2024 vLLM, a lower bound for newer software; cdna3_2024 the same, with the factors below, for the
# engines of that time.

GEMM_ROWS = MappingProxyType(
    {
        "ampere": {
            "bf16": KernelRow(5.9, 0.76, 0.79, 100.0),
            "fp8w": KernelRow(8.0, 0.8, 0.79, 100.0),
            "int4": KernelRow(12.0, 0.75, 0.74, 0.0),
        },
        "ampere_g": {
            "bf16": KernelRow(5.0, 0.8, 0.7, 0.0),
            "int4": KernelRow(10.0, 0.75, 0.6, 0.0),
        },
        "ada": {
            "bf16": KernelRow(1.5, 0.87, 0.63, 0.0),
            "fp8": KernelRow(3.6, 0.85, 0.55, 540.0),
            "int4": KernelRow(6.0, 0.75, 0.5, 0.0),
        },
        "hopper": {
            "bf16": KernelRow(3.4, 0.88, 0.85, 30.0),
            "fp8": KernelRow(6.0, 0.79, 0.74, 1500.0),
            "int4": KernelRow(12.0, 0.75, 0.45, 0.0),
            "mxfp4": KernelRow(12.0, 0.75, 0.45, 0.0),
        },
        "blackwell": {
            "bf16": KernelRow(3.0, 0.81, 0.73, 0.0),
            "fp8": KernelRow(6.6, 0.76, 0.7, 1500.0),
            "nvfp4": KernelRow(5.7, 0.68, 0.56, 1800.0),
        },
        "ultra": {
            "bf16": KernelRow(2.7, 0.8, 0.81, 0.0),
            "fp8": KernelRow(6.2, 0.75, 0.76, 1700.0),
            "nvfp4": KernelRow(5.0, 0.67, 0.44, 2200.0),
        },
        "rtxbw": {
            "bf16": KernelRow(2.6, 0.88, 0.86, 100.0),
            "fp8": KernelRow(5.6, 0.85, 0.85, 890.0),
            "nvfp4": KernelRow(7.7, 0.71, 0.75, 540.0),
        },
        "cdna3": {
            "bf16": KernelRow(10.0, 0.56, 0.17, 0.0),
            "fp8": KernelRow(12.0, 0.6, 0.35, 0.0),
        },
        "cdna3_2024": {
            "bf16": KernelRow(10.0, 0.56, 0.17, 0.0),
            "fp8": KernelRow(12.0, 0.6, 0.35, 0.0),
        },
        "rdna3": {
            "int4": KernelRow(10.0, 0.7, 0.4, 0.0),
        },
        "apple": {
            "bf16": KernelRow(10.0, 0.8, 0.6, 0.0),
        },
    }
)

# Grouped GEMM of routed experts. n = 6,000 per cell of 0.5-0.8 M measured rows; median error 14-22 % (4-bit on Hopper
# 28-40 %), P90 45-60 %: the weakest operator. Judgement: ampere_g, cdna3.
EXPERT_ROWS = MappingProxyType(
    {
        "ampere": {
            "bf16": KernelRow(55.0, 0.7, 0.6, 500.0),
            "fp8w": KernelRow(55.0, 0.7, 0.6, 500.0),
        },
        "ampere_g": {
            "bf16": KernelRow(40.0, 0.7, 0.5, 500.0),
        },
        "ada": {
            "bf16": KernelRow(16.0, 0.88, 0.5, 300.0),
            "fp8": KernelRow(21.0, 0.9, 0.45, 500.0),
        },
        "hopper": {
            "bf16": KernelRow(37.0, 0.92, 0.75, 520.0),
            "fp8": KernelRow(38.0, 0.86, 0.6, 1200.0),
            "int4": KernelRow(60.0, 0.65, 0.2, 300.0),
            "mxfp4": KernelRow(60.0, 0.65, 0.25, 120.0),
        },
        "blackwell": {
            "bf16": KernelRow(25.0, 0.9, 0.54, 420.0),
            "fp8": KernelRow(33.0, 0.8, 0.55, 1400.0),
            "nvfp4": KernelRow(25.0, 0.95, 0.31, 970.0),
            "int4": KernelRow(37.0, 0.45, 0.35, 400.0),
            "mxfp4": KernelRow(25.0, 0.7, 0.4, 700.0),
        },
        "ultra": {
            "bf16": KernelRow(23.0, 0.91, 0.67, 530.0),
            "fp8": KernelRow(31.0, 0.82, 0.65, 1600.0),
            "nvfp4": KernelRow(27.0, 0.95, 0.23, 1020.0),
            "int4": KernelRow(37.0, 0.46, 0.39, 410.0),
            "mxfp4": KernelRow(24.0, 0.7, 0.4, 700.0),
        },
        "rtxbw": {
            "bf16": KernelRow(24.0, 0.93, 0.6, 210.0),
            "fp8": KernelRow(26.0, 0.95, 0.53, 330.0),
            "nvfp4": KernelRow(48.0, 0.87, 0.68, 810.0),
            "mxfp4": KernelRow(52.0, 0.82, 0.36, 100.0),
        },
        "cdna3": {
            "bf16": KernelRow(60.0, 0.5, 0.3, 500.0),
        },
        "cdna3_2024": {
            "bf16": KernelRow(60.0, 0.5, 0.3, 500.0),
        },
    }
)

# Decode: kernel medians over contexts (H100 bf16 .87, P10-P90 .76-.91; fp8 .74, .59-.80); prefill H100 .57 (.50-.62).
# n = 4,000 per engine. Judgement: ampere_g, cdna3, rdna3, apple. A100 fp8 is an 8-bit cache read without fp8 units.
ATTENTION_ROWS = MappingProxyType(
    {
        "ampere": AttentionRow(0.8, 0.75, 0.55, 0.55),
        "ampere_g": AttentionRow(0.8, 0.75, 0.45, 0.45),
        "ada": AttentionRow(0.88, 0.84, 0.49, 0.6),
        "hopper": AttentionRow(0.87, 0.74, 0.58, 0.68),
        "blackwell": AttentionRow(0.92, 0.87, 0.5, 0.54),
        "ultra": AttentionRow(0.9, 0.85, 0.61, 0.7),
        "rtxbw": AttentionRow(0.92, 0.9, 0.62, 0.64),
        "cdna3": AttentionRow(0.55, 0.5, 0.25, 0.3),
        "cdna3_2024": AttentionRow(0.55, 0.5, 0.25, 0.3, unshared_kv_reads=1.0),
        "rdna3": AttentionRow(0.7, 0.7, 0.3, 0.3),
        "apple": AttentionRow(0.8, 0.8, 0.4, 0.4),
    }
)

# Multi-head latent attention, same source and meaning.
LATENT_ATTENTION_ROWS = MappingProxyType(
    {
        "hopper": AttentionRow(0.85, 0.78, 0.52, 0.55),
        "blackwell": AttentionRow(0.7, 0.78, 0.47, 0.56),
        "ultra": AttentionRow(0.69, 0.78, 0.54, 0.7),
        "ampere": AttentionRow(0.3, 0.2, 0.43, 0.43),
        "ada": AttentionRow(0.6, 0.4, 0.41, 0.41),
        "rtxbw": AttentionRow(0.4, 0.35, 0.47, 0.6),
    }
)

# 134 fits of 2,379 measured all-reduces (custom kernels inside CUDA graphs; eager launches add 15-40 µs), median error
# 2-15 %. PCIe at 4 and 8 GPUs from throughput tables of A100 PCIe nodes. Judgement: xgmi. The nominal figure is the
# link's published rate per direction: a cut link (A800, H800) scales its bus figures by published / nominal.
LINK_ROWS = MappingProxyType(
    {
        "nvlink3": LinkRow((5.0, 6.0, 7.7), (165.0, 165.0, 170.0), 300000000000.0),
        "nvlink4": LinkRow((4.0, 4.6, 5.4), (255.0, 270.0, 290.0), 450000000000.0),
        "nvlink5": LinkRow((6.5, 7.0, 8.0), (440.0, 430.0, 430.0), 900000000000.0),
        "pcie4": LinkRow((7.5, 12.5, 22.0), (19.0, 16.0, 13.0), 32000000000.0),
        "pcie5": LinkRow((7.0, 14.0, 27.0), (36.0, 26.0, 22.0), 64000000000.0),
        "xgmi": LinkRow((12.0, 15.0, 20.0), (100.0, 180.0, 250.0), 448000000000.0),
    }
)

# Families without kernel data use the nearest measured one; the answer says so and its band is widened.
NEAREST_FAMILY = MappingProxyType(
    {"volta": "ampere_g", "turing": "ampere_g", "cdna2": "cdna3", "cdna4": "cdna3", "gb10": "rtxbw"}
)
# Families whose rows above are fits of measured kernels; the others are judgement.
MEASURED_FAMILIES = frozenset({"ampere", "ada", "hopper", "blackwell", "ultra", "rtxbw"})

# Bytes of one weight in a kernel's traffic, scales included.
BYTES_PER_WEIGHT = MappingProxyType(
    {
        "fp32": 4.0,
        "bf16": 2.0,
        "fp16": 2.0,
        "fp8": 1.0,
        "int8": 1.0,
        "nvfp4": 0.5625,
        "int4": 0.53,
        "mxfp4": 0.53,
        "nf4": 0.5625,
    }
)
# The founders' reference: kernel tables as they are. The golden cases are worked with these.
REFERENCE_OPERATORS = OperatorConstants()

# What measured rows of whole engines want beside the kernel tables; twelve constants, each for a kernel class over
# every family that has it, none for a model. Chosen one after another by the error on models left out, fitted together
# with those of the engine profiles on all clean rows, rounded (docs/accuracy.md). Why each is plausible:
# - 4-bit experts on Hopper: the table holds the 16-bit-activation kernels of one library, measured at 28-40 % error.
# - fixed time of nvfp4 and fp8 products on Blackwell: shared experts and dense parts run beside other kernels, launches
#   overlap (PDL). The fp8 factor is 0.66 without Qwen3.5, MiniMax, GLM-5 or Kimi, 0.85 without DeepSeek.
# - half-size of fp8 experts on Blackwell: narrow slices of an expert fill less than the table's single kernel says.
# - 16-bit prefill attention: the engines run the best library for a shape, the table holds the median of several.
# - 8-bit cache reads on Hopper: as above; 0.85 of bandwidth, the best library reaches 0.87 on H100 and 0.82 on H200.
# - AMD of mid-2024 (cdna3_2024): small batches of untuned 16-bit products reached 6 % of the peak, of experts 17 %. The
#   cache is read once for each query head: Llama-3-8B (8 KV heads) ran no faster than Llama-2-7B (32), 1,572 and 2,116
#   tokens/s at batch 256 on one GPU, 5,634 and 5,605 on eight.
# - attention-data-parallel exchange and prefill spread: 28 µs and 0.5 were estimates without a measurement.
DEFAULT_OPERATORS = OperatorConstants(
    attention_dp_exchange_s=6e-6,
    attention_dp_prefill_factor=0.24,
    kernel_factors=MappingProxyType(
        {
            ("expert", "hopper.int4", "compute_share"): 2.5,
            ("expert", "hopper.mxfp4", "compute_share"): 2.5,
            ("expert", "blackwell.fp8", "half_size"): 1.6,
            ("expert", "ultra.fp8", "half_size"): 1.6,
            ("expert", "rtxbw.fp8", "half_size"): 1.6,
            ("gemm", "blackwell.fp8", "fixed_us"): 0.7,
            ("gemm", "ultra.fp8", "fixed_us"): 0.7,
            ("gemm", "rtxbw.fp8", "fixed_us"): 0.7,
            ("gemm", "blackwell.nvfp4", "fixed_us"): 0.3,
            ("gemm", "ultra.nvfp4", "fixed_us"): 0.3,
            ("gemm", "rtxbw.nvfp4", "fixed_us"): 0.3,
            **{("attention", family, "prefill_bf16"): 1.3 for family in ATTENTION_ROWS},
            ("attention", "hopper", "decode_fp8"): 1.15,
            ("attention", "cdna3_2024", "decode_bf16"): 0.65,
            ("gemm", "cdna3_2024.bf16", "compute_share"): 0.36,
            ("expert", "cdna3_2024.bf16", "bandwidth_share"): 1.5,
            ("expert", "cdna3_2024.bf16", "compute_share"): 0.55,
        }
    ),
)
