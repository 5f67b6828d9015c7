"""Invoices of an API asked over REST as a stranger would, each worked out by hand beside the question.

Sums are per million tokens unless said otherwise; prices are those of the catalog on the day asked about.
"""

import csv
import datetime
from decimal import Decimal

import pytest

from catalog.services import price_sources
from tests.estimator.api.money.bodies import DEEPSEEK, FLASH, FLAT, GPT, GROK, HAIKU, OPUS, PRO, SOL, bill

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
FRIDAY = "2026-11-27T"
ANTHROPIC = {"input": 1200, "cache_read": 10_000, "cache_write_5m": 2000, "cache_write_1h": 800, "output": 600}
OPENAI = {"input": 10_000, "cache_read": 8192, "output": 1500, "reasoning": 1000}
INCLUSIVE = {"usage_convention": "inclusive"}
SEEK = {"input": 1000, "cache_read": 9000, "output": 500}

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


def test_a_day_to_come_is_billed_at_what_is_known_and_says_so(ask):
    answer = ask("cost", bill(GPT, {"input": 1000}, on="2041-01-01"))
    assert answer["api"]["total"] == "0.00125"
    assert any("2041-01-01 is to come" in text for text in answer["warnings"])
    assert not any("to come" in text for text in ask("cost", bill(GPT, {"input": 1000}, on="2026-11-01"))["warnings"])
