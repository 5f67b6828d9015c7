"""A price ends, changes, is voided and restored over REST as in the admin; the schema's examples are its answers."""

import datetime
import os
from decimal import Decimal
from pathlib import Path

import orjson
import pytest
from django.contrib.auth.models import Permission
from rest_framework.test import APIClient

from catalog.api import examples
from catalog.models import ApiPrice, Provider, Withdrawal
from catalog.revisions import current_revision
from catalog.services.prices import close_price, open_price, void_price

pytestmark = pytest.mark.django_db
DAY = datetime.date
CHANGE = {
    "amount": "1.50",
    "effective_from": "2027-01-01",
    "source": "announcement of December",
    "source_url": "https://ai.google.dev/gemini-api/docs/pricing",
    "date_seen": "2026-11-30",
    "change_reason": "Price announcement of December",
}


@pytest.fixture
def row():
    google = Provider.objects.create(slug="google", name="Google")
    return open_price(
        ApiPrice(
            provider=google, model="gemini-2.5-pro", meter="input", unit="mtok", amount=Decimal("1.25"),
            basis="documented", source="price page", date_seen=DAY(2026, 11, 29),
        )
    )  # fmt: skip


def address(row, done=""):
    return f"/api/v1/api-prices/{row.slug}/rows/{row.pk}/" + (f"{done}/" if done else "")


def masked(value, numbers):
    """An answer without what differs from run to run."""
    if isinstance(value, dict):
        days = {"updated_at": "2026-11-30T12:00:00Z", "date": "2026-11-30"}
        shown = {key: masked(child, numbers) for key, child in value.items()}
        shown |= {key: day for key, day in days.items() if key in value}
        if value.get("voided_at"):
            shown["voided_at"] = "2026-11-30T12:00:00Z"
        return shown | ({"id": numbers[value["id"]]} if "id" in value else {})
    return [masked(child, numbers) for child in value] if isinstance(value, list) else value


def hold_example(name, shown):
    if os.environ.get("AFORO_WRITE_EXAMPLES") == "1":
        path = Path(examples.EXAMPLES_DIR) / f"{name}.json"
        path.write_bytes(orjson.dumps(shown, option=orjson.OPT_INDENT_2) + b"\n")
        examples.example.cache_clear()
    assert shown == examples.example(name), "run with AFORO_WRITE_EXAMPLES=1 to write the examples anew, and read them"


def test_the_examples_of_the_schema_are_sent_and_answered_so(editor, row):
    tag = editor.get(address(row))["ETag"]
    changed = editor.post(address(row, "change"), CHANGE, headers={"If-Match": tag})
    assert changed.status_code == 201, changed.content
    opened = changed.json()["opened"]
    numbers = {row.pk: 1001, opened["id"]: 1002}
    assert changed["Location"].endswith(f"/rows/{opened['id']}/")
    assert editor.get(changed["Location"])["ETag"] == changed["ETag"]
    steps = [
        ("close", {"effective_to": "2027-07-01", "change_reason": "The model is retired."}),
        ("void", {"void_reason": "The page spoke of another model."}),
        ("restore", {"change_reason": "It was this model after all."}),
    ]
    hold_example("api-prices-change-request", CHANGE)
    hold_example("api-prices-change", masked(changed.json(), numbers))
    tag = changed["ETag"]
    for done, body in steps:
        answer = editor.post(
            f"/api/v1/api-prices/{row.slug}/rows/{opened['id']}/{done}/", body, headers={"If-Match": tag}
        )
        assert answer.status_code == 200, answer.content
        hold_example(f"api-prices-{done}-request", body)
        hold_example(f"api-prices-{done}", masked(answer.json(), numbers))
        tag = answer["ETag"]
    first, second = ApiPrice.objects.order_by("pk")
    assert (first.amount, first.effective_to) == (Decimal("1.25"), DAY(2027, 1, 1))
    assert (second.amount, second.effective_from, second.effective_to) == (
        Decimal("1.5"), DAY(2027, 1, 1), DAY(2027, 7, 1),
    )  # fmt: skip
    assert second.voided_at is None
    assert second.source_url == CHANGE["source_url"]
    # The void is forgotten; what was said of the days without the price stands.
    assert [each.taken for each in Withdrawal.objects.all()] == ["ended"]
    assert second.history.first().history_change_reason == "It was this model after all."
    assert second.history.first().history_user.username == "ada"


