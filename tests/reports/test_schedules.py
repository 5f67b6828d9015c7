"""Scheduled rebuilds: once when due, made up once when missed, with the reason kept when not possible."""

from datetime import timedelta

import pytest

from catalog.models import LanguageModel
from reports import clock
from reports.models import ReportSchedule
from reports.services import schedules
from reports.work import worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def due(ana, make_report):
    report = make_report(ana).report
    schedules.set_schedule(report, period="weekly", enabled=True)
    ReportSchedule.objects.update(next_at=clock.now() - timedelta(days=15))
    return report


def test_nothing_is_due_before_its_time(ana, make_report):
    schedules.set_schedule(make_report(ana).report, period="daily", enabled=True)
    assert schedules.run_due() == 0


def test_a_missed_schedule_is_made_up_once_and_moves_on(due):
    assert schedules.run_due() == 1
    assert schedules.run_due() == 0
    worker.run()
    assert [(v.number, v.state) for v in due.versions.order_by("number")] == [(1, "complete"), (2, "complete")]
    ahead = ReportSchedule.objects.get().next_at - clock.now()
    assert timedelta(0) < ahead <= timedelta(days=7)


def test_an_archived_report_and_a_schedule_switched_off_are_left_alone(due):
    ReportSchedule.objects.update(enabled=False)
    assert schedules.run_due() == 0
    ReportSchedule.objects.update(enabled=True)
    due.archived_at = clock.now()
    due.save()
    assert schedules.run_due() == 0
    assert due.versions.count() == 1


def test_what_the_catalog_no_longer_holds_is_told(due):
    LanguageModel.objects.filter(slug="llama-3.1-8b").update(slug="gone")
    from catalog.revisions import catalog_write

    with catalog_write():
        pass
    assert schedules.run_due() == 0
    assert "llama-3.1-8b" in ReportSchedule.objects.get().last_error
