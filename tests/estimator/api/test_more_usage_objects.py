"""Bills of usage objects that providers return beside text: speech, files, searches; by hand, in dollars."""

import json
from decimal import Decimal

import pytest

from estimator.estimates.month_bill.compute import month_bill
from estimator.estimates.month_bill.read import read_ndjson
from estimator.resolvers.live import current_facts
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db
CASES = {
    # 55·4 + 64·0.4 + 13·32 + 30·16 + 91·64 = 6,965.6 millionths
    "Realtime": (
        "openai-gpt-realtime",
        {"total_tokens": 253, "input_tokens": 132, "output_tokens": 121,
         "input_token_details": {"text_tokens": 119, "audio_tokens": 13, "cached_tokens": 64},
         "output_token_details": {"text_tokens": 30, "audio_tokens": 91}}, "0.0069656",
    ),
    # 27 s at 0.006 a minute
    "transcription by length": ("openai-whisper-1", {"type": "duration", "seconds": 27}, "0.0027"),
    "embedding": ("openai-text-embedding-3-small", {"total_tokens": 100_000}, "0.002"),
    # 14·3 + 294·15 = 4,452 millionths, and 14 for a thousand requests with a high search context
    "Perplexity's search context": (
        "perplexity-sonar-pro",
        {"prompt_tokens": 14, "completion_tokens": 294, "total_tokens": 308, "search_context_size": "high"},
        "0.018452",
    ),
    # its page's own example: 33·2 + 20,016·2 + 73,997·3 + 7,163·8 millionths, 18 searches at 5 for a thousand
    "Perplexity deep research": (
        "perplexity-sonar-deep-research",
        {"prompt_tokens": 33, "completion_tokens": 7163, "total_tokens": 7196, "citation_tokens": 20_016,
         "num_search_queries": 18, "reasoning_tokens": 73_997}, "0.409393",
    ),
    # 100·2 + 50·6 millionths; a collection at 2.50, two searches in attached files at 10 for a thousand
    "xAI's files": (
        "x-ai-grok-4.7",
        {"input_tokens": 100, "output_tokens": 50, "total_tokens": 150, "input_tokens_details": {"cached_tokens": 0},
         "server_side_tool_usage_details": {"file_search_calls": 1, "document_search_calls": 2}}, "0.023",
    ),
    # what was billed, not what was counted: 5·2.5 + 418·10
    "Cohere": (
        "cohere-command-a",
        {"billed_units": {"input_tokens": 5, "output_tokens": 418}, "tokens": {"input_tokens": 71}}, "0.0041925",
    ),
}  # fmt: skip


def test_bills_by_hand_at_the_endpoint_and_in_a_month(client):
    load_shipped_catalog()
    wrong = {}
    for name, (price, usage, total) in CASES.items():
        body = {"api": {"price": price, "on": "2026-09-01", "usage": usage}}
        answer = client.post("/api/v1/estimates/cost/", json.dumps(body), content_type="application/json")
        said = answer.json().get("api", answer.json())
        row = {"model": price, "day": "2026-09-01", "usage": usage}
        month = month_bill(read_ndjson([json.dumps(row)]), current_facts())
        if said.get("total") != total or month.total != Decimal(total) or month.ignored:
            wrong[name] = (said, month)
    assert not wrong
