"""A month's bill: sums by hand, equal to the endpoint's own bills row by row, tiers by row, and nothing lost."""

import datetime
import json
import random
from decimal import Decimal

import pytest

from estimator.engine.cost.api import UsageConvention, api_cost
from estimator.engine.errors import InvalidInputError
from estimator.estimates.month_bill.compute import OwnMachines, month_bill
from estimator.estimates.month_bill.read import read_csv, read_ndjson
from estimator.resolvers.live import current_facts
from estimator.resolvers.price_book import PriceChoice
from estimator.resolvers.prices import resolve_price
from tests.shipped_catalog import load_shipped_catalog

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
D = Decimal
CSV = """model,day,channel,requests,input_tokens,cache_read_tokens,cache_write_5m_tokens,output_tokens
anthropic-claude-opus-5-5,2026-11-28,standard,2,1000,20000,0,500
anthropic-claude-opus-5-5,2026-11-29,batch,1,1000,0,1000,500
openai-gpt-6.1-sol,2026-11-29,,1,272001,0,,100
"""


def test_by_hand():
    """2 · (1,000·4 + 20,000·0.2 + 500·20) = 36,000; half of (4,000 + 5,000 + 10,000) = 9,500; 272,001·4 + 100·15."""
    bill = month_bill(read_csv(CSV.splitlines()), current_facts(), alternatives=["openai-gpt-6.1-sol"])
    assert bill.total == D("0.036") + D("0.0095") + D("1.089504")
    assert (bill.currency, bill.rows, bill.requests, bill.bad_rows) == ("USD", 3, 4, 0)
    assert {line.key: line.amount for line in bill.by_day} == {"2026-11-28": D("0.036"), "2026-11-29": D("1.099004")}
    assert {line.key: line.amount for line in bill.by_channel} == {"batch": D("0.0095"), "standard": D("1.125504")}
    assert [line.requests for line in bill.by_model] == [3, 1]
    ways = {way.way: way for way in bill.other_ways}
    # 2 · (21,000·4 + 500·20) = 188,000; half of (2,000·4 + 500·20) = 9,000
    assert ways["without_cache"].amount == D("0.188") + D("0.009") + D("1.089504")
    # batch halves the first and the last: 0.018 + 0.0095 + 0.544752
    assert ways["batch"].amount == D("0.572252")
    # five-minute writes have no price at OpenAI
    assert ways["openai-gpt-6.1-sol"].amount is None
    assert "cache_write_5m" in ways["openai-gpt-6.1-sol"].reason


def test_own_machines_come_whole():
    bill = month_bill(
        read_csv(CSV.splitlines()), current_facts(),
        own=OwnMachines(cost_of_replica=D(1460), output_tokens_of_replica=1000.0),
    )  # fmt: skip
    # 2·500 + 500 + 100 = 1,600 output tokens: two replicas
    assert bill.other_ways[-1].amount == 2920


def test_equal_to_the_bills_of_its_rows():
    rng = random.Random(20261130)
    facts = current_facts()
    models = ["anthropic-claude-opus-5-5", "openai-gpt-6.1-sol", "x-ai-grok-4.7"]
    keys = ("input_tokens", "cache_read_tokens", "output_tokens")
    lines, expected = [f"model,day,requests,{','.join(keys)}"], D(0)
    for _ in range(300):
        model, requests = rng.choice(models), rng.randrange(1, 5)
        counts = [rng.choice((0, rng.randrange(400_000))) for _ in keys]
        lines.append(",".join(map(str, (model, "2026-11-29", requests, *counts))))
        prices = resolve_price(PriceChoice(price=model, moment=datetime.date(2026, 11, 29)), facts).prices
        usage = {key: D(count) for key, count in zip(keys, counts, strict=True)}
        expected += api_cost(prices, usage, requests=D(requests)).total
    assert month_bill(read_csv(lines), facts).total == expected


