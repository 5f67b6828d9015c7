"""Prices in the admin: pages open, timelines show, edits in place are refused, actions close and void."""

import datetime
from decimal import Decimal

import pytest

from catalog.models import ApiPrice, Provider
from catalog.services.prices import change_price, open_price

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("root", password="x" * 12))
    return client


@pytest.fixture
def row():
    seller = Provider.objects.create(slug="acme", name="Acme")
    first = open_price(ApiPrice(provider=seller, model="m", meter="input", unit="mtok", amount=Decimal(3)))
    change_price(first, amount=Decimal(2), effective_from=datetime.date(2026, 6, 1), reason="cheaper")
    return first


@pytest.mark.parametrize("model", ["provider", "pricelist", "apiprice", "cachepolicy", "gpuoffer"])
def test_every_page_of_prices_opens(staff, row, model):
    assert staff.get(f"/admin/catalog/{model}/").status_code == 200
    assert staff.get(f"/admin/catalog/{model}/add/").status_code == 200


def test_a_price_shows_the_timeline_of_its_meter_and_no_field_to_edit_the_amount(staff, row):
    page = staff.get(f"/admin/catalog/apiprice/{row.pk}/change/").content.decode()
    assert "3 USD per million tokens" in page
    assert "2 USD per million tokens" in page
    assert "2026-06-01" in page
    assert 'name="amount"' not in page


@pytest.mark.parametrize("choice", ["now", "future", "past", "void"])
def test_the_list_filters_by_what_is_in_force(staff, row, choice):
    assert staff.get(f"/admin/catalog/apiprice/?in_force={choice}").status_code == 200


def test_actions_void_and_end_prices(staff, row):
    for action in ("void", "end_today"):
        staff.post("/admin/catalog/apiprice/", {"action": action, "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.voided_at is not None
    assert "root" in row.void_reason
    assert row.effective_to == datetime.date(2026, 6, 1)  # a voided row is not ended again


def test_an_overlap_is_refused_in_words_on_the_form(staff, row):
    form = {"provider": row.provider_id, "model": "m", "meter": "input", "unit": "mtok", "amount": "9",
            "currency": "USD", "channel": "standard", "tier_above_tokens": 0, "tier_operator": "gt",
            "weekday_mask": 127, "basis": "manual"}  # fmt: skip
    page = staff.post("/admin/catalog/apiprice/add/", form).content.decode()
    assert "Overlaps with a price in force" in page
    assert ApiPrice.objects.count() == 2
