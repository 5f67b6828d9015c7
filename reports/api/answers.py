"""What the reports endpoints answer, for the schema and for the tests that hold answers against it."""

from typing import Any, Literal

from pydantic import Field

from estimator.estimates.answers import Page, ResponsePart
from reports.decision.parts import Decision

StateName = Literal["queued", "running", "complete", "failed", "cancelled"]
FormatName = Literal["csv", "json", "xlsx", "parquet", "html"]


class VersionError(ResponsePart):
    """Why a version failed."""

    code: str = Field(description="Stable code of the cause.")
    detail: str = Field(description="The cause in words.")


class VersionSummary(ResponsePart):
    """A version in a list."""

    number: int = Field(description="Number of the version, from 1.")
    kind: Literal["sweep", "recost"] = Field(description="A sweep, or the rows of another version at other prices.")
    state: StateName = Field(description="Where it stands; complete versions never change.")
    created_at: str = Field(description="When it was ordered, ISO 8601.")
    completed_at: str | None = Field(description="When it was complete, ISO 8601.")
    rows: int = Field(description="Rows it has or will have.")
    estimator_version: str = Field(description="Version of our formulas.")
    content_sha256: str | None = Field(description="sha256 of inputs, snapshot and rows; null until complete.")
    error: VersionError | None = Field(description="Why it failed; null otherwise.")


Phase = Literal[
    "queued", "rows", "last_step", "waiting_for_disk", "waiting_for_store", "complete", "failed", "cancelled"
]


class VersionProgress(ResponsePart):
    """How far a version is."""

    phase: Phase = Field(
        description=(
            "What happens now: rows are computed, or the last step looks for findings and hashes; while "
            "the disk for report files is full, or their store away, it is tried again. The state once the version has "
            "ended."
        )
    )
    queue_place: int | None = Field(
        description="Place in the queue from 1, owners taking turns; null unless the version is queued."
    )
    detail: str | None = Field(description="What is waited for, in words; null when nothing is.")
    done: int = Field(description="Rows computed.")
    total: int = Field(description="Rows in all.")
    rows_per_s: float | None = Field(description="Rows per second so far; null before the first.")
    eta_s: float | None = Field(
        description="Seconds until all rows are computed at this rate; null when not known, as in the last step."
    )


class VersionFile(ResponsePart):
    """A derived file of a version."""

    format: FormatName = Field(description="Form of the file.")
    state: StateName = Field(description="Whether it is there.")
    bytes: int | None = Field(description="Size, bytes.")
    sha256: str | None = Field(description="sha256 of the file.")
    error: str | None = Field(description="Why it could not be made.")


class ReportFinding(ResponsePart):
    """Something the rows show, with the row that proves it."""

    kind: Literal[
        "largest_batch_that_fits",
        "knee",
        "best_within_slo",
        "pareto_frontier",
        "cheapest_feasible",
        "quantisation_stops_helping",
        "tp_stops_helping",
    ] = Field(description="What it is about.")
    text: str = Field(description="The finding in words.")
    model: str = Field(description="Model it holds for.")
    workload: str = Field(description="Workload it holds for.")
    row_index: int = Field(description="Row that proves it.")
    other_row_index: int | None = Field(description="Row it is held against; null when there is none.")
    row: dict[str, Any] = Field(description="The row, all columns.")
    other_row: dict[str, Any] | None = Field(default=None, description="The other row.")
    row_indices: list[int] | None = Field(default=None, description="Rows of a frontier, at most 60.")
    count: int | None = Field(default=None, description="Rows on the frontier in all.")


class VersionAnswer(VersionSummary):
    """A version on its own."""

    report: str = Field(description="Id of the report.")
    progress: VersionProgress = Field(description="How far it is.")
    parent: int | None = Field(description="Version whose rows a re-costed one has.")
    inputs: dict[str, Any] = Field(description="Sweep, targets and pricing as asked for.")
    snapshot: dict[str, Any] = Field(description="Catalog rows and prices used, with sources.")
    snapshot_sha256: str = Field(description="sha256 of the snapshot.")
    summary: dict[str, Any] | None = Field(description="Counts and best figures; null until complete.")
    findings: list[ReportFinding] = Field(description="What the rows show; empty until complete.")
    files: list[VersionFile] = Field(description="Derived files made so far.")


class DecisionAnswer(ResponsePart):
    """The decision of a version: one line per GPU and workload, the winner, what would change it."""

    decision: Decision | None = Field(description="The decision; null with a reason.")
    reason: str | None = Field(description="Why there is none: the version is not complete, or its rows are away.")


