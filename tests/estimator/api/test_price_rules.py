"""Channels, places, fees, quotas and alike meters over REST, each bill worked by hand."""

import orjson
import pytest

from catalog.models import PriceRule
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db
M = 1_000_000


@pytest.fixture
def bill(client, db):
    load_shipped_catalog()

    def send(price, status=200, **api):
        body = {"api": {"price": price, "on": "2026-11-30"} | api}
        response = client.post("/api/v1/estimates/cost/", orjson.dumps(body), content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()

    return send


# price, request, total, worked by hand
BILLS = [
    # half of 0.75 and 3.75, cached 0.0375: 1,000·0.375 + 2,000·0.0375 + 500·1.875
    ("google-gemini-3.8-flash", {"usage": {"input_tokens": 1000, "cache_read_tokens": 2000, "output_tokens": 500},
                                 "channel": "flex"}, "0.0013875"),
    # input and output halve, cached input of Gemini 2.5 stays 0.03: 1,000·0.15 + 2,000·0.03 + 500·1.25
    ("google-gemini-2.5-flash", {"usage": {"input_tokens": 1000, "cache_read_tokens": 2000, "output_tokens": 500},
                                 "channel": "flex"}, "0.000835"),
    # 1.8 times: 1,000·0.54 + 2,000·0.054 + 500·4.5
    ("google-gemini-2.5-flash", {"usage": {"input_tokens": 1000, "cache_read_tokens": 2000, "output_tokens": 500},
                                 "channel": "priority"}, "0.002898"),
    # 20 % off 2 and 6: 1,000·1.6 + 500·4.8
    ("x-ai-grok-4.7", {"usage": {"input_tokens": 1000, "output_tokens": 500}, "channel": "batch"}, "0.004"),
    # six times 2 and 10: 1,000·12 + 100·60
    ("openai-gpt-6.1-sol", {"usage": {"input_tokens": 1000, "output_tokens": 100}, "channel": "ultrafast"}, "0.018"),
    # priority of GPT-5.5 leaves long prompts out: 272,001·10 + 100·45
    ("openai-gpt-5.5", {"usage": {"input_tokens": 272_001, "output_tokens": 100}, "channel": "priority"}, "2.72451"),
    # GPT-5.6 Terra prices them: twice 4 and 18
    ("openai-gpt-5.6-terra", {"usage": {"input_tokens": 272_001, "output_tokens": 100}, "channel": "priority"},
     "2.179608"),
    # 0.2 for 100,000 tokens, 10 % more in the EU
    ("openai-gpt-6.1-sol", {"usage": {"input_tokens": 100_000}, "endpoint_class": "data_residency=eu"}, "0.22"),
    # GPT-4o is of before March 2026: no more
    ("openai-gpt-4o", {"usage": {"input_tokens": 100_000}, "endpoint_class": "data_residency=eu"}, "0.25"),
    ("anthropic-claude-opus-5-5", {"usage": {"input_tokens": M}, "endpoint_class": "inference_geo=us"}, "4.4"),
    ("google-claude-opus-5-5", {"usage": {"input_tokens": M}, "endpoint_class": "us-east5"}, "4.4"),
    ("google-claude-opus-5-5", {"usage": {"input_tokens": M}, "endpoint_class": "global"}, "4"),
    # both at once: half price of batch, 10 % more for the place
    ("anthropic-claude-opus-5-5", {"usage": {"input_tokens": M}, "endpoint_class": "inference_geo=us",
                                   "channel": "batch"}, "2.2"),
    # 1,258·0.75 + 10·3.75: images at the input price
    ("google-gemini-3.8-flash", {"usage": {"input_tokens": 1000, "input_image_tokens": 258, "output_tokens": 10}},
     "0.000981"),
    # 1,000·2 + 10·6 and five searches at 5 a thousand
    ("x-ai-grok-4.7", {"usage": {"input_tokens": 1000, "web_searches": 5, "output_tokens": 10}}, "0.02706"),
    # two containers at 0.03 and three GB-days at 0.10
    ("openai-gpt-5", {"usage": {"container_sessions": 2, "storage_gb_days": 3}}, "0.36"),
    # a month of 2,000 container hours: 1,550 are free, 450 at 0.05; without saying so none are taken off
    ("anthropic-claude-opus-5-5", {"usage": {"container_hours": 2000}, "whole_month": True}, "22.5"),
    ("anthropic-claude-opus-5-5", {"usage": {"container_hours": 2000}}, "100"),
    # a tenth off 2.5
    ("openai-gpt-4o", {"usage": {"input_tokens": 5000}, "discount": "0.1"}, "0.01125"),
    # a thirty-minute write is what OpenAI's cache_write_tokens are: 100·2 + 1,000·2.5 + 10·10
    ("openai-gpt-6.1-sol", {"usage": {"input_tokens": 100, "cache_write_tokens": 1000, "output_tokens": 10}}, "0.0028"),
    # Nova's writes cost what input costs: 300·0.8 + 100·0.2
    ("aws-amazon.nova-pro-v1-0", {"usage": {"inputTokens": 100, "cacheWriteInputTokens": 200,
                                            "cacheReadInputTokens": 100, "outputTokens": 0}}, "0.00026"),
    # Qwen's automatic cache: 2,000·2.5 + 8,000·0.5 + 500·7.5; its explicit one reads at 0.25
    ("alibaba-qwen3.7-max", {"usage": {"input_tokens": 2000, "cache_read_tokens": 8000, "output_tokens": 500}},
     "0.01275"),
    ("alibaba-qwen3.7-max", {"usage": {"input_tokens": 2000, "cache_read_explicit_tokens": 8000, "output_tokens": 500}},
     "0.01075"),
    # Sonar: 1,000·1 + 500·1 and the fee of low, medium and high search context
    ("perplexity-sonar", {"usage": {"input_tokens": 1000, "output_tokens": 500}}, "0.0065"),
    ("perplexity-sonar", {"usage": {"input_tokens": 1000, "output_tokens": 500}, "search_context_size": "medium"},
     "0.0095"),
    ("perplexity-sonar", {"usage": {"input_tokens": 1000, "output_tokens": 500}, "search_context_size": "high"},
     "0.0135"),
]  # fmt: skip


def test_each_bill_is_the_one_worked_by_hand(bill):
    for price, request, total in BILLS:
        assert bill(price, **request)["api"]["total"] == total, (price, request)


def test_a_raw_object_says_how_it_was_sent(bill):
    usage = {"input_tokens": M, "cache_read_input_tokens": 0, "output_tokens": 0, "service_tier": "batch",
             "inference_geo": "us"}  # fmt: skip
    answer = bill("anthropic-claude-opus-5-5", usage=usage)
    assert (answer["api"]["total"], answer["api"]["channel"]) == ("2.2", "batch")
    assert any("batch" in text for text in answer["assumptions"])
    told = bill("anthropic-claude-opus-5-5", usage=usage, channel="standard")
    assert told["api"]["channel"] == "standard"


def test_a_long_prompt_that_a_channel_leaves_out_is_said(bill):
    answer = bill("openai-gpt-5.5", usage={"input_tokens": 272_001}, channel="priority")
    assert any("priority" in text and "standard" in text for text in answer["warnings"])
    assert {line["channel"] for line in answer["api"]["lines"]} == {"standard"}


def test_unknown_channels_and_places_name_the_known_ones(bill):
    channel = bill("openai-gpt-6.1-sol", status=400, usage={"input_tokens": 1}, channel="warp")
    assert "ultrafast" in channel["errors"][0]["detail"]
    place = bill("openai-gpt-6.1-sol", status=400, usage={"input_tokens": 1}, endpoint_class="moon")
    assert "data_residency=*" in place["errors"][0]["detail"]
    bill("openai-gpt-6.1-sol", status=400, usage={"input_tokens": 1}, discount="1")


def test_a_place_says_where_its_multiplier_is_from(bill):
    answer = bill("anthropic-claude-opus-5-5", usage={"input_tokens": M}, endpoint_class="inference_geo=us")
    entry = next(entry for entry in answer["provenance"] if entry["what"] == "api.endpoint_class")
    assert entry["value"] == "1.1"
    assert entry["date"] == "2026-11-30"


def test_a_bill_without_a_place_names_the_places_with_other_prices(bill):
    answer = bill("google-claude-opus-5-5", usage={"input_tokens": M})
    assert answer["api"]["total"] == "4"
    assert any("endpoint_class" in text and "regional" in text and "1.1" in text for text in answer["assumptions"])
    said = bill("google-claude-opus-5-5", usage={"input_tokens": M}, endpoint_class="global")
    assert not any("endpoint_class" in text for text in said["assumptions"])
    # GPT-4o costs the same everywhere but over FedRAMP.
    other = bill("openai-gpt-4o", usage={"input_tokens": M})
    assert next(text for text in other["assumptions"] if "endpoint_class" in text).count("fedramp") == 1


def test_a_retired_name_is_billed_at_its_last_prices(bill):
    usage = {"input_tokens": M, "output_tokens": M}
    for name in ("deepseek-deepseek-chat", "deepseek-deepseek-reasoner"):
        answer = bill(name, usage=usage)
        assert answer["api"]["total"] == "0.7"  # 0.28 + 0.42
        assert any("retired on 2026-07-24" in text for text in answer["warnings"])
    # 0.56 + 1.68, without hours; before: 0.135 + 0.55 off the peak, 0.27 + 1.1 within it
    assert bill("deepseek-deepseek-chat", usage=usage, on="2025-09-20")["api"]["total"] == "2.24"
    assert bill("deepseek-deepseek-chat", usage=usage, at="2025-09-20T12:00:00Z", on=None)["api"]["total"] == "2.24"
    assert bill("deepseek-deepseek-chat", usage=usage, at="2025-08-20T12:00:00Z", on=None)["api"]["total"] == "1.37"
    assert bill("deepseek-deepseek-chat", usage=usage, at="2025-08-20T17:00:00Z", on=None)["api"]["total"] == "0.685"


def test_a_prompt_beyond_what_the_model_takes_is_said(bill):
    answer = bill("openai-gpt-6.1-sol", usage={"input_tokens": M}, endpoint_class="data_residency=eu")
    assert answer["api"]["total"] == "4.4"
    assert any("922,000 at most" in text for text in answer["warnings"])
    fits = bill("openai-gpt-6.1-sol", usage={"input_tokens": 922_000})
    assert not any("at most" in text for text in fits["warnings"])


def test_every_rule_has_a_source_and_a_day(bill):
    rules = list(PriceRule.objects.all())
    assert len(rules) > 50
    assert all(rule.source and rule.source_url and rule.source_date for rule in rules)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_moment_without_a_day_in_every_zone_is_refused(bill, moment):
    answer = bill("deepseek-deepseek-v4-pro", status=400, usage={"input_tokens": 1}, at=moment, on=None)
    assert [error["pointer"] for error in answer["errors"]] == ["#/api/at"]


def test_a_day_at_the_end_of_time_is_refused(bill):
    answer = bill("openai-gpt-4o", status=400, usage={"input_tokens": 1}, on="9999-12-31")
    assert [error["pointer"] for error in answer["errors"]] == ["#/api/on"]
