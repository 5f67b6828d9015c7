"""Whatever a check or the service refuses is shown on the form, whatever field it names; prices end by the rules."""

import datetime
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError

from catalog.admin.two_editors import TwoEditors
from catalog.models import ApiPrice, Provider, Withdrawal
from catalog.services.prices import change_price, open_price
from reports.models import Report
from tests.catalog.admin_pages import PAGES, address, errors_on, first_of, sent_by
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db
DAY = datetime.date


@pytest.fixture
def root(client, django_user_model):
    client.user = django_user_model.objects.create_superuser("root", password="x" * 12)
    client.force_login(client.user)
    return client


EDITED = sorted(label for label, page in PAGES.items() if isinstance(page, TwoEditors))


@pytest.mark.parametrize("label", EDITED)
def test_an_error_of_every_field_of_every_row_is_shown_wherever_it_comes_from(root, label, monkeypatch):
    """Every column, on the form or not: refused by `clean`, and refused at the save."""
    page = PAGES[label]
    if page.model is Report:
        row = Report.objects.create(name="a report", owner=root.user)
    else:
        load_shipped_catalog(with_genai_prices=False)
        row = first_of(page.model)
    form = sent_by(root.get(address(row)))
    names = [name for field in row._meta.concrete_fields for name in {field.name, field.attname}]
    assert len(names) > 5
    refused = {name: [f"refused because of {name}"] for name in [*names, "no_such_field"]}

    def refuse(*_args, **_options):
        raise ValidationError(refused)

    for place, attribute in ((page.model, "clean"), (type(page), "save_model")):
        with monkeypatch.context() as patched:
            patched.setattr(place, attribute, refuse)
            shown = root.post(address(row), form)
        assert shown.status_code == 200
        said = errors_on(shown)
        assert not [name for name in refused if f"refused because of {name}" not in said], attribute


def test_a_row_the_database_refuses_is_said_and_the_form_keeps_what_was_typed(root, monkeypatch):
    load_shipped_catalog(with_genai_prices=False)
    row = Provider.objects.first()
    form = sent_by(root.get(address(row))) | {"notes": "typed for an hour"}

    def refuse(*_args, **_options):
        raise IntegrityError("exclusion constraint")

    monkeypatch.setattr(Provider, "save", refuse)
    shown = root.post(address(row), form)
    assert "Somebody else wrote a row just now" in errors_on(shown)
    assert sent_by(shown)["notes"] == "typed for an hour"


@pytest.fixture
def seller():
    return Provider.objects.create(slug="acme", name="Acme")


def price(seller, start=None, end=None, amount=3, **values):
    made = ApiPrice(provider=seller, model="m", meter="input", unit="mtok", amount=Decimal(amount), **values)
    made.effective_from, made.effective_to = start, end
    return open_price(made)


def change(client, row, **values):
    """Send the row's form with some values changed; its errors, empty when it was saved."""
    form = sent_by(client.get(address(row))) | {name: value for name, value in values.items() if value is not None}
    for name, value in values.items():
        if value is None:
            form.pop(name, None)
    page = client.post(address(row), form)
    return "" if page.status_code == 302 else errors_on(page)


def test_an_overlap_is_said_on_the_form_of_a_price_whose_start_cannot_be_edited(root, seller):
    row = price(seller, end=DAY(2026, 6, 1))
    ApiPrice.objects.filter(pk=row.pk).update(effective_to=None)  # as older releases let it be
    other = ApiPrice(provider=seller, model="m", meter="input", unit="mtok", amount=Decimal(2))
    other.effective_from = DAY(2026, 6, 1)
    other.fill_derived()
    ApiPrice.objects.bulk_create([other])
    assert "effective from: Overlaps with a price in force" in change(root, row, dispute="another source says 2")
    assert change(root, row, effective_to="2026-06-01") == ""


def test_an_ended_price_is_not_opened_again_by_clearing_or_moving_the_field(root, seller):
    row = price(seller, end=DAY(2026, 6, 1))
    for later in (None, "2026-07-01"):
        assert "not opened again" in change(root, row, effective_to=later)
        row.refresh_from_db()
        assert row.effective_to == DAY(2026, 6, 1)


def test_an_end_that_leaves_days_without_a_price_is_refused_until_it_is_meant(root, seller):
    row = price(seller)
    change_price(row, amount=Decimal(2), effective_from=DAY(2026, 12, 10))
    said = change(root, row, effective_to="2026-12-05")
    assert "From 2026-12-05 to 2026-12-10 no price would hold" in said
    row.refresh_from_db()
    assert row.effective_to == DAY(2026, 12, 10)
    assert change(root, row, effective_to="2026-12-05", leave_gap="on") == ""
    row.refresh_from_db()
    assert row.effective_to == DAY(2026, 12, 5)
    word = Withdrawal.objects.get(taken="ended", period_from=DAY(2026, 12, 5))
    assert (word.period_to, word.by) == (DAY(2026, 12, 10), "root")


def test_a_new_price_that_begins_after_a_gap_is_saved_with_a_word(root, seller):
    price(seller, end=DAY(2026, 12, 5))
    form = {
        "provider": seller.pk, "model": "m", "meter": "input", "unit": "mtok", "amount": "9", "currency": "USD",
        "channel": "standard", "tier_above_tokens": 0, "tier_operator": "gt", "weekday_mask": 127, "basis": "manual",
        "effective_from": "2026-12-10",
    }  # fmt: skip
    page = root.post("/admin/catalog/apiprice/add/", form, follow=True)
    assert "From 2026-12-05 to 2026-12-10 no price of this meter holds" in page.content.decode()


def test_the_end_of_a_voided_price_does_not_move(root, seller):
    row = price(seller)
    row.voided_at, row.void_reason = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC), "never right"
    row.save()
    assert "This price was voided" in change(root, row, effective_to="2026-12-05")


def test_the_action_ends_no_price_that_would_leave_a_gap(root, seller):
    row = price(seller)
    change_price(row, amount=Decimal(2), effective_from=DAY(2999, 1, 1))
    url = "/admin/catalog/apiprice/"
    page = root.post(url, {"action": "end_today", "_selected_action": [row.pk]}, follow=True)
    assert "no price would hold" in page.content.decode()
    row.refresh_from_db()
    assert row.effective_to == DAY(2999, 1, 1)
