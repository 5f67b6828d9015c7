"""A month's bill: sums by hand, equal to the endpoint's own bills row by row, tiers by row, and nothing lost."""

import datetime
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
