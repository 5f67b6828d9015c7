"""Inputs of the engine other than the model: GPU, precision, parallelism, workload and the serving engine's profile."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from estimator.engine.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One accelerator; bytes, bytes/s and dense FLOP/s by dtype (a missing dtype is not supported by the tensor cores).

    `memory_bytes` is the figure the chosen profile multiplies by its utilization: the vendor's decimal figure for
    `ideal`, what CUDA shows for real engines; the resolver picks. `kernel_family` names the row of the kernel tables
    (ampere, ampere_g, ada, hopper, blackwell, ultra, rtxbw, cdna3, rdna3, apple), else the GPU's own family.
    """

    slug: str
    memory_bytes: int
    memory_bandwidth_bytes_per_s: float
    peak_flops_per_s: Mapping[str, float]
    kernel_family: str | None = None
    link: str | None = None
    link_bytes_per_s_per_direction: float | None = None
    scale_up_gpus: int = 8

    def __post_init__(self) -> None:
        if self.memory_bytes <= 0:
            raise InvalidInputError("memory_bytes must be above 0", field="gpu.memory_bytes")
        if self.memory_bandwidth_bytes_per_s <= 0:
            raise InvalidInputError(
                "memory_bandwidth_bytes_per_s must be above 0", field="gpu.memory_bandwidth_bytes_per_s"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Formats by name; the specific weight formats fall back to `weights`, activations to what the kernels run in."""

    weights: str = "bf16"
    kv_cache: str = "bf16"
    attention_weights: str | None = None
    expert_weights: str | None = None
    activations: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """Degrees inside one replica: tensor, pipeline, expert and attention data parallel. GPUs = tp · pp · dp."""

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.pp * self.dp


class WorkloadMode(StrEnum):
    """How load is put on the replica (see docs): each throughput figure belongs to one."""

    CLOSED_LOOP = "closed_loop"
    OPEN_LOOP = "open_loop"
    OFFLINE = "offline"
    STATIC_BATCH = "static_batch"
    SINGLE_STREAM = "single_stream"
    DECODE_STEP = "decode_step"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Lengths in tokens and the load; `concurrency` for closed loop and batches, `requests_per_s` for open loop."""

    mode: WorkloadMode = WorkloadMode.CLOSED_LOOP
    input_tokens: int
    output_tokens: int
    context_tokens: float | None = None
    concurrency: int = 1
    requests_per_s: float | None = None
    burstiness_cv: float = 1.0
    prefix_cache_hit_rate: float = 0.0
