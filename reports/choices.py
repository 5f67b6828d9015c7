"""Words of the reports app that are stored, and the ONE table of states."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class State(models.TextChoices):
    """Where a version, a chunk of it or a derived file stands."""

    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    COMPLETE = "complete", _("Complete")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


# Every change of state in this app is one of these; nothing leaves complete or cancelled.
TRANSITIONS: dict[State, frozenset[State]] = {
    State.QUEUED: frozenset({State.RUNNING, State.CANCELLED, State.FAILED}),
    State.RUNNING: frozenset({State.QUEUED, State.COMPLETE, State.CANCELLED, State.FAILED}),
    State.FAILED: frozenset({State.QUEUED}),
    State.COMPLETE: frozenset(),
    State.CANCELLED: frozenset(),
}
ACTIVE = (State.QUEUED, State.RUNNING)


def sources(target: State) -> tuple[State, ...]:
    """The states from which `target` may be entered; a guarded UPDATE filters on them."""
    return tuple(state for state, targets in TRANSITIONS.items() if target in targets)


class VersionKind(models.TextChoices):
    """How the rows of a version come about."""

    SWEEP = "sweep", _("Sweep")
    RECOST = "recost", _("Same rows, new prices")


class Visibility(models.TextChoices):
    """Who besides the owner and the people it is shared with may read a report."""

    PRIVATE = "private", _("Owner and shares")
    ALL = "all", _("Everybody signed in")


class FileFormat(models.TextChoices):
    """Forms in which a version can be downloaded."""

    CSV = "csv", "CSV"
    JSON = "json", "JSON"
    XLSX = "xlsx", "Excel"
    PARQUET = "parquet", "Parquet"
    HTML = "html", "HTML"


class SchedulePeriod(models.TextChoices):
    """How often a scheduled report is rebuilt with the catalog of that day."""

    DAILY = "daily", _("Every day")
    WEEKLY = "weekly", _("Every week")
    MONTHLY = "monthly", _("Every 30 days")
