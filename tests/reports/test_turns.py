"""Whose turn it is: owners in a round, small before large, and none waits for ever; the counter of remaining rows."""

from typing import Any

import pytest

from estimator.engine.version import ESTIMATOR_VERSION
from reports.choices import State
from reports.models import Artifact, OwnerTurn, ReportChunk, ReportVersion
from reports.services import versions
from reports.storage import StoredFile
from reports.work import claims, derive, reconcile, turns, worker

pytestmark = pytest.mark.django_db
PART = StoredFile(name="parts/1/000000-x.parquet", bytes=3, sha256="0" * 64)


@pytest.fixture(autouse=True)
def ten_rows_a_chunk(settings: Any) -> None:
    settings.AFORO_SWEEP_CHUNK_ROWS = 10


def order(owner: Any, rows: int) -> ReportVersion:
    prepared = versions.Prepared(inputs={}, snapshot={}, total_rows=rows, estimator_version=ESTIMATOR_VERSION)
    return versions.create_report(owner=owner, name="r", prepared=prepared)


def claim_version() -> int | None:
    claim = claims.claim_chunk()
    return ReportChunk.objects.get(pk=claim.pk).version_id if claim else None


def complete_one() -> int:
    claim = claims.claim_chunk()
    assert claim is not None
    assert claims.complete_chunk(claim, PART)
    return ReportChunk.objects.get(pk=claim.pk).version_id


def test_behind_a_flood_of_one_owner_another_gets_every_other_turn(ana, berta, settings):
    settings.AFORO_MAX_VERSIONS_IN_FLIGHT = 150
    for _ in range(150):
        order(ana, rows=10)
    for _ in range(3):
        claims.claim_chunk()
    large = order(berta, rows=100)
    took = [claim_version() for _ in range(20)]
    assert took.count(large.pk) == 10


def test_three_owners_share_the_turns_however_much_each_has_ordered(ana, berta, carla):
    for owner, reports in ((ana, 9), (berta, 3), (carla, 1)):
        for _ in range(reports):
            order(owner, rows=100)
    owners = dict(ReportVersion.objects.values_list("pk", "owner__username"))
    took = [owners[claim_version()] for _ in range(15)]
    assert {name: took.count(name) for name in owners.values()} == {"ana": 5, "berta": 5, "carla": 5}


def test_an_owner_with_nothing_to_claim_loses_no_turn_to_others(ana, berta):
    order(ana, rows=10)
    order(berta, rows=30)
    assert None not in [claim_version() for _ in range(4)]
    assert claim_version() is None


def test_a_large_report_ages_and_small_ones_ordered_later_cannot_keep_it_back(ana):
    """It goes ahead once as many rows were claimed for its owner as it has itself."""
    large = order(ana, rows=100)
    took = []
    for _ in range(30):
        order(ana, rows=10)
        took.append(claim_version())
    assert large.pk not in took[:9]
    assert took.count(large.pk) == 10


def test_the_remaining_rows_are_counted_down_to_the_last_step(ana):
    version = order(ana, rows=25)
    left = []
    for _ in range(3):
        assert claims.claim_finalize() is None
        complete_one()
        left.append(ReportVersion.objects.get(pk=version.pk).remaining_rows)
    assert left == [15, 5, 0]
    assert claims.claim_finalize().pk == version.pk


def test_a_retry_counts_what_it_starts_anew(ana):
    version = order(ana, rows=25)
    claims.fail_version(version.pk, "internal", "it broke")
    versions.retry(version)
    assert ReportVersion.objects.get(pk=version.pk).remaining_rows == 25


def test_a_chunk_of_a_cancelled_version_is_not_counted(ana):
    version = order(ana, rows=25)
    claim = claims.claim_chunk()
    versions.cancel(version)
    assert not claims.complete_chunk(claim, PART)
    assert ReportVersion.objects.get(pk=version.pk).remaining_rows == 25


def test_the_reconciler_counts_anew_what_a_worker_of_an_older_release_did(ana):
    """Release 0.2.0 knows no counter: while a deploy rolls, its workers complete chunks and its web orders reports."""
    version, foreign = order(ana, rows=10), order(ana, rows=10)
    version.chunks.update(state=State.COMPLETE)
    ReportVersion.objects.filter(pk=version.pk).update(state=State.RUNNING)
    nothing = {"owner": None, "needs_estimator": "", "remaining_rows": 0, "due_after_rows": 0}
    ReportVersion.objects.filter(pk=foreign.pk).update(**nothing)
    OwnerTurn.objects.all().delete()
    assert claims.claim_finalize() is None
    assert claims.claim_chunk() is None
    reconcile.reconcile()
    assert claims.claim_finalize().pk == version.pk
    assert claim_version() == foreign.pk


def test_turns_of_owners_with_nothing_in_flight_are_forgotten(ana, berta):
    versions.cancel(order(ana, rows=10))
    order(berta, rows=10)
    assert turns.forget_idle() == 1
    assert OwnerTurn.objects.get().owner_id == berta.pk


def test_a_flood_of_files_leaves_every_other_piece_of_work_to_chunks(ana, monkeypatch):
    done = []
    monkeypatch.setattr(derive, "make", lambda _claim: done.append("file"))
    monkeypatch.setattr(worker, "compute_chunk", lambda _claim: done.append("chunk"))
    complete, waiting = order(ana, rows=10), order(ana, rows=40)
    complete.chunks.update(state=State.COMPLETE)
    ReportVersion.objects.filter(pk=complete.pk).update(state=State.COMPLETE)
    for file_format in ("csv", "json", "xlsx", "html"):
        Artifact.objects.create(version=complete, format=file_format)
    while worker.step():
        pass
    assert waiting.total_rows == 40
    assert {done[place : place + 2].count("file") for place in (0, 2, 4, 6)} == {1}