def test_inclusive_counts_are_taken_apart_row_by_row():
    rows = ["model,day,input_tokens,cache_read_tokens,output_tokens,reasoning_tokens",
            "anthropic-claude-opus-5-5,2026-11-29,21000,20000,500,200"]  # fmt: skip
    bill = month_bill(read_csv(rows), current_facts(), convention=UsageConvention.INCLUSIVE)
    assert bill.total == D("0.018")  # 1,000·4 + 20,000·0.2 + 500·20
    with pytest.raises(InvalidInputError):
        month_bill(read_csv([rows[0], "anthropic-claude-opus-5-5,2026-11-29,1,2,0,0"]), current_facts(),
                   convention=UsageConvention.INCLUSIVE)  # fmt: skip


def test_json_lines_and_what_is_not_billed():
    lines = [
        '{"model": "anthropic-claude-opus-5-5", "at": "2026-11-29T10:00:00Z", "input_tokens": 1000}',
        '{"model": "nobody-knows-it", "day": "2026-11-29", "input_tokens": 1000}',
        '{"model": "anthropic-claude-opus-5-5", "day": "2026-11-29", "input_tokens": 1.5}',
        '{"model": "anthropic-claude-opus-5-5", "day": "2026-11-29", "teleports": 3}',
        "not json",
    ]
    bill = month_bill(read_ndjson(lines), current_facts())
    assert (bill.total, bill.priced_total) == (None, D("0.004"))
    assert [row.row for row in bill.bad] == [3, 4, 5]
    assert any("nobody-knows-it" in text for text in bill.unpriced)


def test_a_column_nobody_counts_is_refused():
    with pytest.raises(InvalidInputError):
        read_csv(["model,day,teleports", "a,2026-11-29,1"])
    with pytest.raises(InvalidInputError):
        read_csv(["day,input_tokens"])


def one_model(model, *rows, keys="input_tokens,cache_read_tokens,output_tokens"):
    return [f"model,at,{keys}", *(f"{model},{row}" for row in rows)]


def test_a_time_is_billed_at_its_hours_and_a_day_at_the_prices_of_all_day():
    """DeepSeek V4 Pro: 1,000·0.66 + 9,000·0.022 + 500·1.98 = 1,848; double at the peak, which ends at 10:00 UTC."""
    body = "1000,9000,500"
    rows = one_model(
        "deepseek-deepseek-v4-pro",
        f"2026-11-27T02:00:00Z,{body}",  # a Friday's peak
        f"2026-11-27T09:59:59Z,{body}",
        f"2026-11-27T10:00:00Z,{body}",  # over
        f"2026-11-27T10:00:00+08:00,{body}",  # two in UTC
        f"2026-11-28T02:00:00Z,{body}",  # Saturday
        f"2026-11-28T02:00:00+08:00,{body}",  # 18:00 UTC of the Friday, off the peak
    )
    bill = month_bill(read_csv(rows), current_facts())
    assert bill.total == 3 * D("0.003696") + 3 * D("0.001848")
    by_day = {line.key: line.amount for line in bill.by_day}
    assert by_day == {"2026-11-27": 3 * D("0.003696") + 2 * D("0.001848"), "2026-11-28": D("0.001848")}
    day = month_bill(
        read_csv(["model,day,input_tokens", "deepseek-deepseek-v4-pro,2026-11-27,1000000"]), current_facts()
    )
    assert day.total == D("0.66")


def test_what_is_free_each_month_is_taken_off_once_for_all_models_of_a_seller():
    """1,550 container hours a month are free: 1,000 + 700 of two models leave 150 at 0.05."""
    rows = [
        "model,day,container_hours",
        "anthropic-claude-opus-5-5,2026-11-01,1000",
        "anthropic-claude-haiku-5-5,2026-11-20,700",
        "anthropic-claude-haiku-5-5,2026-12-01,100",  # another month
    ]
    bill = month_bill(read_csv(rows), current_facts())
    assert bill.total == D("7.5")
    assert bill.free == {"container_hour": D(1650)}
    assert {line.key: line.amount for line in bill.by_day} == {
        "2026-11-01": D(0), "2026-11-20": D("7.5"), "2026-12-01": D(0),
    }  # fmt: skip
    assert month_bill(read_csv(rows), current_facts(), free_quantities=False).total == D(90)
    ways = {way.way: way.amount for way in bill.other_ways}
    assert ways["without_cache"] == D("7.5")  # what is free stays free


