"""Answers of providers with usage, many of each kind: what a month's file holds."""

import json
import random

from tests.estimator.month_bill.test_provider_rows import ANTHROPIC, BEDROCK, DAY, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES

PLAIN = {"model": "claude-opus-5-5", "day": DAY, "input_tokens": 21_000, "cache_read_tokens": 20_000}
KINDS = (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI, BEDROCK, PLAIN)
# Each grows together with the total that its provider states.
ASKED = ("prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens")
SAID = ("completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens")
TOTALS = ("total_tokens", "totalTokens", "totalTokenCount")


def answer(kind, chance):
    """One answer of a kind with counts and a time of its own."""
    row = json.loads(json.dumps(kind))
    for name in ("created", "created_at"):
        if name in row:
            row[name] += chance.randrange(80_000)
    usage = row.get("usage") or row.get("usageMetadata") or row
    for names, most in ((ASKED, 400_000), (SAID, 2000)):
        more = chance.randrange(most)
        for name in (*(name for name in names if name in usage), *(name for name in TOTALS if name in usage)):
            usage[name] += more
    details = usage.get("prompt_tokens_details")
    if details and chance.random() < 0.3:
        details["cached_tokens"] = 0
    return row


def answers(count, seed=1):
    """Answers of all kinds in turn."""
    chance = random.Random(seed)
    return [answer(KINDS[number % len(KINDS)], chance) for number in range(count)]
