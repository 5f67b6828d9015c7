"""While a deploy rolls two estimators have workers: each does its own, and what is left of one is ordered anew."""

from typing import Any

import pytest

from estimator.engine.version import ESTIMATOR_VERSION
from reports import clock
from reports.models import Artifact, ReportChunk, ReportVersion, WorkerEstimator
from reports.services import leftovers
from reports.storage import StoredFile
from reports.work import claims, estimators, turns, worker
from tests.reports.conftest import SWEEP

pytestmark = pytest.mark.django_db
OTHER = "99.0"
PART = StoredFile(name="parts/1/000000-x.parquet", bytes=3, sha256="0" * 64)


@pytest.fixture
def ordered(api: Any, ana: Any, loaded_catalog: None, bells: list[int]) -> ReportVersion:
    """Ordered by a web process of another release."""
    answer = api(ana).post("/api/v1/reports/", {"name": "x", "sweep": SWEEP})
    version = ReportVersion.objects.get(report=answer.json()["report"])
    ReportVersion.objects.filter(pk=version.pk).update(estimator_version=OTHER, needs_estimator=OTHER)
    bells.clear()
    return version


def no_worker_for(seconds: float) -> None:
    WorkerEstimator.objects.filter(estimator_version=OTHER).update(seen_at=clock.after(-seconds))


def test_a_worker_leaves_the_versions_of_another_estimator_alone(ordered):
    worker.run()
    ordered.refresh_from_db()
    assert (ordered.state, ordered.error) == ("queued", "")
    assert set(ordered.chunks.values_list("attempts", flat=True)) == {0}


def test_the_last_step_too_is_left_to_a_worker_of_its_estimator(ordered):
    ordered.chunks.update(state="complete")
    ReportVersion.objects.filter(pk=ordered.pk).update(state="running", remaining_rows=0)
    assert claims.claim_finalize() is None
    ReportVersion.objects.filter(pk=ordered.pk).update(needs_estimator=ESTIMATOR_VERSION)
    assert claims.claim_finalize() is not None


def test_files_of_a_version_of_a_newer_release_are_left_to_its_workers(ordered):
    """This release may not know its columns; those of an older one it does."""
    ReportVersion.objects.filter(pk=ordered.pk).update(state="complete")
    Artifact.objects.create(version=ordered, format="csv")
    estimators.expect({OTHER, "0.0.1"})
    assert claims.claim_artifact() is None
    WorkerEstimator.objects.filter(estimator_version=OTHER).delete()
    assert claims.claim_artifact() is not None


def test_what_is_left_is_not_touched_while_a_worker_of_its_estimator_lives(ordered, settings):
    settings.AFORO_LEFTOVERS_AFTER_S = 60
    assert leftovers.order_anew() == 0, "never seen: it has from now on"
    no_worker_for(50)
    assert leftovers.order_anew() == 0
    ordered.refresh_from_db()
    assert ordered.needs_estimator == OTHER


def test_what_is_left_is_ordered_anew_once_no_worker_lived_for_a_while_and_says_so(ordered, settings, bells):
    settings.AFORO_LEFTOVERS_AFTER_S = 60
    leftovers.order_anew()
    no_worker_for(61)
    assert leftovers.order_anew() == 1
    assert leftovers.order_anew() == 0
    worker.run()
    ordered.refresh_from_db()
    assert (ordered.state, ordered.error, ordered.estimator_version) == ("complete", "", ESTIMATOR_VERSION)
    assert f"Ordered with estimator {OTHER}" in ordered.snapshot["warnings"][0]
    assert ordered.number == 1


def test_a_worker_of_the_other_estimator_that_lives_after_all_is_fenced_out(ordered, settings, monkeypatch):
    settings.AFORO_LEFTOVERS_AFTER_S = 60
    with monkeypatch.context() as release:
        release.setattr(turns, "ESTIMATOR_VERSION", OTHER)
        claim = claims.claim_chunk()
        assert claim is not None
    leftovers.order_anew()
    no_worker_for(61)
    leftovers.order_anew()
    assert not claims.CHUNK.heartbeat(claim)
    assert not claims.complete_chunk(claim, PART)
    ordered.refresh_from_db()
    assert (ordered.state, ordered.remaining_rows) == ("queued", ordered.total_rows)


def test_what_cannot_be_ordered_anew_fails_with_the_reason(ordered, settings):
    settings.AFORO_LEFTOVERS_AFTER_S = 60
    ordered.inputs["sweep"]["models"] = ["gone-from-the-catalog"]
    ReportVersion.objects.filter(pk=ordered.pk).update(inputs=ordered.inputs)
    leftovers.order_anew()
    no_worker_for(61)
    assert leftovers.order_anew() == 0
    ordered.refresh_from_db()
    assert (ordered.state, ordered.error_code) == ("failed", "estimator_changed")
    assert "gone-from-the-catalog" in ordered.error


def test_a_version_priced_anew_keeps_the_rows_of_its_parent(api, ana, make_report, settings):
    settings.AFORO_LEFTOVERS_AFTER_S = 60
    first = make_report(ana)
    answer = api(ana).post(f"/api/v1/reports/{first.report_id}/versions/1/recost/", {})
    assert answer.status_code == 202
    priced = ReportVersion.objects.get(report=first.report_id, number=2)
    assert priced.needs_estimator == ESTIMATOR_VERSION
    ReportVersion.objects.filter(pk=priced.pk).update(needs_estimator=OTHER)
    leftovers.order_anew()
    no_worker_for(61)
    assert leftovers.order_anew() == 1
    worker.run()
    priced.refresh_from_db()
    assert (priced.state, priced.total_rows) == ("complete", first.total_rows)


def test_a_worker_says_that_its_estimator_lives(db):
    estimators.say_alive()
    WorkerEstimator.objects.update(seen_at=clock.after(-100))
    estimators.say_alive()
    assert WorkerEstimator.objects.get(seen_at__gt=clock.after(-50)).estimator_version == ESTIMATOR_VERSION
    assert ReportChunk.objects.count() == 0
