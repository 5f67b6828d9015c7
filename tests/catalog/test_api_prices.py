"""providers/, api-prices/, cache-policies/ and gpu-offers/ over REST."""

import datetime
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model

from catalog.models import ApiPrice, GpuOffer, Provider
from catalog.services.prices import open_price, void_price

pytestmark = pytest.mark.django_db
DAY = datetime.date


@pytest.fixture
def seller():
    return Provider.objects.create(slug="anthropic", name="Anthropic")


@pytest.fixture
def priced(seller):
    common = {"provider": seller, "model": "claude-x", "meter": "input", "unit": "mtok"}
    open_price(ApiPrice(amount=Decimal("3.50"), effective_to=DAY(2026, 9, 1), **common))
    open_price(ApiPrice(amount=Decimal(4), effective_from=DAY(2026, 9, 1), **common))
    wrong = open_price(ApiPrice(amount=Decimal(300), **(common | {"meter": "output"})))
    return void_price(wrong, reason="typing error")


@pytest.fixture
def staff(client):
    client.force_login(get_user_model().objects.create_superuser("root", password="x"))
    return client


@pytest.mark.parametrize("model", ["claude-x", "anthropic/claude-x", "anthropic-claude-x"])
@pytest.mark.parametrize(("day", "amount"), [("2026-08-31", "3.5"), ("2026-09-01", "4")])
def test_the_meters_in_force_on_a_day(client, priced, model, day, amount):
    answer = client.get(f"/api/v1/api-prices/?model={model}&on={day}").json()
    assert [(row["meter"], row["amount"]) for row in answer["results"]] == [("input", amount)]


def test_the_history_holds_closed_and_voided_rows(client, priced):
    rows = client.get("/api/v1/api-prices/anthropic-claude-x/history/").json()
    assert [(row["meter"], row["amount"], bool(row["voided_at"])) for row in rows] == [
        ("input", "3.5", False),
        ("input", "4", False),
        ("output", "300", True),
    ]
    today = client.get("/api/v1/api-prices/claude-x/").json()
    assert [row["amount"] for row in today] == ["4"]
    assert client.get("/api/v1/api-prices/no-such/history/").status_code == 404


def test_an_overlap_is_refused_in_words(staff, priced):
    body = {"provider": "anthropic", "model": "claude-x", "meter": "input", "unit": "mtok", "amount": "9",
            "currency": "USD"}  # fmt: skip
    response = staff.post("/api/v1/api-prices/", body, content_type="application/json")
    assert response.status_code == 400
    assert "Overlaps" in response.json()["errors"][0]["detail"]
    body |= {"channel": "batch"}
    created = staff.post("/api/v1/api-prices/", body, content_type="application/json")
    assert created.status_code == 201
    assert created.json()["edited_by_person"] is True


def test_anonymous_readers_do_not_write(client, seller):
    assert client.post("/api/v1/api-prices/", {}, content_type="application/json").status_code in (401, 403)


def test_offers_are_filtered_and_never_changed(staff):
    GpuOffer.objects.create(
        slug="o-1", name="o", provider="x", gpu_as_listed="H100", gpu_count=8, market="spot",
        price_per_hour=Decimal(16), price_per_gpu_hour=Decimal(2), source="test",
    )  # fmt: skip
    assert staff.get("/api/v1/gpu-offers/?market=spot").json()["count"] == 1
    assert staff.get("/api/v1/gpu-offers/?market=reserved").json()["count"] == 0
    assert staff.patch("/api/v1/gpu-offers/o-1/", {}, content_type="application/json").status_code == 405


def test_sellers_and_policies_are_listed(client, seller):
    assert client.get("/api/v1/providers/anthropic/").json()["usage_convention"] == "inclusive"
    assert client.get("/api/v1/cache-policies/?provider=anthropic").json()["count"] == 0
