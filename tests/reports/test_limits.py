"""What one owner may have in flight and stored: refused in words, with the code that says whether waiting helps."""

import math
from typing import Any

import pytest
from django.db import connection
from rest_framework.settings import api_settings

from config.settings.api import THROTTLE_RATES
from reports import conf
from reports.models import Report, ReportVersion
from reports.services import limits, schedules, versions
from tests.reports.at_once import at_once
from tests.reports.conftest import SWEEP
from tests.reports.test_turns import order as order_directly

pytestmark = pytest.mark.django_db
URL = "/api/v1/reports/"


@pytest.fixture
def complete(make_report: Any, ana: Any) -> ReportVersion:
    return make_report(ana)


@pytest.fixture
def failed(complete: ReportVersion, ana: Any) -> ReportVersion:
    like = {"inputs": complete.inputs, "snapshot": complete.snapshot}
    version = versions.add_version(report=complete.report, created_by=ana, prepared=prepared(10, **like))
    ReportVersion.objects.filter(pk=version.pk).update(state="failed")
    return version


def prepared(rows: int, **like: Any) -> versions.Prepared:
    made_of = {"inputs": {}, "snapshot": {}} | like
    return versions.Prepared(total_rows=rows, estimator_version="0", **made_of)


def orders(complete: ReportVersion, failed: ReportVersion) -> dict[str, tuple[str, dict[str, Any]]]:
    """Every request that puts work into the queue: address and body."""
    base = f"{URL}{complete.report_id}/versions/"
    return {
        "order": (URL, {"name": "x", "sweep": SWEEP}),
        "rebuild": (base, {}),
        "recost": (f"{base}{complete.number}/recost/", {}),
        "retry": (f"{base}{failed.number}/retry/", {}),
    }


KINDS = ("order", "rebuild", "recost", "retry")
LIMITS = [
    ("AFORO_MAX_VERSIONS_IN_FLIGHT", 1, 429, "versions_in_flight"),
    ("AFORO_MAX_ROWS_IN_FLIGHT", 30, 429, "rows_in_flight"),
    ("AFORO_MAX_STORED_BYTES", 1, 409, "stored_bytes"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("setting", "most", "status", "code"), LIMITS)
def test_every_order_beyond_a_limit_is_refused_and_stores_nothing(
    api, ana, complete, failed, settings, kind, setting, most, status, code
):
    order_directly(ana, rows=25)
    before = (Report.objects.count(), ReportVersion.objects.count())
    setattr(settings, setting, most)
    address, body = orders(complete, failed)[kind]
    answer = api(ana).post(address, body, HTTP_IDEMPOTENCY_KEY="k")
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.json()
    assert str(most) in answer.json()["detail"]
    assert ("Retry-After" in answer) == (status == 429)
    assert (Report.objects.count(), ReportVersion.objects.count()) == before
    setattr(settings, setting, 10**12)
    assert api(ana).post(address, body, HTTP_IDEMPOTENCY_KEY="k").status_code == 202


def test_limits_are_each_owners_own(api, ana, berta, loaded_catalog, settings):
    settings.AFORO_MAX_VERSIONS_IN_FLIGHT = 1
    body = {"name": "x", "sweep": SWEEP}
    assert [api(person).post(URL, body).status_code for person in (ana, berta, ana)] == [202, 202, 429]


def test_what_staff_order_for_an_owner_counts_as_the_owners(api, ana, staff, complete, settings):
    settings.AFORO_MAX_VERSIONS_IN_FLIGHT = 1
    base = f"{URL}{complete.report_id}/versions/"
    assert api(staff).post(base, {}).status_code == 202
    assert api(staff).post(base, {}).status_code == 429
    assert api(ana).post(URL, {"name": "x", "sweep": SWEEP}).status_code == 429


def test_a_schedule_over_a_limit_says_so_and_waits_for_its_next_period(ana, complete, settings):
    schedule = schedules.set_schedule(complete.report, period="daily", enabled=True)
    type(schedule).objects.update(next_at=complete.created_at)
    settings.AFORO_MAX_STORED_BYTES = 1
    assert schedules.run_due() == 0
    schedule.refresh_from_db()
    assert "limit for one owner" in schedule.last_error


def test_the_defaults_let_the_largest_sweep_pass():
    assert conf.max_rows_in_flight() >= conf.max_rows()


@pytest.mark.parametrize("kind", KINDS)
def test_all_orders_share_one_throttle(api, ana, complete, failed, kind, monkeypatch):
    monkeypatch.setitem(THROTTLE_RATES, "reports-create", "2/day")
    assert api_settings.DEFAULT_THROTTLE_RATES["reports-create"] == "2/day"
    address, body = orders(complete, failed)[kind]
    statuses = [api(ana).post(*orders(complete, failed)["rebuild"]).status_code for _ in range(2)]
    refused = api(ana).post(address, body)
    assert refused.status_code == 429, statuses
    assert math.isfinite(float(refused["Retry-After"]))


def test_archiving_cancels_what_is_queued_and_running_and_nothing_can_be_ordered(api, ana, complete, failed):
    waiting = versions.add_version(report=complete.report, created_by=ana, prepared=prepared(10))
    running = versions.add_version(report=complete.report, created_by=ana, prepared=prepared(10))
    ReportVersion.objects.filter(pk=running.pk).update(state="running")
    assert api(ana).delete(f"{URL}{complete.report_id}/").status_code == 204
    states = dict(ReportVersion.objects.values_list("pk", "state"))
    assert (states[waiting.pk], states[running.pk], states[complete.pk]) == ("cancelled", "cancelled", "complete")
    for kind in ("rebuild", "recost", "retry"):
        answer = api(ana).post(*orders(complete, failed)[kind])
        assert (answer.status_code, answer.json()["state"]) == (409, "archived")


@pytest.mark.services
def test_orders_at_once_do_not_pass_a_limit_together(flushable, django_user_model, settings):
    if connection.vendor != "postgresql":
        pytest.skip("two transactions at once need PostgreSQL: AFORO_TEST_DATABASE_URL")
    settings.AFORO_MAX_VERSIONS_IN_FLIGHT = 3
    dora = django_user_model.objects.create_user("dora")

    def order() -> str:
        try:
            versions.create_report(owner=dora, name="x", prepared=prepared(5))
        except limits.InFlightLimitError:
            return "refused"
        return "taken"

    assert sorted(at_once([order] * 8)) == ["refused"] * 5 + ["taken"] * 3
