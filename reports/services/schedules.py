"""Regular rebuilds with the catalog of the day."""

import logging
from datetime import timedelta

from django.db import DatabaseError, transaction
from django.db.models import F
from django.db.models.functions import Now

from estimator.engine.faults import ResolutionError
from reports import clock
from reports.choices import SchedulePeriod
from reports.errors import explain
from reports.models import Report, ReportSchedule, ReportVersion
from reports.services.limits import LimitError
from reports.services.preparing import prepare_again
from reports.services.versions import add_version

log = logging.getLogger(__name__)

_DAYS: dict[str, int] = {SchedulePeriod.DAILY: 1, SchedulePeriod.WEEKLY: 7, SchedulePeriod.MONTHLY: 30}


def set_schedule(report: Report, *, period: str, enabled: bool) -> ReportSchedule:
    """Rebuild the report every period, for the first time one period from now."""
    schedule, _made = ReportSchedule.objects.update_or_create(
        report=report,
        defaults={
            "period": period,
            "enabled": enabled,
            "last_error": "",
            "next_at": clock.now() + timedelta(days=_DAYS[period]),
        },
    )
    return schedule


def end_schedule(report: Report) -> None:
    """Rebuild no more."""
    ReportSchedule.objects.filter(report=report).delete()


def schedule_of(report: Report) -> ReportSchedule | None:
    """The schedule of a report, if it has one."""
    return ReportSchedule.objects.filter(report=report).first()


def run_due() -> int:
    """Make the versions that are due; each once, however many workers look. Returns how many were made.

    A missed period is made up once, not as often as it was missed.
    """
    made = 0
    due = ReportSchedule.objects.filter(enabled=True, next_at__lte=Now(), report__owner__is_active=True)
    for schedule in due.select_related("report__owner"):
        try:
            made += _run(schedule)
        except DatabaseError:
            raise  # not the schedule's fault: it is due again in the next round
        except Exception as error:  # one that breaks must not keep the others waiting
            _put_off(schedule, explain(error)[1])
    return made


def _put_off(schedule: ReportSchedule, error: str) -> None:
    """Note why and wait for the next period."""
    ReportSchedule.objects.filter(pk=schedule.pk, next_at=schedule.next_at).update(
        next_at=clock.now() + timedelta(days=_DAYS[schedule.period]), last_error=error
    )


def _run(schedule: ReportSchedule) -> bool:
    period = timedelta(days=_DAYS[schedule.period])
    missed = max(0, (clock.now() - schedule.next_at) // period)
    with transaction.atomic():
        claimed = ReportSchedule.objects.filter(pk=schedule.pk, next_at=schedule.next_at, enabled=True).update(
            next_at=schedule.next_at + (missed + 1) * period
        )
        if not claimed or schedule.report.archived_at is not None:
            return False
        latest = ReportVersion.objects.filter(report=schedule.report, number=F("report__last_number")).first()
        if latest is None:
            return False
        try:
            rebuild(schedule.report, latest)
        except (ResolutionError, LimitError) as error:
            ReportSchedule.objects.filter(pk=schedule.pk).update(last_error=str(error))
            log.warning("scheduled rebuild of report %s is not possible: %s", schedule.report_id, error)
            return False
    return True


def rebuild(report: Report, like: ReportVersion) -> ReportVersion:
    """A new version with the inputs of another and the catalog of now.

    Raises:
        ResolutionError: The catalog no longer holds what the inputs name.
    """
    return add_version(report=report, created_by=report.owner, prepared=prepare_again(like))
