"""Puts right what broke: expired leases, work tried too often, lost wake-ups, files that belong to nobody."""

from dataclasses import dataclass

from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from reports import clock, conf
from reports.choices import ACTIVE, State, sources
from reports.models import Artifact, IdempotencyKey, ReportChunk, ReportVersion
from reports.storage import get_storage
from reports.work import bell, claims, turns

_NAMES_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What one round changed."""

    expired: int
    failed: int
    waiting: int


def reconcile() -> Reconciled:
    """One round: expire leases, fail what was tried too often, ring for what waits."""
    turns.put_right()
    expired = claims.CHUNK.expire() + claims.ARTIFACT.expire()
    failed = _fail_exhausted()
    waiting = claims.waiting()
    if waiting:
        bell.ring(waiting)
    return Reconciled(expired=expired, failed=failed, waiting=waiting)


def _fail_exhausted() -> int:
    failed = 0
    unknown = _("The worker was lost %(times)d times.") % {"times": conf.MAX_ATTEMPTS}
    chunks = ReportChunk.objects.filter(state=State.QUEUED, attempts__gte=conf.MAX_ATTEMPTS, version__state__in=ACTIVE)
    for version_id, error in chunks.values_list("version_id", "error"):
        failed += claims.fail_version(version_id, "attempts_used_up", error or unknown)
    stuck = ReportVersion.objects.filter(state=State.RUNNING, finalize_attempts__gte=conf.MAX_ATTEMPTS).filter(
        Q(finalize_until__isnull=True) | Q(finalize_until__lt=Now())
    )
    for version_id in stuck.values_list("pk", flat=True):
        failed += claims.fail_version(version_id, "attempts_used_up", unknown)
    artifacts = Artifact.objects.filter(state=State.QUEUED, attempts__gte=conf.MAX_ATTEMPTS)
    artifacts.filter(error="").update(error=unknown, error_code="attempts_used_up")
    failed += artifacts.filter(state__in=sources(State.FAILED)).update(state=State.FAILED)
    return failed


def forget_old_keys() -> int:
    """Remove idempotency keys older than a week."""
    return IdempotencyKey.objects.filter(created_at__lt=clock.after(-conf.IDEMPOTENCY_DAYS * 86400)).delete()[0]


def clean_orphans(older_than_s: float = conf.ORPHAN_AGE_S) -> list[str]:
    """Remove files that no row points to, whose token is no current lease, and that are older than a day."""
    storage = get_storage()
    horizon = clock.now().timestamp() - older_than_s
    old = [name for name, changed in storage.walk() if changed < horizon]
    removed = []
    for start in range(0, len(old), _NAMES_AT_ONCE):
        names = old[start : start + _NAMES_AT_ONCE]
        belong = _belonging({name.removesuffix(".part") for name in names})
        for name in names:
            if name.removesuffix(".part") not in belong:
                storage.remove(name)
                removed.append(name)
    return removed


def clean_scratch(older_than_s: float = conf.ORPHAN_AGE_S) -> None:
    """Remove what killed processes of this machine left half written, once it is older than a day."""
    horizon = clock.now().timestamp() - older_than_s
    for path in conf.scratch_dir().glob("*/*"):
        if path.parent != conf.cache_dir() and path.is_file() and path.stat().st_mtime < horizon:
            path.unlink(missing_ok=True)


def _belonging(names: set[str]) -> set[str]:
    """Those of the names that a row points to, or whose token is a current lease."""
    kept = Q(version__state__in=(*ACTIVE, State.FAILED)) | Q(version__rows_parts__isnull=False)
    found = set(ReportChunk.objects.filter(kept, part_name__in=names).values_list("part_name", flat=True))
    found |= set(ReportVersion.objects.filter(rows_file__in=names).values_list("rows_file", flat=True))
    found |= set(Artifact.objects.filter(file_name__in=names).values_list("file_name", flat=True))
    tokens = {name.rsplit(".", 1)[0].rsplit("-", 1)[-1]: name for name in names - found}
    leased = [
        ReportChunk.objects.filter(state=State.RUNNING, lease_token__in=tokens).values_list("lease_token", flat=True),
        Artifact.objects.filter(state=State.RUNNING, lease_token__in=tokens).values_list("lease_token", flat=True),
        ReportVersion.objects.filter(state=State.RUNNING, finalize_token__in=tokens).values_list(
            "finalize_token", flat=True
        ),
    ]
    return found | {tokens[token] for held in leased for token in held}
