"""Leases and the state table: who may change what, and that nobody else can."""

import pytest
from django.db import IntegrityError, transaction

from estimator.engine.version import ESTIMATOR_VERSION
from reports import clock, conf
from reports.choices import TRANSITIONS, State, sources
from reports.models import ReportChunk, ReportVersion, Tombstone
from reports.services import versions
from reports.services.idempotency import KeyReusedError, once
from reports.storage import StoredFile, get_storage
from reports.work import claims, reconcile

pytestmark = pytest.mark.django_db
PART = StoredFile(name="parts/1/000000-x.parquet", bytes=3, sha256="0" * 64)


def prepared(rows: int = 250) -> versions.Prepared:
    return versions.Prepared(inputs={"a": 1}, snapshot={"b": 2}, total_rows=rows, estimator_version=ESTIMATOR_VERSION)


@pytest.fixture
def version(ana, settings) -> ReportVersion:
    settings.AFORO_SWEEP_CHUNK_ROWS = 100
    return versions.create_report(owner=ana, name="r", prepared=prepared())


def test_nothing_leaves_complete_or_cancelled():
    assert TRANSITIONS[State.COMPLETE] == TRANSITIONS[State.CANCELLED] == frozenset()
    assert set(sources(State.COMPLETE)) == {State.RUNNING}
    assert set(sources(State.FAILED)) == {State.QUEUED, State.RUNNING}


def test_create_makes_report_version_and_chunks_and_rings_after_commit(
    ana, settings, bells, django_capture_on_commit_callbacks
):
    settings.AFORO_SWEEP_CHUNK_ROWS = 100
    with django_capture_on_commit_callbacks(execute=True):
        version = versions.create_report(owner=ana, name="r", prepared=prepared())
        assert bells == []
    assert bells == [3]
    assert version.number == 1
    assert list(version.chunks.values_list("first_row", "rows")) == [(0, 100), (100, 100), (200, 50)]


def test_a_chunk_is_claimed_once_in_order_and_the_version_runs(version):
    taken = [claims.claim_chunk() for _ in range(4)]
    assert taken[3] is None
    assert [ReportChunk.objects.get(pk=claim.pk).index for claim in taken[:3]] == [0, 1, 2]
    version.refresh_from_db()
    assert version.state == State.RUNNING
    assert version.started_at is not None


def test_small_reports_do_not_wait_behind_huge_ones(version, ana):
    claims.claim_chunk()
    small = versions.create_report(owner=ana, name="small", prepared=prepared(rows=10))
    assert ReportChunk.objects.get(pk=claims.claim_chunk().pk).version_id == small.pk


def test_an_expired_lease_is_claimed_by_another_and_the_first_is_fenced_out(version):
    first = claims.claim_chunk()
    ReportChunk.objects.filter(pk=first.pk).update(lease_until=clock.after(-1))
    second = claims.claim_chunk()
    assert second.pk == first.pk
    assert second.token != first.token
    assert not claims.CHUNK.heartbeat(first)
    assert not claims.complete_chunk(first, PART)
    assert not claims.release_chunk(first)
    assert claims.complete_chunk(second, PART)
    assert ReportChunk.objects.get(pk=first.pk).attempts == 2


def test_a_live_lease_is_left_alone(version):
    claim = claims.claim_chunk()
    assert reconcile.reconcile().expired == 0
    assert claims.CHUNK.heartbeat(claim)


def test_the_reconciler_expires_leases_and_rings(version, bells):
    claim = claims.claim_chunk()
    ReportChunk.objects.filter(pk=claim.pk).update(lease_until=clock.after(-1))
    assert reconcile.reconcile() == reconcile.Reconciled(expired=1, failed=0, waiting=3)
    assert bells == [3]
    assert not claims.complete_chunk(claim, PART)


def test_a_version_fails_after_five_lost_attempts_and_keeps_the_last_error(version):
    for attempt in range(conf.MAX_ATTEMPTS):
        claim = claims.claim_chunk()
        assert claims.release_chunk(claim, error=f"disk {attempt}")
    reconcile.reconcile()
    version.refresh_from_db()
    assert (version.state, version.error, version.error_code) == (State.FAILED, "disk 4", "attempts_used_up")
    assert not version.chunks.filter(state__in=["queued", "running"]).exists()
    assert claims.claim_chunk() is None


def test_a_graceful_stop_gives_the_attempt_back(version):
    claim = claims.claim_chunk()
    assert claims.release_chunk(claim, give_attempt_back=True)
    chunk = ReportChunk.objects.get(pk=claim.pk)
    assert (chunk.attempts, chunk.state) == (0, State.QUEUED)


def complete_all(version) -> None:
    while claim := claims.claim_chunk():
        assert claims.complete_chunk(claim, PART)


