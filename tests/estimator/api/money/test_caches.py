"""Cached prompts asked over REST, each cost worked out by hand beside the question; sums per million tokens."""

import pytest

from tests.estimator.api.money.bodies import EVERY_MINUTE, FLASH, GROK, HAIKU, OPUS, PRO, STATED, cached, lengths

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]


def at(*times_s):
    return {"kind": "recorded", "times_s": list(times_s)}


FIXED = {"ttls_s": [300], "refresh_on_hit": False}
CACHES = {
    # all hit: 20,000·0.2 + 1,000·4 + 500·20
    "every minute, five minutes of life": (cached(OPUS, EVERY_MINUTE, ttl_s=300), "0.018"),
    # batch on top: 20,000·0.1 + 1,000·2 + 500·10
    "batch on top of the cache": (cached(OPUS, EVERY_MINUTE, channel="batch", ttl_s=300), "0.009"),
    # a gap as long as the life finds nothing: 20,000·5 + 14,000
    "gaps as long as the life": (cached(STATED, {"kind": "regular", "requests_per_hour": 12}, ttl_s=300), "0.114"),
    # miss, hit, hit, miss: 20,000·(0.5·0.2 + 0.5·5) + 14,000
    "a record with a pause": (cached(STATED, at(0, 100, 200, 5000), ttl_s=300), "0.066"),
    # fixed life from the write: write, hit, write, hit
    "a fixed life is not renewed": (cached(STATED, at(0, 200, 400, 600), policy=FIXED), "0.066"),
    # renewed by every hit: one write, three hits: 20,000·(0.75·0.2 + 0.25·5) + 14,000
    "a life renewed by hits": (cached(STATED, at(0, 200, 400, 600), ttl_s=300), "0.042"),
    # an hour of sixty requests begins cold: 20,000·(59/60·0.2 + 1/60·5) + 14,000
    "the first request of a campaign is cold": (cached(STATED, EVERY_MINUTE, ttl_s=300, horizon_s=3600), "0.0196"),
    # OpenAI caches steps of 128: 15·128 = 1,920·1.25 + 80·2.5 + 100·2.5 + 50·10
    "steps of 128 tokens": (cached("openai/gpt-4o", EVERY_MINUTE, lengths(2000, 100, 50)), "0.00335"),
    # 1,024 are cached whole: 1,024·1.25
    "the shortest prefix that is cached": (cached("openai/gpt-4o", EVERY_MINUTE, lengths(1024)), "0.00128"),
    # 1,023 are not: 1,023·2.5
    "a token less": (cached("openai/gpt-4o", EVERY_MINUTE, lengths(1023)), "0.0025575"),
    # 78·128 = 9,984·0.5 + 16·2
    "xAI's steps": (cached(GROK, EVERY_MINUTE, lengths(10_000)), "0.005024"),
    # 78·256 = 19,968·0.3 + 32·3
    "Kimi's steps of 256": (cached("moonshotai/kimi-k3", EVERY_MINUTE, lengths(20_000), ttl_s=300), "0.0060864"),
    # the cache object costs 1.00 a million and hour, ten requests share it: 100,000·(0.03 + 0.1) + 1,000·0.3 + 100·2.5
    "Gemini's storage by the hour": (
        cached(FLASH, {"requests_per_hour": 10}, lengths(100_000, 1000, 100), policy="google-explicit-flash"),
        "0.01355",
    ),
    # above 200,000: 300,000·(0.25 + 4.5/20) + 1,000·2.5 + 500·15
    "Gemini's storage of a long prompt": (
        cached(PRO, {"requests_per_hour": 20}, lengths(300_000, 1000, 500), policy="google-explicit"), "0.1525"
    ),
    # in September 2025 reads cost 0.3125: 100,000·(0.3125 + 4.5/20) + 1,000·1.25 + 500·10
    "Gemini's storage in 2025": (
        cached(PRO, {"requests_per_hour": 20}, lengths(100_000, 1000, 500), on="2025-09-15", policy="google-explicit"),
        "0.06",
    ),
    # 99,500 cached + 501: in the tier above 100,000, 99,500·0.05 + 501·0.5
    "cached tokens lift the tier": (cached(HAIKU, EVERY_MINUTE, lengths(99_500, 501), ttl_s=300), "0.0052255"),
    # Qwen's explicit cache: 20,000·0.25 + 1,000·2.5 + 500·7.5
    "Qwen's explicit cache": (cached("alibaba/qwen3.7-max", EVERY_MINUTE), "0.01125"),
    # turn 1 writes 8,300·5 + 400·20; turn 2 reads 8,300·0.2, writes 700·5, answers 8,000: 49,500 + 13,160
    "two turns of a conversation": (
        cached(STATED, EVERY_MINUTE, {"prefix_tokens": 8000}, turns=[{"input_tokens": 300, "output_tokens": 400}] * 2,
               ttl_s=300), "0.06266"
    ),
}  # fmt: skip


@pytest.mark.parametrize("question", CACHES)
def test_a_cached_prompt_costs_what_the_providers_rules_say(ask, question):
    body, cost = CACHES[question]
    assert ask("prompt-cache", body)["cost_with"] == cost


def test_the_worth_of_a_better_order_is_the_saving_it_would_bring(ask):
    answer = ask("prompt-cache", cached(STATED, EVERY_MINUTE, ttl_s=300, variable_part_first=True))
    # 21,000·4 + 500·20 = 94,000 as it is; 18,000 with the shared part first
    assert (answer["cost_with"], answer["saving"], answer["reordering_worth"]) == ("0.094", "0", "0.076")


def test_reads_that_pay_for_a_write(ask):
    rows = ask("prompt-cache", cached(OPUS, EVERY_MINUTE))["by_ttl"]
    # (1.25 − 1) / (1 − 0.05) = 0.263 and (2 − 1) / (1 − 0.05) = 1.053
    assert [row["break_even"]["reads_per_write"] for row in rows] == pytest.approx([0.2631579, 1.0526316])
    assert [row["break_even"]["reads_per_write_whole"] for row in rows] == [1, 2]


def test_requests_that_pay_for_storage(ask):
    body = cached(FLASH, {"requests_per_hour": 10}, lengths(100_000), policy="google-explicit-flash")
    # 1.00 / (0.3 − 0.03)
    assert ask("prompt-cache", body)["break_even"]["requests_per_hour"] == pytest.approx(3.7037037)


def test_caches_that_do_not_share_entries_divide_the_rate(ask):
    answer = ask("prompt-cache", cached(STATED, {"requests_per_hour": 120}, ttl_s=300, shards=4))
    # r/n = 30 an hour: h = 1 − e^−2.5 = 0.917915; 20,000·(0.183583 + 0.410425) + 14,000
    assert answer["hit_probability"] == pytest.approx(0.917915, abs=1e-6)
    assert float(answer["cost_with"]) == pytest.approx(0.02588016, abs=1e-7)


def test_a_prompt_without_an_answer_needs_no_price_of_answers(ask):
    price = {"currency": "USD", "meters": {"input": "3", "cache_read": "0.3"}}
    assert ask("prompt-cache", cached(price, EVERY_MINUTE, lengths(5000), ttl_s=300))["cost_with"] == "0.0015"
    ask("prompt-cache", cached(price, EVERY_MINUTE, lengths(5000, 0, 1), ttl_s=300), 422)
