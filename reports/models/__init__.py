"""Tables of the reports app; the database rows are the queue of record, the broker is only the bell."""

from reports.models.artifact import Artifact
from reports.models.bookkeeping import IdempotencyKey, ReportSchedule, Tombstone
from reports.models.queue import OwnerTurn, WorkerEstimator
from reports.models.report import Report, ReportShare
from reports.models.share_link import ShareLink
from reports.models.store import StoreMark
from reports.models.version import ReportChunk, ReportVersion

__all__ = [
    "Artifact",
    "IdempotencyKey",
    "OwnerTurn",
    "Report",
    "ReportChunk",
    "ReportSchedule",
    "ReportShare",
    "ReportVersion",
    "ShareLink",
    "StoreMark",
    "Tombstone",
    "WorkerEstimator",
]
