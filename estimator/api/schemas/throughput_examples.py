"""Worked examples of `estimates/throughput/`."""

from estimator.api.examples import WorkedExample

EXAMPLES = (
    WorkedExample(
        name="closed-loop",
        summary="Llama 3.1 8B on one H100 with 32 requests in flight, vLLM, targets and batch sizes",
        body={
            "model": "llama-3.1-8b",
            "gpu": "h100-sxm5-80gb",
            "engine": "vllm-0.19",
            "precision": {"weights": "bf16", "kv_cache": "bf16"},
            "workload": {
                "mode": "closed_loop",
                "input_tokens": 1000,
                "output_tokens": 500,
                "concurrency": 32,
                "batch_sizes": [1, 8, 32, 128, 512],
            },
            "slo": {"ttft_s": 0.5, "tpot_s": 0.02},
        },
        explain=True,
    ),
    WorkedExample(
        name="ideal-decode-step",
        summary="60 conversations of 8,000 tokens by the source documents' assumptions",
        body={
            "model": {
                "parameters": 8030000000,
                "layers": 32,
                "heads": 32,
                "kv_heads": 8,
                "head_dim": 128,
                "hidden_size": 4096,
            },
            "gpu": {
                "memory_bytes": 80000000000,
                "memory_bandwidth_bytes_per_s": 3.35e12,
                "peak_flops_per_s": {"bf16": 989e12},
            },
            "engine": "ideal",
            "workload": {"mode": "decode_step", "context_tokens": 8000, "concurrency": 60},
        },
        explain=True,
    ),
    WorkedExample(
        name="open-loop-speculative",
        summary="Bursty arrivals, and speculative decoding whose gain reverses with the batch",
        body={
            "model": "llama-3.3-70b-instruct",
            "gpu": "h100-sxm5-80gb",
            "engine": "vllm-0.19",
            "parallelism": {"tp": 4},
            "precision": {"weights": "fp8", "kv_cache": "bf16"},
            "workload": {
                "mode": "open_loop",
                "input_tokens": 1000,
                "output_tokens": 300,
                "requests_per_s": 4.0,
                "burstiness_cv": 3.0,
            },
            "slo": {"ttft_s": 1.0, "percentile": 95},
            "speculative": {"acceptance_rate": 0.7, "draft_tokens": 4, "draft_cost_ratio": 0.05},
        },
    ),
)
