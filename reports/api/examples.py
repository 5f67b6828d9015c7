"""Worked request bodies shown in the schema; a test sends each of them."""

from typing import Any

SWEEP: dict[str, Any] = {
    "models": ["llama-3.1-8b"],
    "gpus": ["h100-sxm5-80gb"],
    "engines": ["vllm"],
    "precisions": [{"weights": "bf16", "kv_cache": "bf16"}],
    "parallelism": [{"tp": 1}],
    "workloads": [{"name": "chat", "input_tokens": 1000, "output_tokens": 300}],
    "batch_sizes": {"from": 1, "to": 256, "scale": "powers_of_two"},
}

OUR_CARD: dict[str, Any] = {
    "name": "our card",
    "memory_bytes": 96_000_000_000,
    "memory_bandwidth_bytes_per_s": 4.0e12,
    "peak_flops_per_s": {"bf16": 9.0e14, "fp8": 1.8e15},
    "kernel_family": "hopper",
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "reports_create": {
        "one-h100": {
            "name": "Llama 3.1 8B on one H100",
            "sweep": SWEEP,
            "slo": {"ttft_s": 1.0, "tpot_s": 0.05},
            "pricing": {"currency": "USD", "price_per_gpu_hour": {"h100-sxm5-80gb": "2.0"}},
        },
        "arrivals-and-our-own": {
            "name": "Arrivals on our own card",
            "sweep": {
                "models": ["llama-3.1-8b"],
                "gpus": ["h100-sxm5-80gb", OUR_CARD],
                "engines": ["vllm", {"slug": "vllm", "memory": {"utilization": 0.95, "max_num_seqs": 512}}],
                "precisions": [{"weights": "fp8", "kv_cache": "fp8"}],
                "workloads": [
                    {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 300, "requests_per_s": [1, 4, 16]},
                    {"mode": "offline", "input_tokens": 1000, "output_tokens": 300},
                ],
            },
            "slo": {"ttft_s": 2.0, "percentile": 99},
            "pricing": {"currency": "USD", "price_per_gpu_hour": {"h100-sxm5-80gb": "2.0", "our card": "1.6"}},
        },
        "what-fits": {"name": "Up to what fits", "sweep": SWEEP | {"batch_sizes": "max"}},
    },
    "reports_change": {"rename": {"name": "H100 capacity, autumn", "tags": ["h100", "chat"]}},
    "versions_create": {"todays-catalog": {}, "other-targets": {"slo": {"tpot_s": 0.03, "band_side": "mid"}}},
    "versions_recost": {
        "given-price": {"pricing": {"currency": "USD", "price_per_gpu_hour": {"h100-sxm5-80gb": "1.75"}}},
    },
    "versions_links_create": {"html-for-a-week": {"format": "html", "expires_in_days": 7}},
    "reports_schedule_set": {"every-week": {"period": "weekly"}},
}


def of(operation_id: str) -> dict[str, Any]:
    """The bodies of an operation by name."""
    return EXAMPLES.get(operation_id, {})