class AcceptedAnswer(ResponsePart):
    """An order taken; ask the address for it."""

    report: str = Field(description="Id of the report.")
    version: int = Field(description="Number of the version.")
    state: StateName = Field(description="queued.")
    url: str = Field(description="Address of the version; also in Location.")


class ReportAnswer(ResponsePart):
    """A report."""

    id: str = Field(description="Id.")
    name: str = Field(description="Name.")
    tags: list[str] = Field(description="Tags.")
    owner: str = Field(description="User name of the owner.")
    mine: bool = Field(description="Whether the caller is the owner.")
    visibility: Literal["private", "all"] = Field(description="Shares only, or everybody signed in.")
    archived: bool = Field(description="Whether it is archived.")
    created_at: str = Field(description="When it was made, ISO 8601.")
    latest_version: VersionSummary | None = Field(description="The newest version.")


class QueueEntry(ResponsePart):
    """A version of the caller's that waits or runs."""

    report: str = Field(description="Id of the report.")
    name: str = Field(description="Name of the report.")
    version: int = Field(description="Number of the version.")
    state: StateName = Field(description="queued or running.")
    progress: VersionProgress = Field(description="Its place in the queue, and how far it is.")


class QueueAnswer(ResponsePart):
    """What waits and runs."""

    running: int = Field(description="Versions that run, of everybody.")
    waiting: int = Field(description="Versions that wait, of everybody.")
    rows_left: int = Field(description="Rows still to be computed, of everybody.")
    mine: list[QueueEntry] = Field(description="The caller's versions, the oldest first, at most 25.")


class ReportPage(Page):
    """A page of reports."""

    results: list[ReportAnswer] = Field(description="The reports.")


class VersionPage(Page):
    """A page of versions."""

    results: list[VersionSummary] = Field(description="The versions, newest first.")


class RowPage(Page):
    """A page of rows."""

    results: list[dict[str, Any]] = Field(description="The rows, all columns; see reports/document-schema/.")


class FileOrdered(ResponsePart):
    """A file that a worker makes."""

    state: StateName = Field(description="queued or running.")
    format: FormatName = Field(description="The format.")
    detail: str | None = Field(description="Why the last try gave none, as a full disk; null before the first.")


class LinkAnswer(ResponsePart):
    """A share link in a list."""

    id: str = Field(description="Id of the link.")
    format: FormatName = Field(description="The one format it opens.")
    created_at: str = Field(description="When it was made, ISO 8601.")
    expires_at: str = Field(description="When it ends, ISO 8601.")
    revoked_at: str | None = Field(description="When it was revoked.")
    last_used_at: str | None = Field(description="When it was last used.")


class MadeLink(LinkAnswer):
    """A share link that was just made."""

    url: str = Field(description="The address to hand on; it is a key, and is not told again.")


class LinkList(ResponsePart):
    """The links of a version."""

    results: list[LinkAnswer] = Field(description="The links, newest first.")


class ShareAnswer(ResponsePart):
    """Read access of a person or group."""

    id: int = Field(description="Id of the share.")
    user: str | None = Field(description="User name; null for a group.")
    group: str | None = Field(description="Group name; null for a person.")
    created_at: str = Field(description="Since when, ISO 8601.")


class ShareList(ResponsePart):
    """Who may read a report."""

    results: list[ShareAnswer] = Field(description="The shares.")


class ScheduleAnswer(ResponsePart):
    """The schedule of a report."""

    period: Literal["daily", "weekly", "monthly"] = Field(description="How often; monthly is every 30 days.")
    enabled: bool = Field(description="Whether it runs.")
    next_at: str = Field(description="When it is next due, ISO 8601.")
    last_error: str | None = Field(description="Why the last one was not possible.")


class DocumentSchema(ResponsePart):
    """A JSON Schema (2020-12)."""

    model_config = {**ResponsePart.model_config, "extra": "allow"}


class DiffAnswer(ResponsePart):
    """What changed between two versions."""

    report: str = Field(description="Id of the report.")
    name: str = Field(description="Name of the report.")
    from_: int = Field(alias="from", description="The older version.")
    to: int = Field(description="The newer version.")
    same_content: bool = Field(description="Both have the same inputs, catalog rows and rows.")
    estimator: dict[str, Any] = Field(description="Versions of our formulas: old, new, changed.")
    inputs: list[dict[str, Any]] = Field(description="Inputs that differ: path, old, new.")
    catalog: list[dict[str, Any]] = Field(description="Catalog rows and prices that differ, with old and new source.")
    rows: dict[str, int] = Field(description="Rows matched, moved, and only in one of them.")
    moved: list[dict[str, Any]] = Field(description="At most 20 rows that moved most, with the amount of each cause.")
    amounts: dict[str, Any] = Field(description="Whether amounts are given, why not, and of which figures.")
