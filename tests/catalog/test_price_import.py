"""Imports of prices: what they add, close and leave; nothing twice, nothing of a person."""

import datetime
from dataclasses import replace
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.models import ApiPrice, CachePolicy, GpuOffer, PriceRule, Provider
from catalog.models.price_rule import RuleKind
from catalog.price_rows import StatedPrice
from catalog.revisions import current_revision
from catalog.services import price_data, price_sources
from catalog.services.price_import import Source, apply_import, plan_import
from catalog.services.prices import change_price
from catalog.tasks import report_price_differences

pytestmark = pytest.mark.django_db
DAY = datetime.date
TODAY = DAY(2026, 11, 29)
FIRST = Source(slug="s-1", name="s 1", source="s", version="1", sha256="a" * 64, retrieved_on=TODAY)
INPUT = StatedPrice(provider="acme", model="m", meter="input", unit="mtok", amount=Decimal(3))


def import_(stated, source=FIRST, today=TODAY):
    plan = plan_import(replace(source, retrieved_on=today), stated)
    apply_import(plan)
    return plan


def rows():
    return [
        (str(row.amount.normalize()), row.effective_from, row.effective_to, row.basis, bool(row.voided_at))
        for row in ApiPrice.objects.order_by("pk")
    ]


def test_a_first_import_adds_and_a_second_changes_nothing():
    assert len(import_([INPUT]).add) == 1
    before = current_revision()
    again = import_([INPUT])
    assert (len(again.add), len(again.close), again.unchanged) == (0, 0, 1)
    assert current_revision() == before
    row = ApiPrice.objects.get()
    assert (row.price_list.sha256, row.loaded_version, row.source) == ("a" * 64, "1", "")


def test_a_changed_amount_closes_the_open_row_today_and_opens_an_observed_one():
    import_([INPUT])
    import_([replace(INPUT, amount=Decimal(2))], today=DAY(2026, 12, 5))
    assert rows() == [
        ("3", None, DAY(2026, 12, 5), "documented", False),
        ("2", DAY(2026, 12, 5), None, "observed", False),
    ]


def test_a_stated_start_date_wins_over_the_day_of_the_import():
    import_([INPUT])
    stated = [
        replace(INPUT, effective_to=DAY(2027, 1, 1)),
        replace(INPUT, amount=Decimal(5), effective_from=DAY(2027, 1, 1)),
    ]
    import_(stated)
    assert rows() == [
        ("3", None, DAY(2027, 1, 1), "documented", False),
        ("5", DAY(2027, 1, 1), None, "documented", False),
    ]
    assert not import_(stated).writes


def test_a_future_price_that_changes_before_it_takes_effect_is_voided():
    import_([replace(INPUT, effective_from=DAY(2027, 1, 1))])
    import_([replace(INPUT, effective_from=DAY(2027, 1, 1), amount=Decimal(4))])
    assert rows() == [
        ("3", DAY(2027, 1, 1), None, "documented", True),
        ("4", DAY(2027, 1, 1), None, "documented", False),
    ]


def test_the_past_is_not_rewritten():
    import_([replace(INPUT, effective_to=DAY(2026, 1, 1))])
    import_([replace(INPUT, amount=Decimal(9))])
    assert rows() == [
        ("3", None, DAY(2026, 1, 1), "documented", False),
        ("9", DAY(2026, 1, 1), None, "observed", False),
    ]


def test_a_source_that_learns_what_held_before_replaces_its_undated_row():
    import_([INPUT])
    learnt = [
        replace(INPUT, amount=Decimal(5), effective_from=DAY(2025, 3, 1), effective_to=DAY(2025, 11, 14)),
        replace(INPUT, effective_from=DAY(2025, 11, 14)),
    ]
    import_(learnt)
    assert rows() == [
        ("3", None, None, "documented", True),
        ("5", DAY(2025, 3, 1), DAY(2025, 11, 14), "documented", False),
        ("3", DAY(2025, 11, 14), None, "documented", False),
    ]
    assert "since when" in ApiPrice.objects.get(voided_at__isnull=False).void_reason
    assert not import_(learnt).writes


def test_days_held_by_a_person_are_left_and_named():
    import_([INPUT])
    change_price(ApiPrice.objects.get(), amount=Decimal(1), effective_from=DAY(2026, 12, 1), reason="our contract")
    plan = import_([replace(INPUT, amount=Decimal(3))])
    assert not plan.writes
    assert [(each.reason, each.asks) for each in plan.left] == [
        ("held by: edited by a person (same price)", False),
        ("held by: edited by a person (1 USD/mtok there, 3 USD/mtok in the source)", True),
    ]


