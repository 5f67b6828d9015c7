"""Money asked over REST as a stranger would, each answer worked out by hand beside the question.

Sums are per million tokens unless said otherwise; prices are those of the catalog on the day asked about.
"""

import csv
import datetime
from decimal import Decimal

import orjson
import pytest

from catalog.services import price_sources

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
DAY = "2026-11-29"
FRIDAY = "2026-11-27T"
OPUS, HAIKU, GPT = "anthropic/claude-opus-5-5", "anthropic/claude-haiku-5-5", "openai/gpt-5"
SOL, FLASH, PRO = "openai/gpt-6.1-sol", "google/gemini-2.5-flash", "google/gemini-2.5-pro"
DEEPSEEK, GROK = "deepseek/deepseek-v4-pro", "x-ai/grok-4.7"


@pytest.fixture
def ask(client):
    def send(slug, body, status=200):
        path = f"/api/v1/estimates/{slug}/"
        response = client.post(path, orjson.dumps(body), content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()

    return send


def bill(price, usage, **more):
    """An `api` part; counts by their short names."""
    keys = {f"{name}_tokens" if name in _TOKENS else name: count for name, count in usage.items()}
    when = {} if "at" in more or "on" in more else {"on": DAY}
    return {"api": {"price": price, "usage": keys} | when | more}


_TOKENS = {
    "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "cache_write_1800s", "cache_write_43200s",
    "reasoning", "input_audio", "output_audio", "cache_read_audio", "input_image",
}  # fmt: skip
ANTHROPIC = {"input": 1200, "cache_read": 10_000, "cache_write_5m": 2000, "cache_write_1h": 800, "output": 600}
OPENAI = {"input": 10_000, "cache_read": 8192, "output": 1500, "reasoning": 1000}
INCLUSIVE = {"usage_convention": "inclusive"}
SEEK = {"input": 1000, "cache_read": 9000, "output": 500}
FLAT = {"currency": "USD", "meters": {"input": "3", "output": "15"}}

BILLS = {
    # Anthropic: 1,200·4 + 10,000·0.2 + 2,000·5 + 800·8 + 600·20 = 4,800 + 2,000 + 10,000 + 6,400 + 12,000
    "writes of both lives": (bill(OPUS, ANTHROPIC), "0.0352"),
    # every meter at half price
    "batch halves all token meters": (bill(OPUS, ANTHROPIC, channel="batch"), "0.0176"),
    # + 3 searches at 10 per thousand, which batch does not discount
    "batch searches cost as ever": (bill(OPUS, ANTHROPIC | {"web_searches": 3}, channel="batch"), "0.0476"),
    # prompt 100,000, not above the threshold: 90,000·0.1 + 10,000·0.01 + 1,000·0.5
    "at a threshold of above": (bill(HAIKU, {"input": 90_000, "cache_read": 10_000, "output": 1000}), "0.0096"),
    # one token more, every meter dearer: 90,001·0.5 + 10,000·0.05 + 1,000·2.5
    "a token above it": (bill(HAIKU, {"input": 90_001, "cache_read": 10_000, "output": 1000}), "0.0480005"),
    # OpenAI's counts hold one another: 1,808·1.25 + 8,192·0.125 + 500·10 + 1,000·10 = 2,260 + 1,024 + 5,000 + 10,000
    "cached and reasoning tokens as OpenAI counts them": (bill(GPT, OPENAI, **INCLUSIVE), "0.018284"),
    # 1,000·2 + 20,000·0.1 + 5,000·2.5 + 300·10
    "a write for thirty minutes": (
        bill(SOL, {"input": 1000, "cache_read": 20_000, "cache_write_1800s": 5000, "output": 300}), "0.0195"
    ),
    # the write at 5 instead of 2.5
    "a write for twelve hours": (
        bill(SOL, {"input": 1000, "cache_read": 20_000, "cache_write_43200s": 5000, "output": 300}), "0.032"
    ),
    # 272,000·5 + 1,000·30; the long tier begins above
    "gpt-5.5 at 272,000": (bill("openai/gpt-5.5", {"input": 272_000, "output": 1000}), "1.39"),
    # 272,001·10 + 1,000·45
    "gpt-5.5 at 272,001": (bill("openai/gpt-5.5", {"input": 272_001, "output": 1000}), "2.76501"),
    # 1,000·1.25 + 8,000·1.25 + 200·5: gpt-4o's batch keeps the price of cached tokens
    "batch with the cached price kept": (
        bill("openai/gpt-4o", {"input": 1000, "cache_read": 8000, "output": 200}, channel="batch"), "0.01225"
    ),
    # 200·2.5 + 1,000·40 + 300·80
    "audio in and out": (
        bill("openai/gpt-4o-audio-preview", {"input": 200, "input_audio": 1000, "output_audio": 300}), "0.0645"
    ),
    "the same counted with the audio inside": (
        bill("openai/gpt-4o-audio-preview",
             {"input": 1200, "input_audio": 1000, "output": 300, "output_audio": 300}, **INCLUSIVE), "0.0645"
    ),
    # 1,000·0.3 + 50,000·0.03 + 200·1 + (300 + 700)·2.5
    "Gemini with audio, cache and thoughts": (
        bill(FLASH, {"input": 51_200, "cache_read": 50_000, "input_audio": 200, "output": 1000, "reasoning": 700},
             **INCLUSIVE), "0.0045"
    ),
    # cached audio 500·0.1, cached text 500·0.03, fresh audio 200·1, fresh text 300·0.3: 50 + 15 + 200 + 90
    "cached audio is inside the cache and inside the audio": (
        bill(FLASH, {"input": 1500, "cache_read": 1000, "input_audio": 700, "cache_read_audio": 500}, **INCLUSIVE),
        "0.000355",
    ),
    # 100,000 tokens kept for 3 h: 0.3 M·h at 4.50; + 100,000·0.125 + 1,000·1.25 + 500·10
    "storage of an explicit cache": (
        bill(PRO, {"input": 1000, "cache_read": 100_000, "cache_storage_token_hours": 300_000, "output": 500}),
        "1.36875",
    ),
    # 1,000·1.25 + 199,000·0.125 + 500·10
    "Gemini at 200,000": (bill(PRO, {"input": 1000, "cache_read": 199_000, "output": 500}), "0.031125"),
    # 1,000·2.5 + 250,000·0.25 + 500·15: cached tokens count for the tier
    "Gemini above 200,000 by its cached tokens": (
        bill(PRO, {"input": 1000, "cache_read": 250_000, "output": 500}), "0.0725"
    ),
    # September 2025 (C03): 5,005·2.5 + 257,955·0.625 + 1,744·15
    "Gemini's cached tokens of 2025": (
        bill(PRO, {"input": 262_960, "cache_read": 257_955, "output": 1744}, on="2025-09-15", **INCLUSIVE),
        "0.199894375",
    ),
    # 5,005·2.5 + 257,955·0.25 + 1,744·15 a year later
    "the same today": (
        bill(PRO, {"input": 262_960, "cache_read": 257_955, "output": 1744}, **INCLUSIVE), "0.10316125"
    ),
    # 1,000·0.66 + 9,000·0.022 + 500·1.98
    "DeepSeek between its peaks": (bill(DEEPSEEK, SEEK, at=f"{FRIDAY}05:00:00Z"), "0.001848"),
    "DeepSeek at its peak, double": (bill(DEEPSEEK, SEEK, at=f"{FRIDAY}02:00:00Z"), "0.003696"),
    "the last second of the peak": (bill(DEEPSEEK, SEEK, at=f"{FRIDAY}09:59:59Z"), "0.003696"),
    "the end of the peak is outside": (bill(DEEPSEEK, SEEK, at=f"{FRIDAY}10:00:00Z"), "0.001848"),
    "ten in Shanghai is two in UTC": (bill(DEEPSEEK, SEEK, at=f"{FRIDAY}10:00:00+08:00"), "0.003696"),
    "Saturdays have no peak": (bill(DEEPSEEK, SEEK, at="2026-11-28T02:00:00Z"), "0.001848"),
    "a bare date is off the peak": (bill(DEEPSEEK, SEEK), "0.001848"),
    # xAI's tier begins AT 200,000: 199,999·2 + 1,000·6
    "xAI a token below": (bill(GROK, {"input": 199_999, "output": 1000}), "0.405998"),
    # 200,000·4 + 1,000·12
    "xAI at the threshold": (bill(GROK, {"input": 200_000, "output": 1000}), "0.812"),
    # 1,000·2.5 + 10,000·0.25 + 5,000·3.125 + 400·7.5
    "Qwen with marks": (
        bill("alibaba/qwen3.7-max", {"input": 1000, "cache_read": 10_000, "cache_write_5m": 5000, "output": 400}),
        "0.023625",
    ),
    # 1,000·3 + 20,000·0.3 + 2,000·3 + 2,000·6 + 500·15
    "Kimi writes at two prices": (
        bill("moonshotai/kimi-k3", {"input": 1000, "cache_read": 20_000, "cache_write_5m": 2000,
                                    "cache_write_1h": 2000, "output": 500}), "0.0345"
    ),
    # 5,000·0.8 + 20,000·0.2 + 100·3.2
    "Nova on Bedrock": (
        bill("aws/amazon.nova-pro-v1:0", {"input": 5000, "cache_read": 20_000, "output": 100}), "0.00832"
    ),
    # 1,000·0.75 + 100·3.75, and from 2027 on 1,000·1.5 + 100·7.5
    "the last day of a price": (
        bill("google/gemini-3.8-flash", {"input": 1000, "output": 100}, on="2026-12-31"), "0.001125"
    ),
    "the first day of the next": (
        bill("google/gemini-3.8-flash", {"input": 1000, "output": 100}, on="2027-01-01"), "0.00225"
    ),
    # 10^9 requests of 1,000 and 200 tokens: 10^12 · 4/10^6 + 2·10^11 · 20/10^6
    "a trillion tokens a month": (bill(OPUS, {"input": 1000, "output": 200}, requests=10**9), "8000000"),
    "no traffic": (bill(OPUS, {"input": 1000, "output": 200}, requests=0), "0"),
    "no tokens": (bill(OPUS, {"input": 0}), "0"),
    # 10^-12 a million: one token is 10^-18
    "the smallest price of all": (
        bill({"currency": "USD", "meters": {"input": "0.000000000001"}}, {"input": 1}), "0.000000000000000001"
    ),
    "an explicit zero is a price": (
        bill({"currency": "USD", "meters": {"input": "0", "output": "10"}}, {"input": 10**9, "output": 100}), "0.001"
    ),
    # a mean of 921.6 tokens at 3
    "a mean is no whole number of tokens": (bill(FLAT, {"input": 921.6}), "0.0027648"),
    # 0.1 + 0.2 in binary would not be 0.3: 100,000·1 + 200,000·1
    "decimals are exact": (
        bill({"currency": "USD", "meters": {"input": "1", "output": "1"}}, {"input": 1e5, "output": 2e5}), "0.3"
    ),
}  # fmt: skip


# Prices that only the imported package holds.
IMPORTED = {
    # 8 / 0.4 / 10 / 16 / 40: twice the standard
    "fast mode": (bill(OPUS, ANTHROPIC, channel="fast"), "0.0704"),
    "the same over flex, half": (bill(GPT, OPENAI, channel="flex", **INCLUSIVE), "0.009142"),
    "the same with priority, double": (bill(GPT, OPENAI, channel="priority", **INCLUSIVE), "0.036568"),
    # the flat price of before 17 August: 1,000·0.435 + 9,000·0.003625 + 500·0.87 = 435 + 32.625 + 435
    "DeepSeek in July had no peak": (bill(DEEPSEEK, SEEK, at="2026-07-01T02:00:00Z"), "0.000902625"),
    # (2,000·3 + 500·15) / 10^6 + 6 / 1,000 for the request itself at the default search context, low; 14 at high
    "a fee for each request": (bill("perplexity/sonar-pro", {"input": 2000, "output": 500}), "0.0195"),
    "a thousand of them at high search context": (
        bill("perplexity/sonar-pro", {"input": 2000, "output": 500}, requests=1000, search_context_size="high"), "27.5"
    ),
    # 90 minutes of 0.111 an hour
    "transcription by the hour": (bill("groq/whisper-large-v3", {"audio_seconds": 5400}), "0.1665"),
    # 3·0.00012 + 10·0.00079 + 60·0.00016 + 1,000·0.2/10^6
    "images, frames and seconds": (
        bill("google/gemini-embedding-2", {"images": 3, "video_frames": 10, "audio_seconds": 60, "input": 1000}),
        "0.01806",
    ),
}  # fmt: skip


@pytest.mark.parametrize("question", BILLS)
def test_an_invoice_is_right_to_the_last_decimal_and_its_lines_add_up(ask, question):
    body, total = BILLS[question]
    check(ask("cost", body)["api"], total)


def test_so_are_those_at_imported_prices(ask):
    price_sources.apply(price_sources.plan_genai_prices(observed_on=datetime.date(2026, 11, 29)))
    for body, total in IMPORTED.values():
        check(ask("cost", body)["api"], total)


def check(api, total):
    assert api["total"] == total
    rows = list(csv.DictReader(api["lines_csv"].splitlines()))
    assert [row["meter"] for row in rows] == [line["meter"] for line in api["lines"]]
    assert sum((Decimal(row["amount"]) for row in rows), start=Decimal(0)) == Decimal(total)
    assert {row["currency"] for row in rows} <= {api["currency"]}


def test_a_bare_date_says_that_some_hours_cost_more(ask):
    assert any("hours of the day" in text for text in ask("cost", bill(DEEPSEEK, SEEK))["warnings"])


def test_an_invoice_in_another_currency_stays_in_it(ask):
    api = ask("cost", bill({"currency": "EUR", "meters": {"input": "2"}}, {"input": 1500}))["api"]
    assert (api["currency"], api["total"]) == ("EUR", "0.003")
    assert api["lines_csv"].splitlines()[1].split(",")[5] == "EUR"


def test_writes_that_a_provider_does_not_sell_are_unpriced_and_never_free(ask):
    usage = {"input": 1000, "cache_write_5m": 1000}
    problem = ask("cost", bill(GPT, usage), 422)
    assert (problem["type"], problem["meter"]) == ("urn:aforo:problem:unpriced-meter", "cache_write_5m")
    api = ask("cost", bill(GPT, usage, partial=True))["api"]
    assert (api["total"], api["priced_total"]) == (None, "0.00125")
    assert "cache_write_5m" in api["reason"]


EVERY_MINUTE = {"kind": "regular", "requests_per_hour": 60}
LENGTHS = {"prefix_tokens": 20_000, "suffix_tokens": 1000, "output_tokens": 500}
STATED = {"currency": "USD", "meters": {"input": "4", "output": "20", "cache_read": "0.2", "cache_write_5m": "5"}}


def cached(price, arrivals, lengths=LENGTHS, on=DAY, channel="standard", **more):
    part = {"price": price, "channel": channel} | ({"on": on} if isinstance(price, str) else {})
    return {"api": part, "arrivals": arrivals, **lengths, **more}


def lengths(prefix, suffix=0, output=0):
    return {"prefix_tokens": prefix, "suffix_tokens": suffix, "output_tokens": output}


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


HOURLY = {"price_per_gpu_hour": "3.60", "currency": "USD", "tokens_per_s_output": 1000}
MIX = HOURLY | {"workload": {"input_tokens": 1000, "output_tokens": 200}}
HOSTED = {
    # 2.50 / (700·3,600) · 10^6
    "full": ({"price_per_gpu_hour": "2.50", "currency": "USD", "tokens_per_s_output": 700}, "cost_per_mtok_output",
             "0.992063492"),
    "a tenth busy": ({"price_per_gpu_hour": "2.50", "currency": "USD", "tokens_per_s_output": 700,
                      "load_fraction": 0.1}, "cost_per_mtok_output", "9.92063492"),
    # held all month whatever the load: 2.50·730
    "the month of an idle GPU": ({"price_per_gpu_hour": "2.50", "currency": "USD", "tokens_per_s_output": 700,
                                  "load_fraction": 0.1}, "cost_per_month", "1825"),
    # 8 · 3 = 24 an hour; 24 / (5,000·3,600·0.5) · 10^6
    "a node half busy": ({"price_per_gpu_hour": "3", "currency": "USD", "gpus": 8, "tokens_per_s_output": 5000,
                          "load_fraction": 0.5}, "cost_per_mtok_output", "2.66666667"),
    # billed a quarter of 730 h at 4
    "scaled to zero": ({"price_per_gpu_hour": "4", "currency": "USD", "billing": "scale_to_zero",
                        "tokens_per_s_output": 1000, "load_fraction": 0.25}, "cost_per_month", "730"),
    "scaled to zero, a million tokens": ({"price_per_gpu_hour": "4", "currency": "USD", "billing": "scale_to_zero",
                                          "tokens_per_s_output": 1000, "load_fraction": 0.25},
                                         "cost_per_mtok_output", "1.11111111"),
    # 5 requests a second: 0.001 USD a second over 5,000 + 1,000 tokens
    "blended": (MIX, "cost_per_mtok_blended", "0.166666667"),
    "a request": (MIX, "cost_per_request", "0.0002"),
    # an answer token costs four prompt tokens: 0.001 / (5,000 + 4·1,000)
    "prompt tokens by ratio": (MIX | {"allocation": "ratio", "output_input_cost_ratio": 4}, "cost_per_mtok_input",
                               "0.111111111"),
    "answer tokens by ratio": (MIX | {"allocation": "ratio", "output_input_cost_ratio": 4}, "cost_per_mtok_output",
                               "0.444444444"),
    # six tenths of the prompts are found: 0.001 / (2,000 + 4,000)
    "prompt tokens beside a prefix cache": (
        HOURLY | {"workload": {"input_tokens": 1000, "output_tokens": 200, "prefix_cache_hit_rate": 0.6},
                  "allocation": "ratio", "output_input_cost_ratio": 4}, "cost_per_mtok_input", "0.166666667"),
    # yen have no cents and need none: 300·8·730
    "another currency": ({"price_per_gpu_hour": "300", "currency": "JPY", "gpus": 8, "tokens_per_s_output": 1000},
                         "cost_per_month", "1752000"),
    "GPUs that cost nothing": ({"price_per_gpu_hour": "0", "currency": "USD", "tokens_per_s_output": 1000},
                               "cost_per_mtok_output", "0"),
}  # fmt: skip


@pytest.mark.parametrize("question", HOSTED)
def test_tokens_of_own_machines_cost_their_hours(ask, question):
    part, name, amount = HOSTED[question]
    assert ask("cost", {"self_hosted": part})["self_hosted"][name] == amount


MONTH = {"requests": 100_000, "input_tokens": 1000, "output_tokens": 500}
REPLICA = {"price_per_gpu_hour": "2", "currency": "USD", "tokens_per_s_output": 1000}


def compared(ask, requests=100_000, price=FLAT, **hosted):
    body = {"self_hosted": REPLICA | hosted, "api": {"price": price}, "monthly": MONTH | {"requests": requests}}
    return ask("break-even", body)


def test_the_last_request_a_replica_serves_takes_no_second_one(ask):
    # 1,000 tokens/s over 500 a request, 2,628,000 s a month: 5,256,000
    assert compared(ask, 5_256_000)["self_hosted"]["replicas"] == 1
    assert compared(ask, 5_256_001)["self_hosted"]["replicas"] == 2


def test_equal_bills_are_called_equal(ask):
    # 1,000·14.6 per million = 0.0146 a request, 1,460 a month: the price of the GPU
    answer = compared(ask, price={"currency": "USD", "meters": {"input": "14.6", "output": "0"}})
    assert (answer["api"]["cost_per_month"], answer["self_hosted"]["cost_per_month"]) == ("1460", "1460")
    assert answer["cheaper"] == "equal"


def test_a_replica_of_eight_gpus_is_billed_as_eight(ask):
    answer = compared(ask, gpus=8)
    assert (answer["self_hosted"]["gpus"], answer["self_hosted"]["cost_per_month"]) == (8, "11680")
    assert [stair["gpus"] for stair in answer["staircase"]] == [8, 16]


def test_a_trillion_tokens_take_whole_gpus_and_exact_bills(ask):
    # 10^9 requests of 1,000 + 500: the API 10^9 · (1,000·3 + 500·15)/10^6, the fleet ⌈10^9 / 5,256,000⌉ = 191 GPUs
    answer = compared(ask, 10**9)
    assert answer["api"]["cost_per_month"] == "10500000"
    assert (answer["self_hosted"]["gpus"], answer["self_hosted"]["cost_per_month"]) == (191, "278860")


def test_an_offer_is_never_converted(ask):
    offer = {"offer": "aws-h100-sxm5-80gb-8x-on-demand-us-east-1-2026-11-09", "tokens_per_s_output": 1000}
    assert ask("cost", {"self_hosted": offer | {"currency": "USD"}})["self_hosted"]["currency"] == "USD"
    problem = ask("cost", {"self_hosted": offer | {"currency": "EUR"}}, 400)
    assert problem["errors"][0]["pointer"] == "#/self_hosted/currency"


def test_a_day_to_come_is_billed_at_what_is_known_and_says_so(ask):
    answer = ask("cost", bill(GPT, {"input": 1000}, on="2041-01-01"))
    assert answer["api"]["total"] == "0.00125"
    assert any("2041-01-01 is to come" in text for text in answer["warnings"])
    assert not any("to come" in text for text in ask("cost", bill(GPT, {"input": 1000}, on="2026-11-01"))["warnings"])


def test_electricity_says_which_effectiveness_it_took(ask):
    power = {"price_per_kwh": "0.10", "currency": "USD"}
    hosted = REPLICA | {"watts_per_gpu": 700, "gpus": 8, "power": power}
    answer = ask("cost", {"self_hosted": hosted})
    # 8 · 0.7 kW · 1.3 · 730 h = 5,314.4 kWh
    assert answer["self_hosted"]["electricity"]["kwh_per_month"] == pytest.approx(5314.4)
    assert answer["self_hosted"]["electricity"]["cost_per_month"] == "531.44"
    assert any("effectiveness not given: 1.3" in text for text in answer["assumptions"])


def test_a_prompt_without_an_answer_needs_no_price_of_answers(ask):
    price = {"currency": "USD", "meters": {"input": "3", "cache_read": "0.3"}}
    assert ask("prompt-cache", cached(price, EVERY_MINUTE, lengths(5000), ttl_s=300))["cost_with"] == "0.0015"
    ask("prompt-cache", cached(price, EVERY_MINUTE, lengths(5000, 0, 1), ttl_s=300), 422)
