"""What a ledger leaves out is said where public logs were apart: towers, trial passes, memory that the host shares."""

import json

import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
TOWERS, TRIAL, SHARED = "peak of the towers", "trial pass", "shares its memory with the host"
CASES = [
    ({"model": "gemma-4-26b-a4b", "gpu": "h100-sxm5-80gb", "engine": "vllm"}, {TOWERS}),
    ({"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm"}, set()),
    ({"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "tensorrt-llm"}, {TRIAL}),
    ({"model": "gpt-oss-120b", "gpu": "gb10-dgx-spark", "engine": "vllm"}, {SHARED}),
    ({"model": "gpt-oss-120b", "gpu": "gb10-dgx-spark", "engine": "llama.cpp"}, set()),
    (
        {"model": "gpt-oss-120b", "gpu": "gb10-dgx-spark", "engine": "vllm",
         "memory": {"kv_cache_tokens_observed": 100_000, "max_model_len": 8192}}, set(),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("question", "said"), CASES, ids=range(len(CASES)))
def test_what_logs_had_less_is_said(client, question, said):
    answer = client.post("/api/v1/estimates/memory-fit/", json.dumps(question), content_type="application/json")
    assert answer.status_code == 200, answer.content
    texts = " ".join([*answer.json()["warnings"], *answer.json()["not_modelled"]])
    assert {word for word in (TOWERS, TRIAL, SHARED) if word in texts} == said