def test_the_last_step_is_claimed_only_when_all_chunks_are_complete_and_by_one(version):
    claims.claim_chunk()
    assert claims.claim_finalize() is None
    ReportChunk.objects.filter(state=State.RUNNING).update(lease_until=clock.after(-1))
    complete_all(version)
    claim = claims.claim_finalize()
    assert claim.pk == version.pk
    assert claims.claim_finalize() is None
    ReportVersion.objects.filter(pk=version.pk).update(finalize_until=clock.after(-1))
    other = claims.claim_finalize()
    assert not claims.heartbeat_finalize(claim)
    assert claims.heartbeat_finalize(other)


def test_cancel_fences_the_worker_out_and_is_refused_twice(version):
    claim = claims.claim_chunk()
    versions.cancel(version)
    assert not claims.CHUNK.heartbeat(claim)
    assert claims.claim_chunk() is None
    with pytest.raises(versions.IllegalChangeError):
        versions.cancel(version)


def test_retry_keeps_whole_parts_and_starts_the_others_anew(version):
    storage = get_storage()
    claim = claims.claim_chunk()
    scratch = storage.scratch("parts/x.parquet")
    scratch.write_bytes(b"abc")
    claims.complete_chunk(claim, storage.keep(scratch, "parts/x.parquet"))
    claims.fail_version(version.pk, "internal", "it broke")
    versions.retry(version)
    version.refresh_from_db()
    assert (version.state, version.error) == (State.QUEUED, "")
    assert list(version.chunks.order_by("index").values_list("state", "attempts")) == [
        ("complete", 1),
        ("queued", 0),
        ("queued", 0),
    ]
    with pytest.raises(versions.IllegalChangeError):
        versions.retry(version)


def freeze(version) -> None:
    ReportVersion.objects.filter(pk=version.pk).update(state=State.COMPLETE)


def test_a_complete_version_cannot_be_changed_by_any_query(version):
    freeze(version)
    for change in ({"error": "x"}, {"state": State.QUEUED}, {"snapshot": {}}):
        with pytest.raises(IntegrityError), transaction.atomic():
            ReportVersion.objects.filter(pk=version.pk).update(**change)


def test_a_complete_version_can_be_deleted_only_with_a_tombstone(version):
    freeze(version)
    with pytest.raises(IntegrityError), transaction.atomic():
        ReportVersion.objects.filter(pk=version.pk)._raw_delete("default")
    Tombstone.objects.create(version_id=version.pk, report_id=version.report_id, number=1, reason="test")
    ReportChunk.objects.filter(version=version).delete()
    ReportVersion.objects.get(pk=version.pk).delete()
    assert not ReportVersion.objects.filter(pk=version.pk).exists()


def test_a_cancelled_version_stays_cancelled(version):
    versions.cancel(version)
    with pytest.raises(IntegrityError), transaction.atomic():
        ReportVersion.objects.filter(pk=version.pk).update(state=State.QUEUED)


def test_rebuilds_get_the_next_numbers(version, ana):
    second = versions.add_version(report=version.report, created_by=ana, prepared=prepared())
    third = versions.add_version(report=version.report, created_by=ana, prepared=prepared())
    assert (second.number, third.number) == (2, 3)


def test_the_same_key_creates_once_and_another_body_is_refused(ana, berta):
    made = []

    def make():
        made.append(1)
        return {"n": len(made)}

    assert once(owner=ana, key="k", body_sha256="a", make=make) == ({"n": 1}, True)
    assert once(owner=ana, key="k", body_sha256="a", make=make) == ({"n": 1}, False)
    assert once(owner=berta, key="k", body_sha256="b", make=make) == ({"n": 2}, True)
    with pytest.raises(KeyReusedError):
        once(owner=ana, key="k", body_sha256="b", make=make)


def test_orphans_go_only_when_old_unreferenced_and_without_a_lease(version, artifact_dir):
    storage = get_storage()
    claim = claims.claim_chunk()
    names = {
        "leased": f"parts/{version.pk}/000000-{claim.token}.parquet",
        "leased scratch": f"parts/{version.pk}/000000-{claim.token}.parquet.part",
        "orphan": f"parts/{version.pk}/000000-{'f' * 32}.parquet",
    }
    for name in names.values():
        storage.path(name).parent.mkdir(parents=True, exist_ok=True)
        storage.path(name).write_bytes(b"x")
    assert reconcile.clean_orphans() == []
    assert reconcile.clean_orphans(older_than_s=-5) == [names["orphan"]]


def test_a_stored_name_cannot_leave_the_folder(artifact_dir):
    with pytest.raises(ValueError, match="below the root"):
        get_storage().path("../outside")
