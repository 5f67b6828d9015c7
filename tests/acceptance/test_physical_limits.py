"""Rates that the products of their own prompts would not allow are never promised, in any mode or engine."""

import pytest

# Llama 3.1 8B multiplies 6.98e9 weights (all but the token table and, for the last position only, the head) by each
# prompt token: 2 · 6.98e9 · 1,000 = 1.396e13 FLOPs, attention 4 · 32 · 4,096 · 1,000 · 1,001 / 2 = 2.6e11 more; an
# H100 SXM has 989.4e12 bf16 FLOP/s: 69.6 prompts a second and no more.
MOST_PROMPTS_PER_S = 69.6


def plan(engine: str, **workload) -> dict:
    return {
        "model": "llama-3.1-8b",
        "gpu": "h100-sxm5-80gb",
        "engine": engine,
        "precision": {"weights": "bf16"},
        "workload": {"input_tokens": 1000, **workload},
    }


@pytest.mark.parametrize("engine", ["vllm-0.19", "sglang-0.5", "tensorrt-llm-1", "ideal"])
@pytest.mark.parametrize("concurrency", [1, 8, 64, 256])
@pytest.mark.parametrize("output_tokens", [1, 2, 4])
@pytest.mark.parametrize("mode", ["closed_loop", "static_batch"])
def test_a_replica_answers_no_more_prompts_than_it_can_multiply(ask, engine, mode, concurrency, output_tokens):
    answer = ask("throughput", plan(engine, mode=mode, concurrency=concurrency, output_tokens=output_tokens))
    assert answer["ceiling"]["requests_per_s"] <= MOST_PROMPTS_PER_S
    assert answer["expected"]["requests_per_s"]["high"] <= answer["ceiling"]["requests_per_s"] * (1 + 1e-12)


@pytest.mark.parametrize("engine", ["vllm-0.19", "ideal"])
@pytest.mark.parametrize("output_tokens", [1, 2, 4])
def test_nor_under_arrivals_and_a_rate_above_it_makes_the_queue_grow(ask, engine, output_tokens):
    answer = ask("throughput", plan(engine, mode="open_loop", requests_per_s=70, output_tokens=output_tokens))
    assert answer["ceiling"]["requests_per_s"] <= MOST_PROMPTS_PER_S
    assert answer["expected"]["reason"] == "queue_grows"
    assert answer["expected"]["requests_per_s"]["high"] <= answer["ceiling"]["requests_per_s"] * (1 + 1e-12)


def test_the_highest_rate_within_targets_is_one_that_the_replica_can_serve(ask):
    body = plan("vllm-0.19", mode="open_loop", requests_per_s=1, output_tokens=1) | {"slo": {"ttft_s": 10}}
    best = ask("throughput", body)["expected"]["max_requests_per_s_within_slo"]
    assert 0 < best["low"] <= best["mid"] <= best["high"] <= MOST_PROMPTS_PER_S


def test_answers_of_one_token_are_as_many_as_prefill_alone_allows(ask):
    """With nothing to decode, 64 in flight are served at the pace of packed prompts, each waiting its turn."""
    answer = ask("throughput", plan("vllm-0.19", mode="closed_loop", concurrency=64, output_tokens=1))
    rate, wait = answer["expected"]["requests_per_s"]["mid"], answer["expected"]["e2e_s"]["mid"]
    assert rate > 0.4 * MOST_PROMPTS_PER_S
    assert wait == pytest.approx(64 / rate)  # Little's law
