"""Report files in a bucket: the same rows, files and hashes as in a folder, and what happens when it is away."""

import os
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from reports import conf
from reports.models import Artifact, ReportVersion
from reports.selectors import progress
from reports.services import files, own_store, verifying
from reports.storage import get_storage
from reports.storage.cache import LocalCache
from reports.work import reconcile, worker
from tests import buckets
from tests.live import free_port
from tests.reports.asking import URL, order
from tests.reports.conftest import PRICING, SLO

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", params=["moto", pytest.param("swift", marks=pytest.mark.services)])
def endpoint(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each test runs on moto's server; in the services tier on a Swift too, as an operator has it."""
    if request.param == "moto":
        with buckets.server() as address:
            yield address
    elif reason := buckets.missing_swift():
        pytest.skip(reason)
    else:
        with buckets.swift_server() as swift:
            yield swift.url


@pytest.fixture
def bucket(endpoint: str, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> str:
    """The settings name a bucket of its own and an empty disk."""
    environment = buckets.environment_of(endpoint)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings.AFORO_SCRATCH_DIR = tmp_path / "scratch"
    settings.AFORO_STORE_WAIT_S = 0
    monkeypatch.setattr("reports.storage.patience._HASTY_S", 0.0)
    name = buckets.new_bucket(environment)
    settings.AFORO_ARTIFACT_STORE = f"s3://{name}/reports"
    return name


@pytest.fixture
def away(bucket: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`away(True)`: nothing listens at the address of the store; `away(False)`: it is back."""
    store: Any = get_storage()

    def change(gone: bool) -> None:
        address = f"http://127.0.0.1:{free_port()}" if gone else endpoint_of
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", address)
        store._clients.clear()

    endpoint_of = os.environ["AWS_ENDPOINT_URL_S3"]
    return change


def empty_disk() -> None:
    """As another machine: none of the files that this one wrote."""
    for path in conf.cache_dir().glob("*"):
        path.unlink()


def downloaded(client: APIClient, version: ReportVersion, query: str, **headers: str) -> bytes:
    answer = client.get(f"{URL}{version.report_id}/versions/1/download/?{query}", headers=headers)
    assert answer.status_code in (200, 206), answer.content
    return b"".join(answer.streaming_content)


def test_a_folder_and_a_bucket_give_the_same_content_and_files(bucket, api, ana, make_report, settings):
    stored = make_report(ana)
    assert list(conf.artifact_dir().rglob("*.parquet")) == []
    empty_disk()
    client = api(ana)
    csv = downloaded(client, stored, "format=csv")
    assert downloaded(client, stored, "format=csv", Range="bytes=10-99") == csv[10:100]
    rows = client.get(f"{URL}{stored.report_id}/versions/1/rows/").json()["results"]
    parquet = downloaded(client, stored, "format=parquet")
    assert [checked.fault for checked in verifying.verify_all()] == ["", ""]

    settings.AFORO_ARTIFACT_STORE = ""
    local = make_report(ana)
    assert (local.content_sha256, local.findings) == (stored.content_sha256, stored.findings)
    assert downloaded(client, local, "format=csv") == csv
    assert downloaded(client, local, "format=parquet") == parquet
    assert client.get(f"{URL}{local.report_id}/versions/1/rows/").json()["results"] == rows


def test_a_reader_can_be_sent_to_the_bucket_for_a_file(bucket, api, ana, make_report, settings):
    version = make_report(ana)
    whole = downloaded(api(ana), version, "format=parquet")
    settings.AFORO_REDIRECT_DOWNLOADS = True
    answer = api(ana).get(f"{URL}{version.report_id}/versions/1/download/?format=parquet")
    assert answer.status_code == 307
    with urllib.request.urlopen(answer["Location"]) as found:
        assert found.read() == whole
        assert "attachment" in found.headers["Content-Disposition"]


def test_a_store_that_is_away_costs_a_poll_its_file_and_a_chunk_some_time(bucket, api, ana, make_report, away):
    complete = make_report(ana)
    empty_disk()
    ordered = api(ana).post(URL, order(slo=SLO, pricing=PRICING)).json()["report"]
    version = ReportVersion.objects.get(report=ordered)
    away(True)
    for path in ("download/?format=parquet", "rows/"):
        answer = api(ana).get(f"{URL}{complete.report_id}/versions/1/{path}")
        assert (answer.status_code, answer["Retry-After"]) == (503, "5"), path
    # A small file is made in the request, and put off as a worker's work is.
    assert api(ana).get(f"{URL}{complete.report_id}/versions/1/download/?format=csv").status_code == 202
    worker.run()
    version.refresh_from_db()
    told = progress(version)
    assert (told["phase"], told["done"]) == ("waiting_for_store", 0)
    assert "does not answer" in told["detail"]
    assert set(version.chunks.values_list("state", "attempts")) == {("queued", 0)}

    away(False)
    ReportVersion.objects.filter(pk=version.pk).update(next_try_at=None)
    Artifact.objects.update(next_try_at=None)
    worker.run()
    version.refresh_from_db()
    assert (version.state, version.error_code, version.content_sha256) == ("complete", "", complete.content_sha256)
    # The file that could not be made meanwhile is, and nothing was taken for lost.
    assert Artifact.objects.filter(times_lost__gt=0).count() == 0
    assert downloaded(api(ana), complete, "format=csv")


def test_an_object_that_went_or_changed_is_told(bucket, api, ana, make_report):
    version = make_report(ana)
    empty_disk()
    store: Any = get_storage()
    client, found = store._client(), store._object(version.rows_file)
    sound = client.get_object(**found)
    content, metadata = sound["Body"].read(), sound["Metadata"]
    address = f"{URL}{version.report_id}/versions/1/"
    # One byte of another value, and what the bucket says of it left as it was: only reading it shows that.
    client.put_object(**found, Body=content[:-1] + bytes([content[-1] ^ 1]), Metadata=metadata)
    answer = api(ana).get(f"{address}rows/")
    assert (answer.status_code, answer.json()["code"]) == (409, "file_error")
    assert "damaged" in next(checked.fault for checked in verifying.verify_all())
    client.delete_object(**found)
    empty_disk()
    for path in ("rows/", "download/?format=parquet", "diff/?from=1&to=1"):
        answer = api(ana).get(f"{address}{path}" if "diff" not in path else f"{URL}{version.report_id}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "file_error"), path


def test_a_file_damaged_on_the_disk_of_one_machine_is_fetched_anew(bucket, api, ana, make_report):
    version = make_report(ana)
    [here] = [path for path in conf.cache_dir().iterdir() if path.name.startswith("rows")]
    here.write_bytes(b"x" * here.stat().st_size)
    assert api(ana).get(f"{URL}{version.report_id}/versions/1/rows/").status_code == 200


def test_a_file_that_is_lost_each_time_is_not_made_for_ever(bucket, api, ana, make_report):
    """As where the web looks into another bucket than the workers."""
    version = make_report(ana)
    states = []
    for _poll in range(3 * files.MOST_TIMES_LOST):
        states.append(files.file_of(version, "xlsx").state)
        worker.run()
        for artifact in Artifact.objects.exclude(file_name=""):
            get_storage().remove(artifact.file_name)
    assert states.count("queued") == files.MOST_TIMES_LOST + 1
    assert states[-1] == "failed"
    assert "same store" in files.file_of(version, "xlsx").error
    Artifact.objects.update(last_used_at="2020-01-01T00:00:00Z")
    assert files.file_of(version, "xlsx").state == "failed"
    assert files.file_of(version, "xlsx").state == "queued"


def test_orphans_of_a_bucket_go_and_its_marker_stays(bucket, ana, make_report):
    own_store.check()
    version = make_report(ana)
    store = get_storage()
    scratch = store.scratch("derived/x/v1-aaaa.csv")
    scratch.write_text("nobody's")
    store.keep(scratch, "derived/x/v1-aaaa.csv")
    assert reconcile.clean_orphans(older_than_s=-3600) == ["derived/x/v1-aaaa.csv"]
    assert store.size(version.rows_file) == version.rows_file_bytes
    own_store.check()


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_another_store_is_told_from_the_own_one(kind, bucket, endpoint, settings, client, tmp_path):
    def move(name: str) -> None:
        if kind == "folder":
            settings.AFORO_ARTIFACT_STORE, settings.AFORO_ARTIFACT_DIR = "", tmp_path / name
        else:
            settings.AFORO_ARTIFACT_STORE = f"s3://{bucket}/{name}"

    move("first")
    assert client.get("/readyz").status_code == 200
    own = get_storage().read_marker()
    move("second")
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["artifacts"]["ok"]) == (503, False)
    assert "another store" in answer.json()["checks"]["artifacts"]["detail"]
    get_storage().write_marker("f" * 32)
    with pytest.raises(own_store.OtherStoreError, match="f" * 32):
        own_store.check()
    move("first")
    own_store.check()
    move("third")
    assert own_store.adopt() != own
    own_store.check()


def test_the_cache_keeps_its_bound_and_what_is_in_use(tmp_path, monkeypatch):
    cache = LocalCache(tmp_path / "cache", most_bytes=250)
    for number in range(4):
        scratch = tmp_path / "s"
        scratch.write_bytes(b"x" * 100)
        cache.take(scratch, f"rows/{number}")
    assert [cache.used(f"rows/{number}") is not None for number in range(4)] == [True] * 4  # all just used
    for number in (0, 2):
        os.utime(cache.path(f"rows/{number}"), (number, number))
    cache.make_room()
    assert [cache.path(f"rows/{number}").exists() for number in range(4)] == [False, True, False, True]
