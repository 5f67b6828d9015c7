"""Peak hours: which days and hours bill them, at every date; and what a list says is free or leaves without a price.

Worked by hand from the prices of the seller's page in August 2026: V4 Flash off-peak 0.22 / 0.007 / 0.66, peak twice
that, flat 0.14 / 0.0028 / 0.28 before; V4.1 Flash 0.15 / 0.003 / 0.6 from 2026-09-10 04:00 UTC; V4 Pro 0.66 / 1.98.
"""

import datetime
from dataclasses import replace
from decimal import Decimal
from io import StringIO

import genai_prices.data as bundled
import pytest
from django.core.management import call_command

from catalog.importers import genai_prices
from catalog.models import ApiPrice, PriceList, Provider
from catalog.peak_hours import MONDAY_TO_FRIDAY, peak_hours, with_peak_hours
from catalog.price_rows import DATA_DIR, Period, read_price_csv
from catalog.services import price_sources
from catalog.services.price_import import Source, apply_import, plan_import, row_of
from estimator.engine.cost.price_list import BASE_TIER, prices_in_force

FLASH, PRO, NEW_FLASH = "deepseek-v4-flash", "deepseek-v4-pro", "deepseek-flash"


@pytest.fixture(scope="module")
def lists():
    own = with_peak_hours(read_price_csv(DATA_DIR / price_sources.OWN_FILE))
    return {"package": genai_prices.read_package().prices, "own": tuple(own)}


def amount(prices, model, moment, meter="output"):
    rows = [
        row_of(price, Provider(slug=price.provider), PriceList(slug="s")).as_engine_row()
        for price in prices
        if (price.provider, price.model) == ("deepseek", model)
    ]
    found = prices_in_force(rows, currency="USD", moment=datetime.datetime.fromisoformat(moment))
    return found.row(BASE_TIER, meter).amount


@pytest.mark.parametrize(
    ("model", "moment", "output"),
    [
        (FLASH, "2026-08-14T02:00Z", "0.28"),  # Friday: no peak hours yet
        (FLASH, "2026-08-16T15:59:59Z", "0.28"),
        (FLASH, "2026-08-16T16:00Z", "0.66"),  # the change, an hour of Sunday in UTC
        (FLASH, "2026-08-17T00:59:59Z", "0.66"),
        (FLASH, "2026-08-17T01:00Z", "1.32"),  # the first peak
        (FLASH, "2026-08-17T03:59:59Z", "1.32"),
        (FLASH, "2026-08-17T04:00Z", "0.66"),
        (FLASH, "2026-08-17T06:00Z", "1.32"),
        (FLASH, "2026-08-17T10:00Z", "0.66"),
        (FLASH, "2026-08-22T02:00Z", "1.32"),  # the one Saturday with peak hours
        (FLASH, "2026-08-22T07:00Z", "1.32"),
        (FLASH, "2026-08-23T02:00Z", "0.66"),  # Sunday, and no weekend from here on
        (FLASH, "2026-08-24T02:00Z", "1.32"),
        (FLASH, "2026-08-29T02:00Z", "0.66"),
        (FLASH, "2026-09-09T09:59:59Z", "1.32"),
        (FLASH, "2026-09-10T00:30Z", "0.66"),  # the old prices until 04:00
        (FLASH, "2026-09-10T03:59:59Z", "1.32"),
        (FLASH, "2026-09-10T04:00Z", "0.6"),
        (FLASH, "2026-09-10T06:00Z", "1.2"),
        (FLASH, "2026-09-11T02:00Z", "1.2"),
        (FLASH, "2026-09-25T02:00Z", "0.6"),  # Mid-Autumn, a Friday
        (FLASH, "2026-09-28T02:00Z", "1.2"),
        (FLASH, "2026-10-07T07:00Z", "0.6"),  # National Day's week, a Wednesday
        (FLASH, "2026-10-08T07:00Z", "1.2"),
        (FLASH, "2026-11-27T02:00Z", "1.2"),
        (PRO, "2026-08-14T02:00Z", "0.87"),
        (PRO, "2026-08-16T20:00Z", "1.98"),
        (PRO, "2026-08-22T02:00Z", "3.96"),
        (PRO, "2026-08-23T02:00Z", "1.98"),
        (PRO, "2026-08-24T02:00Z", "3.96"),
        (PRO, "2026-09-10T02:00Z", "3.96"),
        (PRO, "2026-10-01T02:00Z", "1.98"),
        (NEW_FLASH, "2026-09-11T02:00Z", "1.2"),
        (NEW_FLASH, "2026-09-12T02:00Z", "0.6"),
        (NEW_FLASH, "2026-10-01T02:00Z", "0.6"),
        (NEW_FLASH, "2027-01-01T02:00Z", "0.6"),
    ],
)
def test_hours_and_days_of_peak_prices(lists, model, moment, output):
    assert amount(lists["package"], model, moment) == Decimal(output)


