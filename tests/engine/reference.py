"""The reference constants and golden cases of the founders, read into engine values (skips where they are absent)."""

import json
from typing import Any

from estimator.engine.specs import Gpu, Parallelism, Precision, ServingConstants
from tests.shared_data import shared_dir

_MEMORY = ("memory_reserve_gib", "memory_utilization", "max_num_seqs", "max_batched_tokens")
_TENSORRT = ("tensorrt-llm-1", "trtllm-bench", "nim", "tensorrt-llm-0", "tensorrt-llm-0-2024")


def reference_constants() -> dict[str, Any]:
    return json.loads((shared_dir() / "design" / "engine_constants.json").read_text())


def golden_cases() -> list[dict[str, Any]]:
    return json.loads((shared_dir() / "design" / "engine_golden.json").read_text())


# Constants of the founders' loop, which launch settings and traffic replaced.
_LOOP = ("prefill_floor_s_per_layer", "ttft0_s", "burst_weight_w")


def serving_constants(slug: str) -> ServingConstants:
    values = {name: value for name, value in _engine(slug).items() if name not in (*_MEMORY, *_LOOP)}
    return ServingConstants(**values, fp8_prefill_attention=slug in _TENSORRT)


def prefill_floor_s_per_layer(slug: str) -> float:
    """What the founders' prefill took at least for each layer."""
    return float(_engine(slug).get("prefill_floor_s_per_layer", 0.0003))


def memory_setting(slug: str, name: str) -> float:
    """A setting of the reference that belongs to the memory policy here: share of memory, sequences at once."""
    return float(_engine(slug).get(name, {"memory_utilization": 0.9, "max_num_seqs": 2048}[name]))


def _engine(slug: str) -> dict[str, Any]:
    values: dict[str, Any] = reference_constants()["engines"][slug]
    return values


def golden_gpu(inputs: dict[str, Any]) -> Gpu:
    hardware = inputs["hardware"]
    peaks = {name: hardware[f"peak_{name}"] for name in ("bf16", "fp8", "fp4")}
    return Gpu(
        slug=inputs["gpu"],
        memory_bytes=int(hardware["memory_bytes"]),
        memory_bandwidth_bytes_per_s=hardware["memory_bandwidth_bytes_per_s"],
        peak_flops_per_s={name: peak for name, peak in peaks.items() if peak},
        kernel_family=hardware["family"],
        link=hardware["link"],
    )


def golden_precision(inputs: dict[str, Any]) -> Precision:
    return Precision(
        weights=inputs.get("da", "bf16"),
        kv_cache="fp8" if inputs.get("kvb") == 1.0 else "bf16",
        expert_weights=inputs.get("dx"),
    )


def golden_parallelism(inputs: dict[str, Any]) -> Parallelism:
    return Parallelism(**{name: inputs.get(name, 1) for name in ("tp", "pp", "ep", "dp")})