def test_what_is_free_each_day_is_taken_off_each_day():
    """Gemini 2.5 Flash: 1,500 searches a day free, then 35 a thousand: 500 + 0 over."""
    rows = [
        "model,day,web_searches",
        "google-gemini-2.5-flash,2026-11-01,2000",
        "google-gemini-2.5-flash,2026-11-02,1500",
    ]
    bill = month_bill(read_csv(rows), current_facts())
    assert bill.total == D("17.5")
    assert bill.free == {"web_search": D(3000)}


def test_fees_by_search_context():
    """Sonar Pro on a day before its end: 1,000·3 + 500·15 = 10,500 and 6, 10 or 14 for a thousand requests."""
    load_shipped_catalog()
    rows = ["model,day,search_context_size,requests,input_tokens,output_tokens"]
    rows += [f"perplexity-sonar-pro,2026-09-01,{size},1000,1000,500" for size in ("", "low", "medium", "high")]
    bill = month_bill(read_csv(rows), current_facts())
    assert bill.total == 4 * D("10.5") + 6 + 6 + 10 + 14
    bad = month_bill(read_csv([rows[0], "perplexity-sonar-pro,2026-09-01,huge,1,1,1"]), current_facts())
    assert "low, medium, high" in bad.bad[0].reason


GOOD = {"model": "anthropic-claude-opus-5-5", "day": "2026-11-29", "input_tokens": 1000}
ODD = [
    {"requests": -1}, {"requests": 1.5}, {"requests": True}, {"requests": 10**30}, {"requests": [1]},
    {"input_tokens": -1}, {"input_tokens": 10**16}, {"input_tokens": 10**400}, {"input_tokens": "many"},
    {"input_tokens": {"a": 1}}, {"input_tokens": True}, {"day": "2026-02-30"}, {"day": 20261129}, {"day": ""},
    {"model": None}, {"model": ["a"]}, {"channel": 5}, {"day": None, "at": "2026-11-29T10:00:00"},
    {"day": None, "at": "noon"}, {"day": None, "at": "0001-01-01T00:00:00+08:00"}, {"endpoint_class": {}},
    {"search_context_size": "vast"},
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_odd_rows_are_named_and_the_others_billed(odd):
    usage = read_ndjson([json.dumps(GOOD), json.dumps(GOOD | odd)])
    assert [row.row for row in usage.bad] == [2]
    assert "invalid literal" not in usage.bad[0].reason
    assert month_bill(usage, current_facts()).total == D("0.004")


def test_no_requests_cost_nothing_in_either_form():
    assert month_bill(read_ndjson([json.dumps(GOOD | {"requests": 0})]), current_facts()).total == 0
    rows = ["model,day,requests,input_tokens", "anthropic-claude-opus-5-5,2026-11-29,0,1000"]
    assert month_bill(read_csv(rows), current_facts()).total == 0


def test_odd_files():
    with pytest.raises(InvalidInputError, match="twice"):
        read_csv(["model,day,input_tokens,input_tokens", "a,2026-11-29,1,2"])
    assert len(read_csv(["\ufeffmodel,day,input_tokens", "a,2026-11-29,1"]).codes) == 1
    longer = read_csv(["model,day,input_tokens", "a,2026-11-29,1,2"])
    assert (len(longer.codes), longer.bad_rows) == (0, 1)
    huge = read_csv(["model,day,input_tokens", f"a,2026-11-29,{'9' * 200_000}", "a,2026-11-29,1"])
    assert (len(huge.codes), huge.bad_rows) == (1, 1)
    nothing = month_bill(read_csv(["model,day"]), current_facts())
    assert (nothing.total, nothing.rows, nothing.currency) == (0, 0, None)


def test_the_largest_counts_are_exact():
    rows = ["model,day,requests,input_tokens", f"anthropic-claude-opus-5-5,2026-11-29,{10**9},{10**15}"]
    assert month_bill(read_csv(rows), current_facts()).total == D(4) * 10**18
