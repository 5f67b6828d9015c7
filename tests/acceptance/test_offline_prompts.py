"""Offline, a replica computes the prompt of every answer it gives: no rate is above what their products allow."""

import pytest


@pytest.mark.parametrize("engine", ["vllm", "sglang", "ideal"])
@pytest.mark.parametrize("output_tokens", [1, 2, 16, 128, 1000])
def test_no_offline_rate_is_above_the_products_of_its_prompts(ask, engine, output_tokens):
    workload = {"mode": "offline", "input_tokens": 2000, "output_tokens": output_tokens}
    answer = ask(
        "throughput", {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": engine, "workload": workload}
    )
    # The profile ideal counts all parameters at every position; the ceiling is the same for all engines.
    real = ask("throughput", {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm", "workload": workload})
    most = 989.4e12 / real["prefill"]["flops"]
    assert answer["ceiling"]["requests_per_s"] <= most * 1.001
    assert answer["expected"]["requests_per_s"]["high"] <= answer["ceiling"]["requests_per_s"] * (1 + 1e-9)
