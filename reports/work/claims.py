"""The three kinds of leased work: chunks of rows, last steps of versions, derived files.

Every step is a guarded UPDATE, so that the database decides who has what. Zero rows changed means that somebody else
has it, or that a person cancelled it.
"""

from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Greatest, Now

from reports import conf
from reports.choices import ACTIVE, State, sources
from reports.models import Artifact, ReportChunk, ReportVersion
from reports.storage import StoredFile
from reports.work import estimators, turns
from reports.work.leases import Claim, Lease, QueuedLease

# More than workers claim at the same moment.
_LOOKED_AT = 32


class ChunkLease(QueuedLease[ReportChunk]):
    """Chunks of versions that are queued or running."""

    model = ReportChunk

    def wanted(self) -> QuerySet[ReportChunk]:
        """All of them, in the order of turns; it sorts them, `claim` does not."""
        ready = ReportVersion.objects.filter(turns.workable())
        chunks = self._chunks().filter(version__in=ready).annotate(turn=turns.last_turn("version__owner"))
        return chunks.order_by("turn", "version__due_after_rows", "version_id", "index")

    def claim(self) -> Claim | None:
        """Take the next chunk of the version whose turn it is; only if all of those are just being claimed, another.

        `wanted` reads and sorts the whole queue. It has the last word alone: where more workers claim at once than
        versions are looked at, and where an older release ordered without turns.
        """
        best = turns.best_versions(self.free()).values("best")[:1]
        in_turn = self._chunks().filter(version=Subquery(best)).order_by("index")
        return self.claim_of(in_turn) or self._claim_beside_others() or self.claim_of(self.wanted())

    def _claim_beside_others(self) -> Claim | None:
        """Of the versions that follow in turn; each is looked at by its index alone, however long the queue is."""
        for version in islice(turns.versions_in_turn(self.free(), _LOOKED_AT), _LOOKED_AT):
            if claim := self.claim_of(self._chunks().filter(version=version).order_by("index")):
                return claim
        return None

    def waiting(self, most: int) -> int:
        """How many there are, up to `most`; unlike `wanted` it sorts nothing."""
        chunks = ReportChunk.objects.filter(self.free())
        found = 0
        for version in turns.with_chunks(self.free()).values_list("pk", flat=True)[:most]:
            found += len(chunks.filter(version=version).values_list("pk")[: most - found])
            if found >= most:
                break
        return found

    def taken(self, row: ReportChunk) -> bool:
        """The version runs, and its owner had a turn; False: it was cancelled meanwhile, and its chunks with it."""
        version = row.version
        if version.state == State.QUEUED:
            runs = ReportVersion.objects.filter(pk=version.pk, state__in=ACTIVE)
            if not runs.update(state=State.RUNNING, started_at=Coalesce("started_at", Now())):
                return False
        turns.note(version.owner_id, row.rows)
        return True

    def _chunks(self) -> QuerySet[ReportChunk]:
        chunks = ReportChunk.objects.filter(self.free()).select_related("version")
        return chunks.only("rows", "version__state", "version__owner")

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
        return nobody & Q(state=State.RUNNING, remaining_rows=0, finalize_attempts__lt=conf.MAX_ATTEMPTS)

    def wanted(self) -> QuerySet[ReportVersion]:
        """By the turns of their owners, the smallest version first."""
        unfinished = ReportChunk.objects.filter(version=OuterRef("pk")).exclude(state=State.COMPLETE)
        ready = ReportVersion.objects.filter(self.free(), turns.workable()).exclude(Exists(unfinished)).only("owner")
        return ready.annotate(turn=turns.last_turn("owner")).order_by("turn", "total_rows", "pk")

    def taken(self, row: ReportVersion) -> bool:
        """Its owner had a turn."""
        turns.note(row.owner_id)
        return True

    def ended(self) -> dict[str, Any]:
        """The token is void."""
        return {"finalize_token": ""}


class ArtifactLease(QueuedLease[Artifact]):
    """Derived files of complete versions that somebody waits for."""

    model = Artifact

    def free(self) -> Q:
        """As every queued row, and not waiting for a disk."""
        return super().free() & (Q(next_try_at__isnull=True) | Q(next_try_at__lt=Now()))

    def wanted(self) -> QuerySet[Artifact]:
        """By the turns of the owners of their reports, the file of the smallest version first."""
        files = Artifact.objects.filter(self.free(), version__state=State.COMPLETE)
        files = files.exclude(version__estimator_version__in=estimators.newer_than_ours())
        ordered = files.annotate(turn=turns.last_turn("version__report__owner")).select_related("version__report")
        return ordered.only("version__report__owner").order_by("turn", "version__total_rows", "pk")

    def taken_from_the_start(self, token: str) -> dict[str, Any]:
        """The columns of a new row that is claimed in its insert."""
        return self.taking(token) | {self.attempts: 1}

    def taken(self, row: Artifact) -> bool:
        """The owner of the report had a turn."""
        turns.note(row.version.report.owner_id)
        return True


CHUNK, FINALIZE, ARTIFACT = ChunkLease(), FinalizeLease(), ArtifactLease()


def claim_chunk() -> Claim | None:
    """Claim the best claimable chunk; None when nothing is claimable."""
    return CHUNK.claim()


def complete_chunk(claim: Claim, part: StoredFile, leaves: list[str] | None = None) -> bool:
    """Record the part file, fenced by the token; False: the part belongs to nobody and must go."""
    chunk = ReportChunk.objects.only("rows", "version").filter(pk=claim.pk).first()
    if chunk is None:
        return False
    with transaction.atomic():
        # The version first, as everywhere: two that lock in two orders wait for each other.
        left = Greatest(F("remaining_rows") - chunk.rows, 0)
        counted = ReportVersion.objects.filter(pk=chunk.version_id, state=State.RUNNING).update(
            remaining_rows=left, disk_full_since=None, next_try_at=None, error_code=""
        )
        done = counted and CHUNK.held(claim).update(
            state=State.COMPLETE,
            rows_done=F("rows"),
            part_name=part.name,
            part_bytes=part.bytes,
            part_sha256=part.sha256,
            part_leaves=leaves,
            lease_until=None,
            error="",
        )
        if not done:
            transaction.set_rollback(True)
    return bool(done)


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
    with transaction.atomic():
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
    return sum(lease.waiting(conf.MAX_BELLS) for lease in (CHUNK, FINALIZE, ARTIFACT))
