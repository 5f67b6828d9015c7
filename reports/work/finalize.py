"""The last step of a version: find what matters in its parts, and ONE transaction that completes it.

The parts stay as they are: they are the rows, and whoever computed one hashed it.
"""

import logging
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from estimator.question.sweep import Sweep
from reports import conf
from reports.choices import State
from reports.decision.block import decide
from reports.doing import doing
from reports.errors import PASSING, LeaseLostError, ReportError, explain
from reports.models import ReportChunk, ReportVersion
from reports.names import Names
from reports.rows import findings, hashing, tables
from reports.storage import ArtifactStore, RowFiles, StoredFile, get_storage
from reports.work import claims, put_off
from reports.work.claims import FINALIZE
from reports.work.keeper import LeaseKeeper, with_lease_kept
from reports.work.leases import Claim
from reports.work.pauses import pause_point

log = logging.getLogger(__name__)


def finalize(claim: Claim) -> None:
    """Complete a claimed version, or leave it claimable again; after too many attempts it fails with the reason."""
    version = ReportVersion.objects.only("report", "number", "ordered_by_request").get(pk=claim.pk)
    with doing(version.ordered_by_request, report=version.report_id, version=version.number):
        with_lease_kept(FINALIZE, claim, _finalize, _give_up)


def _give_up(claim: Claim, error: Exception) -> None:
    code, text = explain(error)
    log.warning("a last step is given up: %s", text)
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
    parts = [_part(chunk) for chunk in chunks]
    rows = storage.sound_paths(parts)
    keeper.check()
    results = _results(version, chunks, rows)
    keeper.check()
    pause_point("final")
    if _complete(claim, parts, results):
        log.info("complete with %d rows", version.total_rows)


def _part(chunk: ReportChunk) -> StoredFile:
    return StoredFile(name=chunk.part_name, bytes=chunk.part_bytes or 0, sha256=chunk.part_sha256)


def _results(version: ReportVersion, chunks: list[ReportChunk], rows: RowFiles) -> dict[str, Any]:
    if tables.count_rows(rows) != version.total_rows:
        raise ReportError("rows_missing", _("The parts do not add up to the rows of the version."))
    names = Names(version.snapshot, Sweep.stored(version.inputs["sweep"]))
    summary, found = findings.find(rows, version.inputs, names)
    decision = decide(rows, version.inputs, version.snapshot, summary)
    return {
        "summary": summary,
        "findings": found,
        "decision": decision.model_dump(mode="json"),
        "content_sha256": hashing.content_sha256(version.inputs, version.snapshot, _leaves(chunks, rows)),
    }


def _leaves(chunks: list[ReportChunk], rows: RowFiles) -> Iterator[str]:
    """The hashes of all blocks of rows; those of a part that an older release computed are made now."""
    for chunk, path in zip(chunks, rows, strict=True):
        yield from chunk.part_leaves or hashing.leaves_of(path, chunk.first_row, chunk.rows)


def _heal(claim: Claim, chunks: list[ReportChunk], storage: ArtifactStore) -> bool:
    """Queue again the chunks whose part file is missing or damaged; True when all parts are as they were written."""
    sound = storage.are_sound([_part(chunk) for chunk in chunks])
    broken = [chunk for chunk, well in zip(chunks, sound, strict=True) if not well]
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


def _complete(claim: Claim, parts: list[StoredFile], results: dict[str, Any]) -> bool:
    """The one transaction: the lease is ours, all chunks are complete, and their parts are those that were read."""
    with transaction.atomic():
        chunks = list(ReportChunk.objects.filter(version=claim.pk).order_by("index"))
        if any(chunk.state != State.COMPLETE for chunk in chunks) or [_part(chunk) for chunk in chunks] != parts:
            return False
        return bool(
            FINALIZE.held(claim).update(
                state=State.COMPLETE,
                finished_at=Now(),
                finalize_until=None,
                rows_file_bytes=sum(part.bytes or 0 for part in parts),
                error="",
                error_code="",
                **_files(chunks),
                **results,
            )
        )


def _files(chunks: list[ReportChunk]) -> dict[str, Any]:
    """Where the rows lie: one part is the rows file itself."""
    if len(chunks) == 1:
        return {"rows_file": chunks[0].part_name, "rows_file_sha256": chunks[0].part_sha256}
    keys = ("name", "bytes", "sha256", "rows")
    entries = [(chunk.part_name, chunk.part_bytes, chunk.part_sha256, chunk.rows) for chunk in chunks]
    return {"rows_parts": [dict(zip(keys, entry, strict=True)) for entry in entries]}
