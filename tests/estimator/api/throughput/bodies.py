"""Settings and a load that questions of speed share."""

SEED_MODEL = {"parameters": 8.03e9, "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128, "hidden_size": 4096}
SEED_GPU = {
    "memory_bytes": 80_000_000_000,
    "memory_bandwidth_bytes_per_s": 3.35e12,
    "peak_flops_per_s": {"bf16": 989e12},
}
REAL = {
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm5-80gb",
    "engine": "vllm-0.19",
    "precision": {"kv_cache": "bf16"},
    "memory": {"utilization": 0.9},
}
CLOSED = {"mode": "closed_loop", "input_tokens": 1000, "output_tokens": 500, "concurrency": 32}