@pytest.mark.parametrize("model", [PRO, NEW_FLASH])
@pytest.mark.parametrize("moment", ["2026-09-25T02:00Z", "2026-10-08T02:00Z", "2026-11-28T02:00Z", "2026-11-27T07:00Z"])
def test_our_own_file_and_the_package_bill_alike(lists, model, moment):
    assert amount(lists["own"], model, moment) == amount(lists["package"], model, moment)


def test_at_every_hour_since_the_first_day_a_price_is_the_off_peak_one_or_the_multiple_of_it(lists):
    for rule in peak_hours():
        known = {price.model for price in lists["package"] if price.provider == rule.provider}
        for model in sorted(known & set(rule.models) - {NEW_FLASH}):
            for day in range(0, 100, 3):
                start = datetime.datetime.combine(rule.first_day, datetime.time(12), tzinfo=datetime.UTC)
                noon = start + datetime.timedelta(days=day)
                off = amount(lists["package"], model, noon.isoformat())
                for hour in (1, 3, 6, 9):
                    found = amount(lists["package"], model, noon.replace(hour=hour).isoformat())
                    peak = noon.weekday() < 5 or noon.date() < rule.without_weekends_from
                    holiday = any(
                        days.meets(Period(noon.date(), noon.date() + datetime.timedelta(days=1)))
                        for days in rule.off_peak_days
                    )
                    if noon.date() in rule.change_moments:
                        continue
                    assert found == off * (rule.peak_multiple if peak and not holiday else 1), (model, noon, hour)


def test_each_rule_has_source_and_date_and_holidays_after_its_start():
    for rule in peak_hours():
        assert rule.source
        assert rule.source_url.startswith("https://")
        assert rule.source_date
        assert all(rule.first_day < days.start < days.end for days in rule.off_peak_days)


