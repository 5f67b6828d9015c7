"""A version of a report (frozen once complete) and its chunks, which are the queue of record."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from reports.choices import ACTIVE, State, VersionKind
from reports.models.report import Report


class ReportVersion(models.Model):
    """Inputs, catalog snapshot and results of one run. Triggers refuse any change once `state` is complete."""

    report = models.ForeignKey(Report, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField(_("version"))
    kind = models.CharField(_("kind"), max_length=10, choices=VersionKind.choices, default=VersionKind.SWEEP)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="children")
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.QUEUED)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)

    inputs = models.JSONField(_("inputs"))
    inputs_sha256 = models.CharField(max_length=64)
    snapshot = models.JSONField(_("catalog snapshot"))
    snapshot_sha256 = models.CharField(max_length=64)
    estimator_version = models.CharField(_("estimator version"), max_length=40)
    total_rows = models.PositiveBigIntegerField(_("rows"))

    # Its place among the work (turns.py of the work room); null and 0 in versions that ended before there were turns.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    # Id of the request that ordered it, for the log lines of those who work on it.
    ordered_by_request = models.CharField(max_length=128, blank=True, default="", db_default="")
    needs_estimator = models.CharField(max_length=40, blank=True, default="", db_default="")
    remaining_rows = models.PositiveBigIntegerField(default=0, db_default=0)
    due_after_rows = models.PositiveBigIntegerField(default=0, db_default=0)
    # A full disk is waited for: since when, and when the next try may be.
    disk_full_since = models.DateTimeField(null=True, blank=True)
    next_try_at = models.DateTimeField(null=True, blank=True)

    finalize_token = models.CharField(max_length=32, blank=True, default="")
    finalize_until = models.DateTimeField(null=True, blank=True)
    finalize_attempts = models.PositiveSmallIntegerField(default=0)
    error_code = models.CharField(_("error code"), max_length=40, blank=True, default="")
    error = models.TextField(_("error"), blank=True, default="")

    summary = models.JSONField(_("summary"), default=dict, blank=True)
    findings = models.JSONField(_("findings"), default=list, blank=True)
    # Null in versions of releases that stored none: theirs is worked out when it is read (decision/stored.py).
    decision = models.JSONField(_("decision"), null=True, blank=True)
    content_sha256 = models.CharField(_("content sha256"), max_length=64, blank=True, default="")
    # The files of the rows in order, each with name, bytes, sha256 and rows; null: they lie in the one rows file.
    rows_parts = models.JSONField(null=True, blank=True)
    rows_file = models.CharField(max_length=200, blank=True, default="")
    rows_file_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    rows_file_sha256 = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        verbose_name = _("report version")
        verbose_name_plural = _("report versions")
        ordering = ["report", "-number"]
        constraints = [models.UniqueConstraint(fields=["report", "number"], name="version_number_once")]
        indexes = [
            models.Index(fields=["state", "created_at"], name="version_active", condition=~Q(state=State.COMPLETE)),
            models.Index(fields=["owner", "due_after_rows", "id"], name="version_turn", condition=Q(state__in=ACTIVE)),
            # Few at any time, and looked for by every worker.
            models.Index(
                fields=["total_rows", "id"],
                name="version_last_step",
                condition=Q(state=State.RUNNING, remaining_rows=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.report} v{self.number}"


class ReportChunk(models.Model):
    """Rows `first_row` … `first_row + rows` of a version; claimed by a lease, written to a part file of its token."""

    # Its unique constraint is the index: one of the version alone would lure the planner into sorting its chunks.
    version = models.ForeignKey(ReportVersion, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    index = models.PositiveIntegerField()
    first_row = models.PositiveBigIntegerField()
    rows = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    lease_token = models.CharField(max_length=32, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    rows_done = models.PositiveIntegerField(default=0)
    part_name = models.CharField(max_length=200, blank=True, default="")
    part_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    part_sha256 = models.CharField(max_length=64, blank=True, default="")
    # Hashes of what the part holds (hashing.py of the rows room); null in parts of releases that had none.
    part_leaves = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True, default="")

    class Meta:
        verbose_name = _("chunk")
        verbose_name_plural = _("chunks")
        ordering = ["version", "index"]
        constraints = [models.UniqueConstraint(fields=["version", "index"], name="chunk_index_once")]
        indexes = [
            models.Index(fields=["lease_until"], name="chunk_leased", condition=Q(state=State.RUNNING)),
            models.Index(fields=["version", "index"], name="chunk_open", condition=~Q(state=State.COMPLETE)),
        ]

    def __str__(self) -> str:
        return f"{self.version_id}/{self.index}"
