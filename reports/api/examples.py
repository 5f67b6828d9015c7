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

EXAMPLES: dict[str, dict[str, Any]] = {
    "reports_create": {
        "one-h100": {
            "name": "Llama 3.1 8B on one H100",
            "sweep": SWEEP,
            "slo": {"ttft_s": 1.0, "tpot_s": 0.05},
            "pricing": {"currency": "USD", "price_per_gpu_hour": {"h100-sxm5-80gb": "2.0"}},
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
