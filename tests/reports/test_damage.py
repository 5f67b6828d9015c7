"""Files that went, estimators that changed, schedules that fail: the reader is told why, nothing else is touched."""

import shutil
from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from reports import clock
from reports.models import Artifact, Report, ReportSchedule, ReportVersion
from reports.services import schedules, versions
from reports.services.preparing import prepare
from reports.work import worker
from tests.reports.conftest import SWEEP

pytestmark = pytest.mark.django_db


def test_rows_and_comparisons_whose_file_is_gone_say_so(api, ana, make_report, artifact_dir):
    version = make_report(ana)
    shutil.rmtree(artifact_dir)
    base = f"/api/v1/reports/{version.report_id}/"
    client: APIClient = api(ana)
    client.raise_request_exception = False
    for path in ("versions/1/rows/", "diff/?from=1&to=1", "versions/1/download/?format=parquet"):
        response = client.get(base + path)
        assert response.status_code == 409, (path, response.content[:200])
        assert "file" in response.json()["detail"]


def test_a_deleted_report_folder_is_made_again_for_the_next_report(api, ana, make_report, artifact_dir):
    make_report(ana)
    shutil.rmtree(artifact_dir)
    assert make_report(ana).state == "complete"


def test_a_derived_file_that_was_evicted_is_made_again(api, ana, make_report, artifact_dir):
    version = make_report(ana)
    address = f"/api/v1/reports/{version.report_id}/versions/1/download/?format=csv"
    first = b"".join(api(ana).get(address).streaming_content)
    shutil.rmtree(artifact_dir / "derived")
    assert b"".join(api(ana).get(address).streaming_content) == first
    assert Artifact.objects.count() == 1


def test_rows_of_two_estimators_are_never_mixed_in_one_version(api, ana, loaded_catalog, monkeypatch):
    answer = api(ana).post("/api/v1/reports/", {"name": "x", "sweep": SWEEP})
    monkeypatch.setattr("reports.work.worker.ESTIMATOR_VERSION", "99.0")
    worker.run()
    version = ReportVersion.objects.get(report=answer.json()["report"])
    assert (version.state, version.error_code) == ("failed", "estimator_changed")
    assert "99.0" in version.error


def test_work_left_over_that_this_release_cannot_read_says_so_at_once(api, ana, loaded_catalog):
    """As after an upgrade that removed a constant of the profiles in the snapshot."""
    answer = api(ana).post("/api/v1/reports/", {"name": "x", "sweep": SWEEP})
    version = ReportVersion.objects.get(report=answer.json()["report"])
    next(iter(version.snapshot["facts"]["engine"].values()))["speed_constants"]["removed_since"] = 1.0
    ReportVersion.objects.filter(pk=version.pk).update(snapshot=version.snapshot, snapshot_sha256="0" * 64)
    worker.run()
    version.refresh_from_db()
    assert (version.state, version.error_code) == ("failed", "estimator_changed")
    assert "rebuild" in version.error
    assert set(version.chunks.values_list("attempts", flat=True)) == {1}


def make_schedule(owner: Any, name: str) -> ReportSchedule:
    prepared = prepare(sweep=SWEEP_PLAIN, slo=None, pricing=None)
    version = versions.create_report(owner=owner, name=name, prepared=prepared)
    schedule = schedules.set_schedule(version.report, period="daily", enabled=True)
    ReportSchedule.objects.filter(pk=schedule.pk).update(next_at=clock.now() - timedelta(seconds=1))
    return schedule


SWEEP_PLAIN: dict[str, Any] = {
    "models": ["llama-3.1-8b"],
    "gpus": ["h100-sxm5-80gb"],
    "engines": ["vllm"],
    "precisions": [{"weights": "bf16", "kv_cache": "bf16"}],
    "parallelism": [{"tp": 1}],
    "workloads": [{"mode": "closed_loop", "input_tokens": 100, "output_tokens": 10}],
    "batch_sizes": [1, 2],
    "memory": {},
}


def test_a_schedule_that_breaks_does_not_stop_the_others(ana, loaded_catalog, monkeypatch):
    broken, sound = make_schedule(ana, "broken"), make_schedule(ana, "sound")
    rebuild = schedules.rebuild

    def sometimes(report: Report, like: ReportVersion) -> ReportVersion:
        if report.pk == broken.report_id:
            raise KeyError("a key of an older release")
        return rebuild(report, like)

    monkeypatch.setattr(schedules, "rebuild", sometimes)
    assert schedules.run_due() == 1
    broken.refresh_from_db()
    assert "reference" in broken.last_error
    assert sound.report.versions.count() == 2
    assert schedules.run_due() == 0


def test_a_schedule_rests_while_its_owner_may_not_sign_in(ana, loaded_catalog):
    schedule = make_schedule(ana, "left")
    ana.is_active = False
    ana.save()
    assert schedules.run_due() == 0
    assert schedule.report.versions.count() == 1
