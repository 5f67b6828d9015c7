"""The last step of a version: merge the parts, find what matters, hash, and ONE transaction that completes it."""

from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from estimator.question.sweep import Sweep
from reports import conf
from reports.choices import State
from reports.decision.block import decide
from reports.errors import PASSING, LeaseLostError, ReportError, explain
from reports.models import ReportChunk, ReportVersion
from reports.names import Names
from reports.rows import findings, tables
from reports.storage import ArtifactStore, StoredFile, get_storage
from reports.work import claims, put_off
from reports.work.claims import FINALIZE
from reports.work.keeper import LeaseKeeper, with_lease_kept
from reports.work.leases import Claim
from reports.work.new_file import new_file
from reports.work.pauses import pause_point


def finalize(claim: Claim) -> None:
    """Complete a claimed version, or leave it claimable again; after too many attempts it fails with the reason."""
    with_lease_kept(FINALIZE, claim, _finalize, _give_up)


def _give_up(claim: Claim, error: Exception) -> None:
    code, text = explain(error)
    version = ReportVersion.objects.only("finalize_attempts").get(pk=claim.pk)
    if code in PASSING:
        put_off.put_off_last_step(claim, code, text)
    elif FINALIZE.release(claim) and version.finalize_attempts >= conf.MAX_ATTEMPTS:
        claims.fail_version(claim.pk, code, text)


def _finalize(claim: Claim, keeper: LeaseKeeper) -> None:
    version = ReportVersion.objects.select_related("report").get(pk=claim.pk)
    chunks = list(version.chunks.order_by("index"))
    storage = get_storage()
    if not _heal(claim, chunks, storage):
        return
    with new_file(f"rows/{version.report_id}/v{version.number}-{claim.token}.parquet") as file:
        tables.merge(storage.sound_paths([_part(chunk) for chunk in chunks]), file.scratch)
        keeper.check()
        results = _results(version, file.scratch)
        keeper.check()
        stored = file.keep()
        pause_point("final")
        file.recorded = _complete(claim, stored, results)
    for chunk in chunks:
        storage.remove(chunk.part_name)


def _part(chunk: ReportChunk) -> StoredFile:
    return StoredFile(name=chunk.part_name, bytes=chunk.part_bytes or 0, sha256=chunk.part_sha256)


def _results(version: ReportVersion, rows: Path) -> dict[str, Any]:
    if tables.count_rows(rows) != version.total_rows:
        raise ReportError("rows_missing", _("The parts do not add up to the rows of the version."))
    names = Names(version.snapshot, Sweep.stored(version.inputs["sweep"]))
    summary, found = findings.find(rows, version.inputs, names)
    decision = decide(rows, version.inputs, version.snapshot, summary)
    return {
        "summary": summary,
        "findings": found,
        "decision": decision.model_dump(mode="json"),
        "content_sha256": tables.content_sha256(rows, version.inputs, version.snapshot),
    }


def _heal(claim: Claim, chunks: list[ReportChunk], storage: ArtifactStore) -> bool:
    """Queue again the chunks whose part file is missing or damaged; True when all parts are as they were written."""
    broken = [chunk for chunk in chunks if not storage.is_sound(chunk.part_name, chunk.part_bytes, chunk.part_sha256)]
    if not broken:
        return True
    with transaction.atomic():
        if not FINALIZE.held(claim).select_for_update().exists():
            raise LeaseLostError
        for chunk in broken:
            chunk.delete()
            ReportChunk.objects.create(
                version_id=chunk.version_id,
                index=chunk.index,
                first_row=chunk.first_row,
                rows=chunk.rows,
                attempts=chunk.attempts,
                error=_("The part file was missing or damaged."),
            )
        rows = sum(chunk.rows for chunk in broken)
        FINALIZE.release(claim, give_attempt_back=True, remaining_rows=F("remaining_rows") + rows)
    return False


def _complete(claim: Claim, stored: StoredFile, results: dict[str, Any]) -> bool:
    """The one transaction: the file is there with its size, the lease is ours, all chunks are complete."""
    with transaction.atomic():
        if get_storage().size(stored.name) != stored.bytes:
            raise ReportError("file_error", _("The rows file is not there any more."))
        if ReportChunk.objects.filter(version=claim.pk).exclude(state=State.COMPLETE).exists():
            return False
        return bool(
            FINALIZE.held(claim).update(
                state=State.COMPLETE,
                finished_at=Now(),
                finalize_until=None,
                rows_file=stored.name,
                rows_file_bytes=stored.bytes,
                rows_file_sha256=stored.sha256,
                error="",
                error_code="",
                **results,
            )
        )
