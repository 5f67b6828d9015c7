"""The three kinds of leased work: chunks of rows, last steps of versions, derived files.

Every step is a guarded UPDATE, so that the database decides who has what. Zero rows changed means that somebody else
has it, or that a person cancelled it.
"""

from typing import Any

from django.db.models import F, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from reports import conf
from reports.choices import ACTIVE, State, sources
from reports.models import Artifact, ReportChunk, ReportVersion
from reports.storage import StoredFile
from reports.work.leases import Claim, Lease, QueuedLease


class ChunkLease(QueuedLease[ReportChunk]):
    """Chunks of versions that are queued or running."""

    model = ReportChunk

    def wanted(self) -> QuerySet[ReportChunk]:
        """Smallest version first, its chunks in order."""
        chunks = ReportChunk.objects.filter(self.free(), version__state__in=ACTIVE)
        return chunks.order_by("version__total_rows", "version_id", "index")

    def begun(self) -> dict[str, Any]:
        """It is running, with no row done."""
        return super().begun() | {"rows_done": 0}

    def ended(self) -> dict[str, Any]:
        """It waits again, with no row done."""
        return super().ended() | {"rows_done": 0}


class FinalizeLease(Lease[ReportVersion]):
    """Last steps of running versions whose chunks are all complete."""

    model = ReportVersion
    token = "finalize_token"  # noqa: S105  name of a column
    until = "finalize_until"
    attempts = "finalize_attempts"

    def free(self) -> Q:
        """Running, with nobody at its last step; and not tried too often."""
        nobody = Q(finalize_until__isnull=True) | Q(finalize_until__lt=Now())
        return nobody & Q(state=State.RUNNING, finalize_attempts__lt=conf.MAX_ATTEMPTS)

    def wanted(self) -> QuerySet[ReportVersion]:
        """Smallest version first."""
        unfinished = ReportChunk.objects.exclude(state=State.COMPLETE).values("version")
        return ReportVersion.objects.filter(self.free()).exclude(pk__in=unfinished).order_by("total_rows", "pk")

    def ended(self) -> dict[str, Any]:
        """The token is void."""
        return {"finalize_token": ""}


class ArtifactLease(QueuedLease[Artifact]):
    """Derived files of complete versions that somebody waits for."""

    model = Artifact

    def wanted(self) -> QuerySet[Artifact]:
        """The file of the smallest version first."""
        return Artifact.objects.filter(self.free(), version__state=State.COMPLETE).order_by("version__total_rows", "pk")


CHUNK, FINALIZE, ARTIFACT = ChunkLease(), FinalizeLease(), ArtifactLease()


def claim_chunk() -> Claim | None:
    """Claim the best claimable chunk; None when nothing is claimable."""
    while claim := CHUNK.claim():
        version = Subquery(ReportChunk.objects.filter(pk=claim.pk).values("version_id"))
        runs = ReportVersion.objects.filter(pk=version, state__in=ACTIVE)
        if runs.update(state=State.RUNNING, started_at=Coalesce("started_at", Now())):
            return claim  # else it was cancelled or failed meanwhile, and its chunks with it
    return None


def heartbeat_chunk(claim: Claim, rows_done: int) -> bool:
    """Write progress and lengthen the lease; False: lost or cancelled."""
    return CHUNK.heartbeat(claim, rows_done=rows_done)


def complete_chunk(claim: Claim, part: StoredFile) -> bool:
    """Record the part file, fenced by the token; False: the part belongs to nobody and must go."""
    return bool(
        CHUNK.held(claim).update(
            state=State.COMPLETE,
            rows_done=F("rows"),
            part_name=part.name,
            part_bytes=part.bytes,
            part_sha256=part.sha256,
            lease_until=None,
        )
    )


def release_chunk(claim: Claim, error: str = "", *, give_attempt_back: bool = False) -> bool:
    """Put the chunk back in the queue, after an error or (attempt given back) on a graceful stop."""
    return CHUNK.release(claim, give_attempt_back=give_attempt_back, error=error)


def claim_finalize() -> Claim | None:
    """Claim the last step of a version whose chunks are all complete."""
    return FINALIZE.claim()


def heartbeat_finalize(claim: Claim) -> bool:
    """Lengthen the lease of the last step; False: lost or cancelled."""
    return FINALIZE.heartbeat(claim)


def claim_artifact() -> Claim | None:
    """Claim a derived file that somebody waits for."""
    return ARTIFACT.claim()


def fail_version(version_id: int, code: str, error: str) -> bool:
    """Fail a version for good (until a person retries it), keeping the reason for its reader."""
    changed = ReportVersion.objects.filter(pk=version_id, state__in=sources(State.FAILED)).update(
        state=State.FAILED, error_code=code, error=error, finished_at=Now(), finalize_token="", finalize_until=None
    )
    if changed:
        ReportChunk.objects.filter(version=version_id, state__in=sources(State.FAILED)).update(
            state=State.FAILED, lease_until=None
        )
    return bool(changed)


def waiting() -> int:
    """How many pieces of work could be claimed now; counted up to the most bells that are rung."""
    return sum(len(lease.wanted().values_list("pk")[: conf.MAX_BELLS]) for lease in (CHUNK, FINALIZE, ARTIFACT))