@pytest.mark.parametrize(
    ("done", "body", "pointer", "code"),
    [
        ("close", {}, "#/effective_to", "required"),
        ("close", {"effective_to": None}, "#/effective_to", "required"),
        ("close", {"effective_to": "soon"}, "#/effective_to", "invalid"),
        ("close", {"effective_to": "2026-01-01"}, "#/effective_to", "invalid"),
        ("close", {"effective_to": "2027-01-01", "leave_gap": "yes"}, "#/leave_gap", "invalid_type"),
        ("close", {"effective_to": "2026-11-01"}, "#/effective_to", "invalid"),
        ("change", {"effective_from": "2026-11-01"}, "#/amount", "required"),
        ("change", {"amount": 1.5, "effective_from": "2026-11-01"}, "#/amount", "invalid_type"),
        ("change", {"amount": "NaN", "effective_from": "2026-11-01"}, "#/amount", "invalid"),
        ("change", {"amount": "-1", "effective_from": "2026-11-01"}, "#/amount", "out_of_range"),
        ("change", {"amount": "1", "effective_from": "2026-01-01"}, "#/effective_from", "invalid"),
        ("change", {"amount": "1", "effective_from": "2026-11-01", "meter": "x"}, "#/meter", "unknown_field"),
        ("change", {"amount": "1", "effective_from": "2026-11-01", "source_url": "a"}, "#/source_url", "invalid"),
        ("void", {}, "#/void_reason", "required"),
        ("void", {"void_reason": "  "}, "#/void_reason", "required"),
        ("restore", [], "#", "invalid_type"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_and_nothing_is_written(editor, row, done, body, pointer, code):
    ApiPrice.objects.filter(pk=row.pk).update(effective_from=DAY(2026, 6, 1), effective_to=DAY(2026, 12, 1))
    open_price(
        ApiPrice(provider=row.provider, model=row.model, meter="input", unit="mtok", amount=9,
                 effective_from=DAY(2026, 12, 1))
    )  # fmt: skip
    revision = current_revision().number
    if body == {"effective_to": "2027-01-01", "leave_gap": "yes"}:
        ApiPrice.objects.filter(effective_from=DAY(2026, 12, 1)).update(effective_from=DAY(2028, 1, 1))
        revision = current_revision().number
    answer = editor.post(address(row, done), body)
    assert answer.status_code == 400, answer.content
    assert (pointer, code) in {(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]}
    assert current_revision().number == revision


def test_what_the_state_of_a_price_forbids_is_a_conflict_with_the_tag_of_the_row_as_it_is(editor, row):
    close_price(row, on=DAY(2026, 12, 1))
    open_price(ApiPrice(provider=row.provider, model=row.model, meter="input", unit="mtok", amount=9,
                        effective_from=DAY(2027, 1, 1)))  # fmt: skip
    refusals = {
        "close": ({"effective_to": "2027-06-01"}, "#/effective_to"),
        "change": ({"amount": "2", "effective_from": "2027-06-01"}, "#/effective_from"),
        "restore": ({}, "#/voided_at"),
    }
    for done, (body, pointer) in refusals.items():
        answer = editor.post(address(row, done), body)
        assert answer.status_code == 409, (done, answer.content)
        assert answer.json()["type"] == "urn:aforo:problem:conflict"
        assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]
        assert answer["ETag"] == editor.get(address(row))["ETag"]
    void_price(row, reason="wrong")
    for done, body in {"close": {"effective_to": "2026-11-01"}, "void": {"void_reason": "x"}}.items():
        assert editor.post(address(row, done), body).status_code == 409, done
    ApiPrice.objects.filter(amount=9).update(effective_from=DAY(2026, 6, 1))
    overlap = editor.post(address(row, "restore"), {})
    assert overlap.status_code == 409
    assert "Overlaps with a price in force" in overlap.json()["detail"]


def test_a_change_over_somebody_else_s_is_refused_with_the_new_tag(editor, row):
    tag = editor.get(address(row))["ETag"]
    close_price(row, on=DAY(2027, 1, 1))
    late = editor.post(address(row, "change"), CHANGE, headers={"If-Match": tag})
    assert late.status_code == 412
    assert late["ETag"] == editor.get(address(row))["ETag"] != tag
    assert ApiPrice.objects.count() == 1
    assert editor.get(address(row), headers={"If-None-Match": late["ETag"]}).status_code == 304
    other = Provider.objects.create(slug="other", name="Other")
    stranger = open_price(ApiPrice(provider=other, model="m", meter="input", unit="mtok", amount=1))
    assert editor.get(f"/api/v1/api-prices/{row.slug}/rows/{stranger.pk}/").status_code == 404


def test_a_change_needs_the_right_to_change_and_to_add(row, django_user_model):
    user = django_user_model.objects.create_user("bo", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="change_apiprice"))
    client = APIClient()
    client.force_authenticate(user)
    assert client.post(address(row, "change"), CHANGE).status_code == 403
    assert client.post(address(row, "void"), {"void_reason": "never right"}).status_code == 200
