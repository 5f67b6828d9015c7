"""Facts in memory for tests of the resolver: no database."""

from estimator.engine.model.serialise import to_dict
from estimator.engine.reading.inline import architecture_from_shape
from estimator.resolvers import StoredFacts


def gpu_row(slug="h100", **changes):
    return {
        "slug": slug,
        "name": slug.upper(),
        "memory_vendor_bytes": 80_000_000_000,
        "memory_visible_bytes": 85_029_158_912,
        "memory_bandwidth_bytes_per_s": 3.35e12,
        "peak_flops_per_s": {"bf16": 989.4e12, "fp16": 989.4e12, "fp8": 1978.9e12, "int8": 1978.9e12},
        "kernel_family": "hopper",
        "link": "nvlink4",
        "link_bytes_per_s_per_direction": 450e9,
        "scale_up_gpus": 8,
        "devices_per_unit": 1,
        "confidence": "high",
        "sources": {
            "*": {"source": "data sheet", "date": "2026-01-01", "confidence": "high"},
            "memory_visible_bytes": {"source": "start-up log", "date": "2026-02-02", "confidence": "medium"},
        },
        **changes,
    }


def model_row(slug="llama", *, window=8192, **shape):
    sizes = {"layers": 32, "heads": 32, "kv_heads": 8, "hidden_size": 4096, "vocab_size": 128256}
    sizes |= {"intermediate_size": 14336}
    return {
        "slug": slug,
        "name": slug.title(),
        "architecture": to_dict(architecture_from_shape(**(sizes | shape))),
        "context_window_tokens": window,
        "checkpoints": [{"precision": "bf16", "stored_weight_bytes": 16_060_522_496, "source": "files"}],
        "config_sha256": "ab" * 32,
        "source": "config.json",
        "source_date": "2026-03-03",
    }


def engine_row(slug, kind, aliases=(), **constants):
    return {
        "slug": slug,
        "engine": slug.split("-")[0],
        "engine_version": "0.19" if kind == "serving" else "",
        "kind": kind,
        "aliases": list(aliases),
        "memory_policy": {},
        "speed_constants": constants,
        "evidence": "fitted",
        "source_date": "2026-04-04",
    }


def stored_facts():
    a100 = gpu_row("a100", peak_flops_per_s={"bf16": 312e12, "fp16": 312e12, "int8": 624e12}, kernel_family="ampere")
    t4 = gpu_row("t4", peak_flops_per_s={"fp16": 65e12, "int8": 130e12}, kernel_family="turing", scale_up_gpus=1)
    return StoredFacts(
        {
            "gpu": {
                "h100": gpu_row(),
                "a100": a100,
                "t4": t4,
                "tpu": gpu_row("tpu", memory_visible_bytes=None),
                "mi250x": gpu_row("mi250x", devices_per_unit=2),
                "mi250x-gcd": gpu_row("mi250x-gcd"),
            },
            "model": {
                "llama": model_row(),
                "mixtral": model_row("mixtral", experts=8, experts_per_token=2),
            },
            "engine": {
                "vllm-0.19": engine_row("vllm-0.19", "serving", ["vllm"]),
                "ideal": engine_row("ideal", "ideal"),
            },
        },
        catalog_revision=7,
    )
