"""A batch that starts together: one alone is one stream, and none has its first token before its prompt is through."""

import pytest

PLANS = [
    {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm"},
    {"model": "qwen3-30b-a3b", "gpu": "h100-sxm5-80gb", "engine": "sglang"},
    {"model": "llama-3.1-70b", "gpu": "a100-sxm4-80gb", "engine": "tensorrt-llm", "parallelism": {"tp": 8}},
]
LENGTHS = [(1, 2), (16, 16), (128, 128), (2000, 16), (20000, 300)]


@pytest.fixture
def speed(ask):
    def post(plan, input_tokens, output_tokens, mode, **load):
        workload = {"mode": mode, "input_tokens": input_tokens, "output_tokens": output_tokens, **load}
        return ask("throughput", {**plan, "workload": workload})

    return post


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan["model"])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
class TestStaticBatch:
    def test_a_batch_of_one_is_one_stream(self, speed, plan, lengths):
        alone = speed(plan, *lengths, "single_stream")["expected"]
        batch = speed(plan, *lengths, "static_batch", concurrency=1)["expected"]
        for name in ("ttft_s", "e2e_s", "tokens_per_s_total"):
            assert batch[name]["mid"] == pytest.approx(alone[name]["mid"], rel=1e-3), name

    @pytest.mark.parametrize("sequences", [1, 2, 8, 64])
    def test_first_tokens_come_after_a_prompt(self, speed, plan, lengths, sequences):
        answer = speed(plan, *lengths, "static_batch", concurrency=sequences)
        assert answer["expected"]["ttft_s"]["mid"] >= answer["prefill"]["prefill_s"] * (1 - 1e-9)
        assert answer["time_breakdown_s"]["waiting"] >= -1e-9

    def test_more_sequences_take_longer_and_yield_more(self, speed, plan, lengths):
        answers = [speed(plan, *lengths, "static_batch", concurrency=n)["expected"] for n in (1, 2, 4, 8, 16, 32)]
        times = [answer["e2e_s"]["mid"] for answer in answers]
        rates = [answer["tokens_per_s_total"]["mid"] for answer in answers]
        assert times == sorted(times)
        assert rates == sorted(rates)
