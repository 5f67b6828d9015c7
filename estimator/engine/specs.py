"""Inputs of the engine other than the model: GPU, precision, parallelism, workload and the serving engine's profile."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from estimator.constants.profiles import unstated
from estimator.engine.errors import InvalidInputError
from estimator.engine.memory.policy import MemoryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One accelerator; bytes, bytes/s and dense FLOP/s by dtype (a missing dtype is not supported by the tensor cores).

    `memory_bytes` is the figure the chosen profile multiplies by its utilization: the vendor's decimal figure for
    `ideal`, what CUDA shows for real engines; the resolver picks. `kernel_family` is one of `constants.families`;
    `tdp_w` the design power in W, None where it is not known.
    """

    slug: str
    memory_bytes: int
    memory_bandwidth_bytes_per_s: float
    peak_flops_per_s: Mapping[str, float]
    kernel_family: str | None = None
    link: str | None = None
    link_bytes_per_s_per_direction: float | None = None
    scale_up_gpus: int = 8
    tdp_w: float | None = None

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

    @property
    def expert_ranks(self) -> int:
        """GPUs of a stage that share the experts: ep, or all of the tensor and data groups if that is more."""
        return max(self.ep, self.tp * self.dp)


class WorkloadMode(StrEnum):
    """How load is put on the replica (see docs): each throughput figure belongs to one."""

    CLOSED_LOOP = "closed_loop"
    OPEN_LOOP = "open_loop"
    OFFLINE = "offline"
    STATIC_BATCH = "static_batch"
    SINGLE_STREAM = "single_stream"
    DECODE_STEP = "decode_step"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdealConstants:
    """Shares of dense peak that the source documents assume; bandwidth counts in full."""

    prefill_compute_efficiency: float = unstated("prefill_compute_efficiency", "ideal")
    decode_compute_efficiency: float = unstated("decode_compute_efficiency", "ideal")

    def __post_init__(self) -> None:
        for name in ("prefill_compute_efficiency", "decode_compute_efficiency"):
            _check_between(name, getattr(self, name), above=0.0, to=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingConstants:
    """Calibrated constants of one serving engine and version range; times in seconds.

    `kernel_time_scale` multiplies every fixed kernel time, `bandwidth_factor` the bandwidth that weight reads reach,
    `collective_latency_scale` the latency of tensor-parallel all-reduces. `launch_share` is the part of the host's
    launches of a pass with prompts that the engine's compiled code leaves (`constants.launching`), `step_s` and
    `per_sequence_s` the host time of a step, `stream_token_s` of each token sent, divided by the stream interval.

    `server_in_s` is the time from the HTTP server to the scheduler, `prompt_token_s` of it for each prompt token,
    `server_out_s` from the last step to the client, `chunk_s` for each stream that is sent beside it.
    `planned_ahead_steps`: so many steps a request waits more where the next step is planned while one runs.

    `kv_reserved_share_of_output` is the part of a sequence's output that its place in the cache must hold: 0.5 where
    an engine lets sequences grow and evicts (the mean of those running), 1 where a sequence is admitted only if all of
    it fits (TensorRT-LLM's default scheduler, GUARANTEED_NO_EVICT). How much memory the cache gets, and how many
    sequences and tokens a pass may have, is the memory policy's.

    `unshared_kv_reads`: 0 where decode attention reads a KV head once for all its query heads, 1 where it reads it once
    for each (kernels of 2023).

    `amd_kernels_of_2024`: AMD GPUs ran the kernels of mid-2024, not today's. `amd_kernel_time_scale` and
    `amd_per_sequence_s` stand in for their namesakes on AMD GPUs where they are above 0.

    `moe_a2a_backend`: the back end that exchanges activations between ranks that share the experts, "" for the
    engine's own.
    `wide_int4_share`: what products with 4-bit weights reach of their share of the peak (old kernels fall behind 16-bit
    ones at large batches).

    `basis` is `judgement` where no measured row of this engine stands behind the constants: nothing is calibrated then.
    """

    kernel_time_scale: float = unstated("kernel_time_scale")
    bandwidth_factor: float = unstated("bandwidth_factor")
    collective_latency_scale: float = unstated("collective_latency_scale")
    launch_share: float = unstated("launch_share")
    step_s: float = unstated("step_s")
    per_sequence_s: float = unstated("per_sequence_s")
    stream_token_s: float = unstated("stream_token_s")
    server_in_s: float = unstated("server_in_s")
    server_out_s: float = unstated("server_out_s")
    prompt_token_s: float = unstated("prompt_token_s")
    chunk_s: float = unstated("chunk_s")
    planned_ahead_steps: float = unstated("planned_ahead_steps")
    fp8_prefill_attention: bool = bool(unstated("fp8_prefill_attention"))
    kv_reserved_share_of_output: float = unstated("kv_reserved_share_of_output")
    unshared_kv_reads: float = unstated("unshared_kv_reads")
    amd_kernels_of_2024: bool = bool(unstated("amd_kernels_of_2024"))
    amd_kernel_time_scale: float = unstated("amd_kernel_time_scale")
    amd_per_sequence_s: float = unstated("amd_per_sequence_s")
    wide_int4_share: float = unstated("wide_int4_share")
    moe_a2a_backend: str = ""
    basis: Literal["fitted", "judgement"] = "fitted"

    def __post_init__(self) -> None:
        _check_between("kernel_time_scale", self.kernel_time_scale, above=0.0, to=10.0)
        _check_between("bandwidth_factor", self.bandwidth_factor, above=0.0, to=1.0)
        _check_between("wide_int4_share", self.wide_int4_share, above=0.0, to=1.0)
        _check_between("collective_latency_scale", self.collective_latency_scale, above=0.0, to=10.0)
        for name in (
            "launch_share",
            "step_s",
            "per_sequence_s",
            "amd_kernel_time_scale",
            "amd_per_sequence_s",
            "stream_token_s",
            "server_in_s",
            "server_out_s",
            "prompt_token_s",
            "chunk_s",
            "planned_ahead_steps",
        ):
            _check_not_negative(name, getattr(self, name), to=1e15)
        for name in ("kv_reserved_share_of_output", "unshared_kv_reads"):
            _check_not_negative(name, getattr(self, name), to=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaCppConstants:
    """Constants of the llama.cpp class: single stream, layers split over GPUs.

    The share of bandwidth that weight reads reach is `eta / (1 + BW / bw0)`, apart for 16-bit and 4-bit files; with
    `eta_of_kernels` eta multiplies the share that measured 16-bit kernels of the GPU's family reach (not on Apple).
    A prompt reaches `efficiency / (1 + P / prefill_turning_flops_per_s)` of the peak P (0: no turning), and moves
    `prefill_activation_bytes` per token, hidden element and layer besides.
    `prefill_score_bytes` is the traffic of one attention score of a prompt where attention is not one fused kernel.
    `basis` as of `ServingConstants`.
    """

    eta_16bit: float = unstated("eta_16bit", "llama.cpp-b2800")
    bw0_16bit_bytes_per_s: float = unstated("bw0_16bit_bytes_per_s", "llama.cpp-b2800")
    eta_4bit: float = unstated("eta_4bit", "llama.cpp-b2800")
    bw0_4bit_bytes_per_s: float = unstated("bw0_4bit_bytes_per_s", "llama.cpp-b2800")
    layer_s_cuda: float = unstated("layer_s_cuda", "llama.cpp-b2800")
    layer_s_apple: float = unstated("layer_s_apple", "llama.cpp-b2800")
    apple_eta_factor: float = unstated("apple_eta_factor", "llama.cpp-b2800")
    kv_bandwidth_efficiency: float = unstated("kv_bandwidth_efficiency", "llama.cpp-b2800")
    split_hop_s: float = unstated("split_hop_s", "llama.cpp-b2800")
    prefill_layer_s: float = unstated("prefill_layer_s", "llama.cpp-b2800")
    prefill_efficiency_16bit: float = unstated("prefill_efficiency_16bit", "llama.cpp-b2800")
    prefill_efficiency_4bit: float = unstated("prefill_efficiency_4bit", "llama.cpp-b2800")
    apple_prefill_factor: float = unstated("apple_prefill_factor", "llama.cpp-b2800")
    geforce_prefill_factor: float = unstated("geforce_prefill_factor", "llama.cpp-b2800")
    prefill_micro_batch_tokens: int = int(unstated("prefill_micro_batch_tokens", "llama.cpp-b2800"))
    split_prefill_exponent: float = unstated("split_prefill_exponent", "llama.cpp-b2800")
    prefill_score_bytes: float = unstated("prefill_score_bytes", "llama.cpp-b2800")
    prefill_turning_flops_per_s: float = unstated("prefill_turning_flops_per_s", "llama.cpp-b2800")
    prefill_activation_bytes: float = unstated("prefill_activation_bytes", "llama.cpp-b2800")
    eta_of_kernels: bool = bool(unstated("eta_of_kernels", "llama.cpp-b2800"))
    basis: Literal["fitted", "judgement"] = "fitted"

    def __post_init__(self) -> None:
        for name in ("eta_16bit", "eta_4bit", "apple_eta_factor", "kv_bandwidth_efficiency"):
            _check_between(name, getattr(self, name), above=0.0, to=10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineProfile:
    """One serving engine and version range: how it uses memory and how fast it is, with the evidence in words.

    Exactly one of `ideal`, `serving`, `llama_cpp` is set, the one `kind` names. `release` is the one of the range that
    was asked for (None: the newest).
    """

    slug: str
    engine: str
    engine_version: str | None = None
    kind: str
    memory: MemoryPolicy = field(default_factory=MemoryPolicy)
    ideal: IdealConstants | None = None
    serving: ServingConstants | None = None
    llama_cpp: LlamaCppConstants | None = None
    evidence: str = ""
    release: str | None = None

    @property
    def label(self) -> str:
        """What rows and answers call it: the release that was asked for, else the profile."""
        return f"{self.engine}-{self.release}" if self.release else self.slug

    def __post_init__(self) -> None:
        given = [name for name in ("ideal", "serving", "llama_cpp") if getattr(self, name) is not None]
        if given != [self.kind]:
            raise InvalidInputError(
                f"a profile of kind {self.kind!r} needs exactly the constants of that kind", field="engine.kind"
            )


def _check_between(name: str, value: float, *, above: float, to: float) -> None:
    if not above < value <= to:
        raise InvalidInputError(f"{name} must be above {above:g} and at most {to:g}", field=name)


def _check_not_negative(name: str, value: float, *, to: float) -> None:
    if not 0.0 <= value <= to:
        raise InvalidInputError(f"{name} must be at least 0 and at most {to:g}", field=name)