@pytest.mark.django_db
def test_a_catalog_loaded_before_gets_the_missing_peak_hours_and_a_second_import_changes_nothing(lists):
    source = Source(
        slug="s", name="s", source="s", version="1", sha256="a" * 64, retrieved_on=datetime.date(2026, 11, 29)
    )
    stated = [price for price in lists["package"] if price.model == FLASH and price.provider == "deepseek"]
    newest = {
        price.worth: price
        for price in stated
        if price.weekday_mask == MONDAY_TO_FRIDAY and price.amount < Decimal("1.3")
    }
    old = [
        *(price for price in stated if price.daily_start is None),
        *(
            replace(
                price, effective_from=datetime.date(2026, 9, 10), effective_to=None, daily_start=start, daily_end=end
            )
            for price in newest.values()
            if price.amount in {Decimal("0.3"), Decimal("0.006"), Decimal("1.2")}
            for start, end in ((datetime.time(1), datetime.time(4)), (datetime.time(6), datetime.time(10)))
        ),
    ]
    apply_import(plan_import(source, old))
    plan = plan_import(source, stated)
    assert plan.writes
    apply_import(plan)
    assert not plan_import(source, stated).writes
    rows = [row.as_engine_row() for row in ApiPrice.objects.filter(voided_at=None).select_related("provider")]
    for moment, output in (("2026-08-24T02:00Z", "1.32"), ("2026-10-01T02:00Z", "0.6"), ("2026-11-27T02:00Z", "1.2")):
        found = prices_in_force(rows, currency="USD", moment=datetime.datetime.fromisoformat(moment))
        assert found.row(BASE_TIER, "output").amount == Decimal(output)
    for row in ApiPrice.objects.select_related("provider"):
        row.clean()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("moment", "total"), [("2026-08-24T02:00:00Z", "1.080709248"), ("2026-08-24T05:00:00Z", "0.540354624")]
)
def test_n32_a_bill_of_v4_flash_in_august(lists, client, moment, total):
    # Peak: 764,472 × 0.44 + 30,154,752 × 0.014 + 244,072 × 1.32 = 1,080,709.248 per million; off-peak is half.
    source = Source(slug="s", name="s", source="s", version="1", sha256="a" * 64, retrieved_on=None)
    apply_import(plan_import(source, [price for price in lists["package"] if price.model == FLASH]))
    usage = {"input_tokens": 764_472, "cache_read_tokens": 30_154_752, "output_tokens": 244_072}
    body = {"api": {"price": "deepseek-deepseek-v4-flash", "at": moment, "usage": usage}}
    answer = client.post("/api/v1/estimates/cost/", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    assert answer.json()["api"]["total"] == total


@pytest.mark.django_db
def test_a_free_model_is_billed_at_zero(client):
    source = Source(slug="s", name="s", source="s", version="1", sha256="a" * 64, retrieved_on=None)
    stated = [price for price in genai_prices.read_package().prices if price.model == "deepseek/deepseek-r1:free"]
    apply_import(plan_import(source, stated))
    usage = {"input_tokens": 1000, "cache_read_tokens": 10, "output_tokens": 100, "reasoning_tokens": 5}
    body = {"api": {"price": stated[0].slug, "on": "2026-11-29", "usage": usage}}
    answer = client.post("/api/v1/estimates/cost/", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    assert answer.json()["api"]["total"] == "0"


def test_models_that_the_list_says_are_free_cost_nothing_and_all_others_without_a_price_are_named():
    reading = genai_prices.read_package()
    priced = {f"{price.provider} {price.model}": [] for price in reading.prices}
    for price in reading.prices:
        priced[f"{price.provider} {price.model}"].append(price)
    every = {
        f"{provider.id} {model.id}": (provider, model) for provider in bundled.providers for model in provider.models
    }
    assert set(every) == set(priced) | set(reading.unpriced)
    assert not set(priced) & set(reading.unpriced)
    for name in reading.unpriced:
        provider, model = every[name]
        assert not genai_prices.says_free(provider.id, model)
    free = [name for name, prices in priced.items() if "free" in prices[0].source]
    assert len(free) > 100
    for name in free:
        assert {(price.meter, price.amount) for price in priced[name]} == {
            (meter, Decimal(0)) for meter in genai_prices.FREE_METERS
        }
    assert "google gemma-4-31b-it" in free  # "free of charge with no paid tier"
    assert "openrouter deepseek/deepseek-r1:free" in free
    # Without a price is not free: no longer listed, in a subscription, nothing said.
    assert {"cerebras qwen-3-coder-480b", "github-copilot gpt-4o", "openai moderation"} <= set(reading.unpriced)


@pytest.mark.django_db
def test_the_plan_names_the_models_without_a_price():
    out = StringIO()
    call_command("import_prices", "--dry-run", stdout=out)
    unpriced = genai_prices.read_package().unpriced
    assert f"{len(unpriced)} models have no price there and are not free: " in out.getvalue()
    assert all(name in out.getvalue() for name in unpriced)
