"""A full disk: recognised whoever meets it, said in words, tried again for a while, then failed under its own code."""

import errno
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from reports import clock
from reports.artifacts.build import WRITERS
from reports.errors import explain
from reports.models import Artifact, ReportVersion
from reports.rows import findings, tables
from reports.work import claims, put_off, worker
from tests.reports.conftest import SWEEP

pytestmark = pytest.mark.django_db
DETAIL = "The disk for report files is full."


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def order(api: Any, person: Any) -> ReportVersion:
    answer = api(person).post("/api/v1/reports/", {"name": "x", "sweep": SWEEP})
    return ReportVersion.objects.get(report=answer.json()["report"])


def pause_is_over() -> None:
    over = {"next_try_at": clock.after(-1)}
    ReportVersion.objects.exclude(next_try_at=None).update(**over)
    Artifact.objects.exclude(next_try_at=None).update(**over)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "x"),
        OSError(errno.EDQUOT, "x"),
        duckdb.IOException('Could not write file "x": No space left on device'),
        duckdb.OutOfMemoryException(
            "failed to offload data block: This limit was set by the 'max_temp_directory_size' setting"
        ),
        RuntimeError("database or disk is full"),
    ],
)
def test_it_is_recognised_whoever_meets_it(error):
    assert explain(error) == ("disk_full", DETAIL)


def test_a_limit_of_file_size_is_no_room_either_and_is_named():
    for error in (OSError(errno.EFBIG, "x"), duckdb.IOException('Could not write file "x": File too large')):
        code, text = explain(error)
        assert code == "disk_full"
        assert "limit of file size" in text


def test_it_is_recognised_behind_the_error_of_a_library():
    cause = OSError(errno.ENOSPC, "x")
    error = ValueError("cannot close the workbook")
    error.__cause__ = cause
    assert explain(error)[0] == "disk_full"
    assert explain(MemoryError())[0] == "out_of_memory"
    assert explain(duckdb.OutOfMemoryException("could not allocate block"))[0] == "out_of_memory"


def test_the_work_is_put_off_says_so_and_goes_on_once_there_is_room(api, ana, loaded_catalog, monkeypatch):
    version = order(api, ana)
    with monkeypatch.context() as disk_is_full:
        disk_is_full.setattr(tables, "write_rows", full)
        worker.run()
        assert claims.claim_chunk() is None, "it waits for the pause"
        pause_is_over()
        worker.run()
    answer = api(ana).get(f"/api/v1/reports/{version.report_id}/versions/1/").json()
    assert (answer["state"], answer["progress"]["phase"], answer["progress"]["detail"]) == (
        "running",
        "waiting_for_disk",
        DETAIL,
    )
    assert set(version.chunks.values_list("attempts", "error")) == {(0, DETAIL)}
    pause_is_over()
    worker.run()
    version.refresh_from_db()
    assert (version.state, version.error, version.disk_full_since) == ("complete", "", None)


def test_it_fails_under_its_own_code_once_the_time_is_over(api, ana, loaded_catalog, monkeypatch, settings):
    settings.AFORO_DISK_FULL_RETRY_S = 600
    version = order(api, ana)
    monkeypatch.setattr(tables, "write_rows", full)
    worker.run()
    for waited_s, state in ((599, "running"), (601, "failed")):
        ReportVersion.objects.filter(pk=version.pk).update(disk_full_since=clock.after(-waited_s))
        pause_is_over()
        worker.run()
        version.refresh_from_db()
        assert version.state == state
    assert (version.error_code, version.error) == ("disk_full", DETAIL)


def test_the_last_step_waits_for_room_too(api, ana, loaded_catalog, monkeypatch):
    version = order(api, ana)
    with monkeypatch.context() as disk_is_full:
        disk_is_full.setattr(findings, "find", full)
        worker.run()
    version.refresh_from_db()
    assert (version.state, version.finalize_attempts, version.error) == ("running", 0, DETAIL)
    assert claims.claim_finalize() is None
    pause_is_over()
    worker.run()
    version.refresh_from_db()
    assert (version.state, version.error) == ("complete", "")


def test_a_derived_file_waits_for_room_too_and_says_so(api, ana, make_report, monkeypatch, settings):
    version = make_report(ana)
    address = f"/api/v1/reports/{version.report_id}/versions/1/download/?format=csv"
    with monkeypatch.context() as disk_is_full:
        disk_is_full.setitem(WRITERS, "csv", full)
        waiting = api(ana).get(address)
        assert (waiting.status_code, waiting.json()["detail"]) == (202, DETAIL)
        settings.AFORO_DISK_FULL_RETRY_S = 0
        pause_is_over()
        worker.run()
        failed = api(ana).get(address)
        assert (failed.status_code, failed.json()["code"]) == (409, "disk_full")
    assert api(ana).get(address).status_code == 200


def test_pauses_grow_from_five_seconds_to_a_minute():
    assert [put_off.pause_s(waited) for waited in (0, 5, 10, 40, 600)] == [5, 5, 10, 40, 60]


@pytest.fixture
def small_disk(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """A file system of 4 MB for the report files, where this user may mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root may mount a small file system")
    settings.AFORO_ARTIFACT_DIR = place
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_full_in_truth_is_waited_for(api, ana, loaded_catalog, small_disk):
    version = order(api, ana)
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space"):
        ballast.write_bytes(bytes(8 << 20))
    worker.run()
    version.refresh_from_db()
    assert (version.state, version.error) == ("running", DETAIL)
    ballast.unlink()
    pause_is_over()
    worker.run()
    version.refresh_from_db()
    assert (version.state, version.error) == ("complete", "")
