"""A full disk passes, and so does a store that is away: work that met one is put off, longer each time.

It fails only after a while (a setting).

The attempt is given back, for the work did nothing wrong.
"""

from datetime import datetime
from typing import Any

from django.db import transaction

from reports import clock, conf
from reports.choices import ACTIVE, State
from reports.models import Artifact, ReportVersion
from reports.work import claims
from reports.work.leases import Claim

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 60.0


def pause_s(waited_s: float) -> float:
    """Seconds until the next try after so many of waiting: as long again, from 5 to 60."""
    return min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, waited_s))


def put_off_chunk(claim: Claim, version_id: int, code: str, text: str) -> None:
    """Let go of a chunk; no chunk of its version is claimed before the pause is over."""
    if claims.CHUNK.release(claim, give_attempt_back=True, error=text):
        _put_off(version_id, code, text)


def put_off_last_step(claim: Claim, code: str, text: str) -> None:
    """Let go of the last step of a version; it is not claimed before the pause is over."""
    if claims.FINALIZE.release(claim, give_attempt_back=True):
        _put_off(claim.pk, code, text)


def put_off_file(claim: Claim, code: str, text: str) -> None:
    """Let go of a derived file; it is not claimed before the pause is over, and fails when that lasted too long."""
    since = Artifact.objects.values_list("disk_full_since", flat=True).get(pk=claim.pk)
    if (columns := _columns(since)) is None:
        failed = {"state": State.FAILED, "lease_until": None, "error": text, "error_code": code}
        claims.ARTIFACT.held(claim).update(**failed)
    else:
        claims.ARTIFACT.release(claim, give_attempt_back=True, error=text, **columns)


def _put_off(version_id: int, code: str, text: str) -> None:
    with transaction.atomic():
        version = ReportVersion.objects.select_for_update(no_key=True).only("disk_full_since").get(pk=version_id)
        if (columns := _columns(version.disk_full_since)) is None:
            claims.fail_version(version_id, code, text)
        else:
            ReportVersion.objects.filter(pk=version_id, state__in=ACTIVE).update(error=text, error_code=code, **columns)


def _columns(since: datetime | None) -> dict[str, Any] | None:
    """Since when and until when to wait; None when that has lasted too long."""
    now = clock.now()
    waited_s = (now - since).total_seconds() if since else 0.0
    if waited_s >= conf.disk_full_retry_s():
        return None
    return {"disk_full_since": since or now, "next_try_at": clock.after(pause_s(waited_s))}
