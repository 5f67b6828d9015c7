"""Prices as dated rows: opened, closed, voided, never edited; no two hold at once."""

import datetime
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from catalog import snapshot
from catalog.models import ApiPrice, CachePolicy, Gpu, GpuOffer, Provider
from catalog.models.pricing import price_slug
from catalog.price_facts import policies_for, price_names
from catalog.price_rows import Period
from catalog.services.prices import change_price, close_price, open_price, void_price

pytestmark = pytest.mark.django_db
DAY = datetime.date


@pytest.fixture
def provider():
    return Provider.objects.create(slug="acme", name="Acme")


def price(provider, **values):
    return ApiPrice(
        **{"provider": provider, "model": "m-1", "meter": "input", "unit": "mtok", "amount": Decimal(3)} | values
    )


def test_periods_are_half_open_and_may_touch(provider):
    open_price(price(provider, effective_to=DAY(2026, 9, 1)))
    later = open_price(price(provider, effective_from=DAY(2026, 9, 1), amount=Decimal(4)))
    assert later.slug == "acme-m-1"


@pytest.mark.parametrize(
    ("start", "end"),
    [(None, None), (DAY(2026, 8, 31), None), (None, DAY(2026, 1, 2)), (DAY(2026, 2, 1), DAY(2026, 3, 1))],
)
def test_overlapping_periods_are_refused_in_words(provider, start, end):
    open_price(price(provider, effective_from=DAY(2026, 1, 1), effective_to=DAY(2026, 9, 1)))
    with pytest.raises(ValidationError, match="Overlaps with a price in force from 2026-01-01 to 2026-09-01"):
        open_price(price(provider, effective_from=start, effective_to=end))


@pytest.mark.parametrize(
    "other",
    [
        {"meter": "output"},
        {"channel": "batch"},
        {"endpoint_class": "us"},
        {"tier_above_tokens": 200_000},
        {"model": "m-2"},
        {"daily_start": datetime.time(1), "daily_end": datetime.time(4), "weekday_mask": 31},
    ],
)
def test_prices_of_other_things_hold_beside_one_another(provider, other):
    open_price(price(provider))
    open_price(price(provider, **other))
    assert ApiPrice.objects.count() == 2


def test_two_windows_that_share_an_hour_are_refused(provider):
    night = {"daily_start": datetime.time(22), "daily_end": datetime.time(2)}
    open_price(price(provider, **night))
    with pytest.raises(ValidationError, match="Overlaps"):
        open_price(price(provider, daily_start=datetime.time(1), daily_end=datetime.time(3)))
    open_price(price(provider, daily_start=datetime.time(2), daily_end=datetime.time(3)))


def test_an_amount_is_never_edited_in_place(provider):
    row = open_price(price(provider))
    row.amount = Decimal(5)
    with pytest.raises(ValidationError, match="not edited in place"):
        row.full_clean()
    with pytest.raises(ValidationError, match="not edited in place"):
        row.save()
    assert ApiPrice.objects.get().amount == 3


def test_a_change_closes_the_row_and_opens_its_successor(provider):
    row = open_price(price(provider))
    successor = change_price(row, amount=Decimal(2), effective_from=DAY(2027, 1, 1), reason="announced")
    row.refresh_from_db()
    assert row.effective_to == successor.effective_from == DAY(2027, 1, 1)
    assert (row.amount, successor.amount) == (3, 2)
    assert successor.edited_by_person
    assert row.history.first().history_change_reason == "announced"


def test_a_closed_price_is_not_opened_again(provider):
    row = close_price(open_price(price(provider)), on=DAY(2026, 6, 1))
    with pytest.raises(ValidationError, match="not opened again"):
        close_price(row, on=DAY(2026, 7, 1))


