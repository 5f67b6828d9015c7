"""Files damaged without a change of size: each reader says so, nothing is made of them, they are made again."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from reports.artifacts.build import WRITERS
from reports.choices import FileFormat
from reports.models import Artifact, ReportChunk, ReportVersion
from reports.services import versions
from reports.storage import get_storage, stored
from reports.work import worker
from tests.reports.conftest import SWEEP

pytestmark = pytest.mark.django_db


def damage(path: Path, at: int = 40) -> None:
    """Ten other bytes in the middle; size and time of modification as they were."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[at : at + 10] = bytes(byte ^ 0xFF for byte in content[at : at + 10])
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def rows_file(version: ReportVersion) -> Path:
    return get_storage().path(version.rows_file)


def fetch(client: Any, version: ReportVersion, file_format: str) -> Any:
    """The answer to a download, after a worker had its turn."""
    url = f"/api/v1/reports/{version.report_id}/versions/{version.number}/download/?format={file_format}"
    answer = client.get(url)
    if answer.status_code == 202:
        worker.run()
        answer = client.get(url)
    return answer


def sent(answer: Any) -> bytes:
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content)


def told(answer: Any) -> None:
    assert answer.status_code == 409, answer.content
    assert answer.json()["code"] == "file_error"
    assert "damaged" in answer.json()["detail"]


@pytest.mark.parametrize("file_format", WRITERS)
def test_a_damaged_derived_file_is_made_again(api, ana, make_report, file_format):
    version = make_report(ana)
    first = sent(fetch(api(ana), version, file_format))
    stored = Artifact.objects.get(format=file_format)
    damage(get_storage().path(stored.file_name))
    again = sent(fetch(api(ana), version, file_format))
    made = Artifact.objects.get(format=file_format)
    assert made.file_name != stored.file_name
    assert get_storage().size(stored.file_name) is None
    assert hashlib.sha256(again).hexdigest() == made.artifact_sha256
    assert len(again) == pytest.approx(len(first), rel=0.05)


READERS: dict[str, Callable[[Any, str], Any]] = {
    "rows": lambda client, url: client.get(f"{url}versions/1/rows/"),
    "filtered rows": lambda client, url: client.get(f"{url}versions/1/rows/?gpu=l4&ordering=-batch_size"),
    "comparison, old": lambda client, url: client.get(f"{url}diff/?from=1&to=2"),
    "comparison, new": lambda client, url: client.get(f"{url}diff/?from=2&to=1"),
    "comparison as CSV": lambda client, url: client.get(f"{url}diff/?from=1&to=2&format=csv"),
    "comparison as a page": lambda client, url: client.get(f"{url}diff/?from=1&to=2&format=html"),
    "new prices": lambda client, url: client.post(f"{url}versions/1/recost/", {}),
    "parquet": lambda client, url: client.get(f"{url}versions/1/download/?format=parquet"),
}


@pytest.mark.parametrize("at", [2, 40, 2000, -200], ids=["magic", "page", "middle", "footer"])
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_every_reader_of_damaged_rows_says_so(api, ana, make_report, reader, at):
    version = make_report(ana)
    url = f"/api/v1/reports/{version.report_id}/"
    assert api(ana).post(f"{url}versions/", {}).status_code == 202
    worker.run()
    assert reader(api(ana), url).status_code in (200, 202)  # and is remembered as sound
    path = rows_file(version)
    damage(path, at if at > 0 else path.stat().st_size + at)
    told(reader(api(ana), url))
    assert ReportVersion.objects.filter(kind="recost", state="complete").count() == 0 or reader is READERS["new prices"]


@pytest.mark.parametrize("file_format", WRITERS)
def test_nothing_is_derived_from_damaged_rows(api, ana, make_report, file_format):
    version = make_report(ana)
    damage(rows_file(version))
    told(fetch(api(ana), version, file_format))
    assert not Artifact.objects.filter(state="complete").exists()


def test_a_version_to_price_anew_whose_rows_were_damaged_meanwhile_fails_at_once(api, ana, make_report):
    version = make_report(ana)
    assert api(ana).post(f"/api/v1/reports/{version.report_id}/versions/1/recost/", {}).status_code == 202
    damage(rows_file(version))
    worker.run()
    made = ReportVersion.objects.get(kind="recost")
    assert (made.state, made.error_code) == ("failed", "file_error")
    assert set(made.chunks.values_list("attempts", flat=True)) == {1}


@pytest.mark.parametrize("again", [False, True], ids=["last step", "retry"])
def test_a_damaged_part_is_computed_again(api, ana, loaded_catalog, settings, again):
    settings.AFORO_SWEEP_CHUNK_ROWS = 8
    answer = api(ana).post("/api/v1/reports/", {"name": "x", "sweep": SWEEP})
    version = ReportVersion.objects.get(report=answer.json()["report"])
    while ReportChunk.objects.filter(state="complete").count() < 2:
        worker.step()
    damage(get_storage().path(ReportChunk.objects.filter(state="complete").order_by("index")[0].part_name))
    if again:
        ReportVersion.objects.filter(pk=version.pk).update(state="failed")
        versions.retry(version)
    worker.run()
    version.refresh_from_db()
    assert (version.state, version.error) == ("complete", "")
    other = api(ana).post("/api/v1/reports/", {"name": "x", "sweep": SWEEP})
    worker.run()
    sound = ReportVersion.objects.get(report=other.json()["report"])
    assert sound.content_sha256 == version.content_sha256


def test_a_file_is_hashed_once_until_it_changes(api, ana, make_report, monkeypatch):
    version = make_report(ana)
    get_storage().forget_hashes()
    hashed: list[Path] = []
    real = stored.file_sha256
    monkeypatch.setattr(stored, "file_sha256", lambda path: hashed.append(path) or real(path))
    url = f"/api/v1/reports/{version.report_id}/versions/1/rows/"
    for _again in range(3):
        assert api(ana).get(url).status_code == 200
    assert hashed == [rows_file(version)]
    os.utime(rows_file(version))
    assert api(ana).get(url).status_code == 200
    assert hashed == [rows_file(version)] * 2


@pytest.mark.parametrize("what", ["rows", *WRITERS])
def test_the_command_finds_each_damaged_or_missing_file(api, ana, make_report, capsys, what):
    version = make_report(ana)
    for file_format in FileFormat:
        sent(fetch(api(ana), version, file_format))
    call_command("verify_reports")
    assert "5 files, all as they were written." in capsys.readouterr().out
    name = version.rows_file if what == "rows" else Artifact.objects.get(format=what).file_name
    damage(get_storage().path(name))
    with pytest.raises(CommandError, match="1 of 5 files"):
        call_command("verify_reports")
    printed = capsys.readouterr().out
    assert name in printed
    assert "damaged" in printed
    get_storage().remove(name)
    with pytest.raises(CommandError, match="1 of 5 files"):
        call_command("verify_reports")
    assert "not there" in capsys.readouterr().out
