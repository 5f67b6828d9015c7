"""Leases on work: every step is ONE guarded UPDATE, so that the database decides who has what.

Zero rows changed means that somebody else has it, or that a person cancelled it.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Now

from reports import clock, conf
from reports.choices import ACTIVE, State, sources
from reports.models import Artifact, ReportChunk, ReportVersion
from reports.storage import StoredFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Work that is ours until the lease ends: primary key and lease token."""

    pk: int
    token: str


def new_token() -> str:
    """A lease token: 128 random bits."""
    return uuid.uuid4().hex


def claimable(attempts: str = "attempts") -> Q:
    """Queued, or running with a lease that has ended; and not tried too often."""
    expired = Q(state=State.QUEUED) | Q(state=State.RUNNING, lease_until__lt=Now())
    return expired & Q(**{f"{attempts}__lt": conf.MAX_ATTEMPTS})


def _candidates() -> Sequence[int]:
    """The best chunks to claim: fewest remaining rows of their version first, then oldest."""
    remaining = (
        ReportChunk.objects.filter(version=OuterRef("version"), state__in=ACTIVE)
        .order_by()
        .values("version")
        .annotate(total=Sum("rows"))
        .values("total")
    )
    chunks = ReportChunk.objects.filter(claimable(), version__state__in=ACTIVE)
    ordered = chunks.annotate(remaining=Coalesce(Subquery(remaining), 0)).order_by(
        "remaining", "version__created_at", "version_id", "index"
    )
    return list(ordered.values_list("pk", flat=True)[:8])


def claim_chunk() -> Claim | None:
    """Claim the best claimable chunk; None when nothing is claimable."""
    while candidates := _candidates():
        for pk in candidates:
            token = new_token()
            guarded = ReportChunk.objects.filter(claimable(), pk=pk, version__state__in=ACTIVE)
            if guarded.update(
                state=State.RUNNING,
                lease_token=token,
                lease_until=clock.after(conf.lease_s()),
                attempts=F("attempts") + 1,
                rows_done=0,
            ):
                ReportVersion.objects.filter(chunks__pk=pk, state=State.QUEUED).update(
                    state=State.RUNNING, started_at=Now()
                )
                return Claim(pk=pk, token=token)
    return None


def _held_chunk(claim: Claim) -> QuerySet[ReportChunk]:
    return ReportChunk.objects.filter(pk=claim.pk, lease_token=claim.token, state=State.RUNNING)


def heartbeat_chunk(claim: Claim, rows_done: int) -> bool:
    """Write progress and lengthen the lease; False: lost or cancelled."""
    return bool(_held_chunk(claim).update(rows_done=rows_done, lease_until=clock.after(conf.lease_s())))


def complete_chunk(claim: Claim, part: StoredFile) -> bool:
    """Record the part file, fenced by the token; False: the part belongs to nobody and must go."""
    return bool(
        _held_chunk(claim).update(
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
    attempts = F("attempts") - 1 if give_attempt_back else F("attempts")
    return bool(
        _held_chunk(claim).update(state=State.QUEUED, lease_until=None, rows_done=0, attempts=attempts, error=error)
    )


def _finalizable() -> QuerySet[ReportVersion]:
    free = Q(finalize_until__isnull=True) | Q(finalize_until__lt=Now())
    unfinished = ReportChunk.objects.exclude(state=State.COMPLETE).values("version")
    return ReportVersion.objects.filter(free, state=State.RUNNING, finalize_attempts__lt=conf.MAX_ATTEMPTS).exclude(
        pk__in=unfinished
    )


def claim_finalize() -> Claim | None:
    """Claim the last step of a version whose chunks are all complete; smallest first."""
    while candidates := list(_finalizable().order_by("total_rows", "pk").values_list("pk", flat=True)[:8]):
        for pk in candidates:
            token = new_token()
            if (
                _finalizable()
                .filter(pk=pk)
                .update(
                    finalize_token=token,
                    finalize_until=clock.after(conf.lease_s()),
                    finalize_attempts=F("finalize_attempts") + 1,
                )
            ):
                return Claim(pk=pk, token=token)
    return None


def held_version(claim: Claim) -> QuerySet[ReportVersion]:
    """The version, as long as its finalize lease is ours."""
    return ReportVersion.objects.filter(pk=claim.pk, finalize_token=claim.token, state=State.RUNNING)


def heartbeat_finalize(claim: Claim) -> bool:
    """Lengthen the lease of the last step; False: lost or cancelled."""
    return bool(held_version(claim).update(finalize_until=clock.after(conf.lease_s())))


def release_finalize(claim: Claim, *, give_attempt_back: bool = False) -> bool:
    """Let go of the last step so that it can be claimed again."""
    attempts = F("finalize_attempts") - 1 if give_attempt_back else F("finalize_attempts")
    return bool(held_version(claim).update(finalize_until=None, finalize_token="", finalize_attempts=attempts))


def claim_artifact() -> Claim | None:
    """Claim a derived file that somebody waits for; the one of the smallest version first."""
    wanted = Artifact.objects.filter(claimable(), version__state=State.COMPLETE)
    while candidates := list(wanted.order_by("version__total_rows", "pk").values_list("pk", flat=True)[:8]):
        for pk in candidates:
            token = new_token()
            if Artifact.objects.filter(claimable(), pk=pk).update(
                state=State.RUNNING,
                lease_token=token,
                lease_until=clock.after(conf.lease_s()),
                attempts=F("attempts") + 1,
            ):
                return Claim(pk=pk, token=token)
    return None


def held_artifact(claim: Claim) -> QuerySet[Artifact]:
    """The derived file, as long as its lease is ours."""
    return Artifact.objects.filter(pk=claim.pk, lease_token=claim.token, state=State.RUNNING)


def heartbeat_artifact(claim: Claim) -> bool:
    """Lengthen the lease of a derived file; False: lost."""
    return bool(held_artifact(claim).update(lease_until=clock.after(conf.lease_s())))


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
    """How many pieces of work could be claimed now."""
    chunks = ReportChunk.objects.filter(claimable(), version__state__in=ACTIVE).aggregate(n=Count("pk"))["n"]
    artifacts = Artifact.objects.filter(claimable(), version__state=State.COMPLETE).count()
    return int(chunks) + _finalizable().count() + artifacts