def test_another_source_fills_only_the_days_nobody_holds():
    import_([replace(INPUT, effective_from=DAY(2026, 6, 1))])
    other, past = (
        replace(FIRST, slug="t-1", source="t"),
        replace(INPUT, amount=Decimal(8), effective_to=DAY(2026, 8, 1)),
    )
    plan = import_([past], source=other)
    assert [(price.effective_from, price.effective_to) for price in plan.add] == [(None, DAY(2026, 6, 1))]
    assert not import_([past], source=other).writes


def test_a_price_of_today_says_nothing_of_the_days_before_others_dated_rows():
    other, today = replace(FIRST, slug="t-1", source="t"), replace(INPUT, amount=Decimal("0.125"))
    own = replace(INPUT, amount=Decimal("0.3125"), effective_from=DAY(2025, 3, 25), effective_to=DAY(2025, 11, 14))
    import_([own])
    plan = import_([today], source=other)
    assert [(price.effective_from, price.effective_to) for price in plan.add] == [(DAY(2025, 11, 14), None)]
    assert plan.left[0].reason == "stated for today: what held before 2025-03-25 is not known"
    assert not import_([today], source=other).writes


def test_what_an_earlier_import_guessed_of_those_days_is_voided():
    other, today = replace(FIRST, slug="t-1", source="t"), replace(INPUT, amount=Decimal("0.125"))
    import_([today], source=other)
    guessed = ApiPrice.objects.get()
    ApiPrice.objects.filter(pk=guessed.pk).update(effective_to=DAY(2025, 3, 25))
    import_([replace(INPUT, amount=Decimal("0.3125"), effective_from=DAY(2025, 3, 25))])
    plan = import_([today], source=other)
    assert (len(plan.add), [closing.void for closing in plan.close]) == (0, [True])
    guessed.refresh_from_db()
    assert guessed.void_reason == "its source states today's price, which says nothing of the days before 2025-03-25"
    assert not import_([today], source=other).writes


def test_a_price_of_today_holds_until_a_dated_row_to_come():
    import_([replace(INPUT, amount=Decimal(9), effective_from=DAY(2027, 1, 1))])
    plan = import_([INPUT], source=replace(FIRST, slug="t-1", source="t"))
    assert [(price.effective_from, price.effective_to) for price in plan.add] == [(None, DAY(2027, 1, 1))]


def test_a_price_the_source_dropped_stays_and_is_named():
    import_([INPUT])
    plan = import_([replace(INPUT, meter="output")])
    assert plan.left[0].reason == "no longer stated by the source; still in force here"
    assert ApiPrice.objects.filter(effective_to__isnull=True).count() == 2


def test_the_whole_package_is_imported_in_batches_and_again_changes_nothing():
    with CaptureQueriesContext(connection) as planned:
        plan = price_sources.plan_genai_prices()
    assert ApiPrice.objects.count() == 0  # a plan writes nothing
    with CaptureQueriesContext(connection) as applied:
        price_sources.apply(plan)
    assert len(planned) + len(applied) < len(plan.add) / 5
    assert ApiPrice.objects.count() == len(plan.add) > 7000
    assert ApiPrice.history.count() == ApiPrice.objects.count()
    assert not price_sources.plan_genai_prices(observed_on=TODAY + datetime.timedelta(days=3)).writes
    assert ApiPrice.objects.filter(price_list__sha256=plan.source.sha256).count() == len(plan.add)


def test_the_command_prints_a_difference_and_writes_nothing_on_a_dry_run():
    out = StringIO()
    call_command("import_prices", "--dry-run", stdout=out)
    assert "to add, 0 to close, 0 unchanged, 0 left alone" in out.getvalue()
    assert ApiPrice.objects.count() == 0


def test_our_own_files_load_and_hold_what_the_package_cannot_say():
    call_command("load_catalog", "--without-genai-prices", stdout=StringIO())
    assert Provider.objects.count() == len(price_data.providers().file.records) > 10
    assert GpuOffer.objects.count() == 162
    storage = ApiPrice.objects.filter(meter="cache_storage_hour")
    assert {row.slug for row in storage} >= {"google-gemini-2.5-pro", "google-gemini-3.8-flash"}
    assert ApiPrice.objects.filter(meter="cache_write_43200s", slug="openai-gpt-6.1-sol").exists()
    assert ApiPrice.objects.filter(provider__slug="alibaba").exists()
    assert ApiPrice.objects.filter(slug="x-ai-grok-4.7", tier_operator="ge", tier_above_tokens=200_000).exists()
    assert ApiPrice.objects.exclude(dispute="").exists()
    assert not ApiPrice.objects.filter(source="").exists()
    assert CachePolicy.objects.filter(min_tokens=512).exists()
    for rule in PriceRule.objects.all():
        rule.full_clean()
    assert set(PriceRule.objects.values_list("kind", flat=True)) == set(RuleKind.values)
    for row in ApiPrice.objects.select_related("provider"):
        row.clean()


def test_the_task_only_reports_differences():
    counts = report_price_differences()
    assert counts["add"] > 7000
    assert ApiPrice.objects.count() == 0