def test_a_voided_price_is_kept_but_never_used_again(provider):
    row = void_price(open_price(price(provider, amount=Decimal(300))), reason="typed 300 for 3")
    assert ApiPrice.objects.filter(pk=row.pk).exists()
    open_price(price(provider))
    facts = snapshot.current().get("price", "acme-m-1")
    assert [fact["amount"] for fact in facts["rows"]] == ["3"]
    with pytest.raises(ValidationError, match="Say why"):
        void_price(row, reason=" ")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"meter": "inputt"}, "no meter"),
        ({"unit": "image"}, "cannot be priced per image"),
        ({"amount": Decimal(-1)}, "greater than or equal to 0"),
        ({"daily_start": datetime.time(1)}, "needs both hours"),
        ({"daily_start": datetime.time(1), "daily_end": datetime.time(2), "daily_zone": "Mars/Base"}, "no time zone"),
        ({"effective_from": DAY(2026, 2, 1), "effective_to": DAY(2026, 1, 1)}, "ends before it begins"),
        ({"currency": "usd"}, "three letters"),
        ({"weekday_mask": 0}, "greater than or equal to 1"),
    ],
)
def test_what_could_not_be_billed_is_refused_in_words(provider, values, words):
    with pytest.raises(ValidationError, match=words):
        open_price(price(provider, **values))


def test_an_edit_is_seen_at_once_through_the_revision(provider):
    row = open_price(price(provider))
    assert snapshot.current().get("price", "acme-m-1")["rows"][0]["amount"] == "3"
    change_price(row, amount=Decimal(9), effective_from=DAY(2020, 1, 1))
    assert [fact["amount"] for fact in snapshot.current().get("price", "acme/m-1")["rows"]] == ["3", "9"]


def test_the_bare_name_of_a_model_means_its_maker(provider):
    maker = Provider.objects.create(slug="anthropic", name="Anthropic")
    for seller in (provider, maker):
        open_price(price(seller, model="claude-x"))
    assert price_names()["claude-x"] == "anthropic-claude-x"
    assert price_names()["acme/claude-x"] == "acme-claude-x"


def test_the_longest_pattern_picks_the_cache_policy(provider):
    common = {"provider": provider, "mode": "explicit", "source": "test"}
    CachePolicy.objects.create(slug="wide", name="w", models_matching=["*"], min_tokens=1024, **common)
    CachePolicy.objects.create(slug="narrow", name="n", models_matching=["m-1*"], min_tokens=512, **common)
    assert [policy["slug"] for policy in policies_for(provider.pk, "m-1-2026")] == ["narrow"]
    assert [policy["slug"] for policy in policies_for(provider.pk, "other")] == ["wide"]


def test_an_offer_is_never_overwritten():
    offer = GpuOffer.objects.create(
        slug="o", name="o", provider="x", gpu_as_listed="H100", gpu_count=8, market="on-demand",
        price_per_hour=Decimal(16), price_per_gpu_hour=Decimal(2), source="test",
    )  # fmt: skip
    offer.price_per_gpu_hour = Decimal(1)
    with pytest.raises(ValidationError, match=r"never overwritten|not the price"):
        offer.full_clean()
    assert not Gpu.objects.exists()


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("claude-opus-5-5", "acme-claude-opus-5-5"),
        ("openai/gpt-oss-120b", "acme-openai-gpt-oss-120b"),
        ("amazon.nova-pro-v1:0", "acme-amazon.nova-pro-v1-0"),
        ("@cf/Meta/llama--3", "acme-cf-meta-llama-3"),
    ],
)
def test_slugs_of_prices_fit_a_path(model, slug):
    assert price_slug("acme", model) == slug


def test_what_is_left_of_a_period():
    year = Period(DAY(2026, 1, 1), DAY(2027, 1, 1))
    assert year.minus(Period(DAY(2026, 3, 1), DAY(2026, 4, 1))) == [
        Period(DAY(2026, 1, 1), DAY(2026, 3, 1)),
        Period(DAY(2026, 4, 1), DAY(2027, 1, 1)),
    ]
    assert year.minus(Period(None, None)) == []
    assert Period(None, None).minus(Period(None, DAY(2026, 1, 1))) == [Period(DAY(2026, 1, 1), None)]
    assert year.minus(Period(DAY(2027, 1, 1), None)) == [year]
