"""Prices on PostgreSQL itself: overlaps refused by the database, a day's prices found by an index among 100,000."""

import datetime
import json
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction

from catalog.models import ApiPrice, Provider
from catalog.price_facts import price_facts
from catalog.selectors import in_force_on

pytestmark = [pytest.mark.django_db, pytest.mark.services]
DAY = datetime.date


@pytest.fixture(autouse=True)
def _postgresql():
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL")


def row(provider, model="m", **values):
    made = ApiPrice(
        **{"provider": provider, "model": model, "meter": "input", "unit": "mtok", "amount": Decimal(1)} | values
    )
    made.fill_derived()
    return made


def rows_looked_at(plan):
    """Rows that a plan and all below it have taken up, kept or not."""
    thrown = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
    own = (plan["Actual Rows"] + thrown) * plan["Actual Loops"]
    return own + sum(rows_looked_at(below) for below in plan.get("Plans", ()))


def test_the_database_refuses_overlapping_periods():
    provider = Provider.objects.create(slug="acme", name="Acme")
    ApiPrice.objects.bulk_create([row(provider, effective_to=DAY(2026, 1, 1))])
    ApiPrice.objects.bulk_create([row(provider, effective_from=DAY(2026, 1, 1))])
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiPrice.objects.bulk_create([row(provider, effective_from=DAY(2026, 5, 1))])
    ApiPrice.objects.bulk_create([row(provider, effective_from=DAY(2026, 5, 1), channel="batch")])


def test_a_day_of_a_model_reads_few_rows_of_a_hundred_thousand():
    provider = Provider.objects.create(slug="acme", name="Acme")
    start = DAY(2020, 1, 1)
    for model in range(1000):
        rows = [
            row(
                provider,
                f"model-{model}",
                meter=meter,
                effective_from=start + datetime.timedelta(days=100 * step),
                effective_to=start + datetime.timedelta(days=100 * (step + 1)),
            )
            for meter in ("input", "output", "cache_read", "cache_write_5m")
            for step in range(25)
        ]
        ApiPrice.objects.bulk_create(rows)
    assert ApiPrice.objects.count() == 100_000
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE catalog_apiprice")
    for number in range(50):
        query = ApiPrice.objects.filter(
            in_force_on(DAY(2024, 6, 1)), slug=f"acme-model-{number * 17}", voided_at__isnull=True
        ).select_related("provider", "price_list")
        assert len(query) == 4
        plan = json.loads(query.explain(format="json", analyze=True, buffers=True))[0]["Plan"]
        # A model has 100 rows; each step of the plan (index, filter, sort, join) counts them anew.
        assert rows_looked_at(plan) <= 400, plan
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 200, plan
    assert len(price_facts("acme-model-500")["rows"]) == 100
