"""A data folder of an older release under today's code: nothing lost, nothing changed, everything goes on."""

import csv
import hashlib
import io
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db.migrations.loader import MigrationLoader

from tests import services
from tests.live import LiveService, embedded_environment
from tests.reports.live import wait_done
from tests.upgrade.releases import RELEASES, Release

# One service for the whole file: its tests share a worker of pytest.
pytestmark = pytest.mark.xdist_group("upgrade")
FORMATS = ("csv", "json", "xlsx", "parquet", "html")
OF_MONEY = re.compile("cost|price|currency")
EUR = {"currency": "EUR", "price_per_gpu_hour": {"h100-sxm5-80gb": "9.75", "a100-sxm4-80gb": "4.5"}}


@dataclass
class Upgraded:
    """A running service on what a release left."""

    release: Release
    service: LiveService
    artifacts: Path

    def get(self, path: str) -> Any:
        status, answer = self.service.call("GET", path)
        assert status == 200, (path, status, answer)
        return answer

    def download(self, path: str, file_format: str) -> bytes:
        """The bytes of a file, once it is made."""
        url = f"{path}download/?format={file_format}"
        self.service.wait_for(lambda: self.service.call("GET", url)[0] != 202)
        answer = self.get(url)
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def rows(self, path: str) -> list[dict[str, Any]]:
        """All rows of a version, by its pages."""
        found: list[dict[str, Any]] = []
        while len(found) < (page := self.get(f"{path}rows/?page_size=100&page={len(found) // 100 + 1}"))["count"]:
            found += page["results"]
        return found

    def order(self, path: str, body: Any) -> tuple[str, dict[str, Any]]:
        """Address and answer of a version that an order makes, once it is done."""
        status, answer = self.service.call("POST", path, body)
        assert status == 202, answer
        made = f"/api/v1/reports/{answer['report']}/versions/{answer['version']}/"
        return made, wait_done(self.service, made)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((release, on), id=f"{release} on {on}", marks=[getattr(pytest.mark, on)] if on else [])
        for release in RELEASES
        for on in ("", "services")
    ],
)
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    release, on = request.param
    folder = tmp_path_factory.mktemp("upgrade")
    # Files that nobody has used for so long are evicted, however old the fixture is when this runs.
    environment = embedded_environment(folder) | {"AFORO_ARTIFACT_RETENTION_DAYS": "36500"}
    data = Path(environment["AFORO_DATA_DIR"])
    with ExitStack() as stack:
        if on:
            environment["DATABASE_URL"] = stack.enter_context(services.postgresql_database())
            environment["AFORO_BROKER_URL"] = stack.enter_context(services.redis_database())
            release.load_postgresql(environment["DATABASE_URL"])
            shutil.copytree(release.folder / "artifacts", data / "artifacts")
        else:
            data.mkdir()
            release.unpack(data)
        service = LiveService(environment, folder / "service.log")
        stack.callback(service.stop)
        service.start()
        yield Upgraded(release=release, service=service, artifacts=data / "artifacts")


@pytest.mark.parametrize("release", RELEASES, ids=repr)
def test_the_fixture_is_what_the_release_wrote(release: Release) -> None:
    there = {
        path.relative_to(release.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in release.folder.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }
    assert there == release.manifest["files"]
    assert sum(path.stat().st_size for path in release.folder.rglob("*") if path.is_file()) <= 3_000_000


@pytest.mark.parametrize("release", RELEASES, ids=repr)
def test_every_migration_of_a_release_is_still_there(release: Release) -> None:
    on_disk = MigrationLoader(None).disk_migrations
    ours = {app for app, _name in on_disk}
    assert {(app, name) for app, name in release.manifest["migrations"] if app in ours} <= set(on_disk)


def test_complete_versions_say_what_they_said(upgraded: Upgraded) -> None:
    complete = upgraded.release.versions(state="complete")
    assert len(complete) >= 10
    for stored in complete:
        version = upgraded.get(stored["url"])
        same = ("number", "kind", "state", "estimator_version", "content_sha256", "snapshot_sha256")
        assert {name: version[name] for name in same} == {name: stored[name] for name in same}
        assert version["rows"] == stored["total_rows"] == len(upgraded.rows(stored["url"]))
        assert len(version["findings"]) == stored["findings"] > 0


def test_rows_and_findings_are_those_of_the_release_s_own_json(upgraded: Upgraded) -> None:
    compared = 0
    for stored in upgraded.release.versions(state="complete", number=1):
        document = json.loads(upgraded.download(stored["url"], "json"))
        for then, now in zip(document["rows"], upgraded.rows(stored["url"]), strict=True):
            assert {name: now[name] for name in then} == then
            compared += 1
        findings = upgraded.get(stored["url"])["findings"]
        for then, now in zip(document["findings"], findings, strict=True):
            assert {name: now[name] for name in then if not name.endswith("row")} == {
                name: value for name, value in then.items() if not name.endswith("row")
            }
            assert {name: now["row"][name] for name in then["row"]} == then["row"]
    assert compared == sum(v["total_rows"] for v in upgraded.release.versions(state="complete", number=1))


def test_files_that_the_release_made_are_sent_byte_by_byte(upgraded: Upgraded) -> None:
    sent = 0
    for stored in upgraded.release.versions(state="complete"):
        names = {
            Path(name).suffix[1:]: sha256
            for name, sha256 in upgraded.release.manifest["files"].items()
            if f"/v{stored['number']}-" in name and upgraded.release.manifest["reports"][stored["name"]] in name
        }
        assert "parquet" in names
        for file_format, sha256 in names.items():
            status, answer = upgraded.service.call("GET", f"{stored['url']}download/?format={file_format}")
            assert status == 200
            if file_format != "json":  # read as JSON by the client
                assert hashlib.sha256(answer).hexdigest() == sha256
            sent += 1
    assert sent >= 30


def test_files_that_the_release_did_not_make_are_made_of_its_rows(upgraded: Upgraded) -> None:
    for stored in upgraded.release.versions(state="complete", name="closed loop"):
        for file_format in FORMATS:
            assert upgraded.download(stored["url"], file_format)
        lines = list(csv.reader(io.StringIO(upgraded.download(stored["url"], "csv").decode("utf-8-sig"))))
        assert len(lines) == stored["total_rows"] + 1


def test_the_decision_of_a_version_is_worked_out_from_its_rows(upgraded: Upgraded) -> None:
    for stored in upgraded.release.versions(state="complete"):
        found = upgraded.get(f"{stored['url']}decision/")
        assert found["reason"] is None
        rows = upgraded.rows(stored["url"])
        lines = {(group["model"], group["workload"], line["gpu"]): line
                 for group in found["decision"]["groups"] for line in group["lines"]}  # fmt: skip
        assert set(lines) == {(row["model"], row["workload"], row["gpu"]) for row in rows}
        for line in lines.values():
            assert (line["setting"] is None) == (line["reason"] is not None)
        assert all("kept no prices of APIs" in group["apis_reason"] for group in found["decision"]["groups"])


def test_any_two_versions_are_compared(upgraded: Upgraded) -> None:
    path = upgraded.release.report("closed loop")
    numbers = [stored["number"] for stored in upgraded.release.versions(state="complete", name="closed loop")]
    for older in numbers:
        for newer in numbers:
            if older != newer:
                answer = upgraded.get(f"{path}diff/?from={older}&to={newer}")
                assert answer["rows"]["matched"] == 72


def test_a_version_of_the_release_is_priced_anew(upgraded: Upgraded) -> None:
    stored = upgraded.release.versions(state="complete", name="closed loop")[0]
    before = upgraded.rows(stored["url"])
    path, made = upgraded.order(f"{stored['url']}recost/", {"pricing": EUR})
    assert made["state"] == "complete", made["error"]
    for then, now in zip(before, upgraded.rows(path), strict=True):
        assert now["currency"] == "EUR"
        assert {name for name in now if now[name] != then[name]} <= {name for name in now if OF_MONEY.search(name)}


def test_every_report_of_the_release_is_built_anew_and_compared_with_what_it_was(upgraded: Upgraded) -> None:
    for stored in upgraded.release.versions(state="complete", number=1):
        if stored["name"] == "archived":
            continue
        path = upgraded.release.report(stored["name"])
        _made, version = upgraded.order(f"{path}versions/", {})
        assert version["state"] == "complete", (stored["name"], version["error"])
        assert version["rows"] == stored["total_rows"]
        # A bare name (vllm) means a newer profile by now; the version built anew keeps the one it had.
        assert upgraded.get(f"{path}diff/?from=1&to={version['number']}")["rows"]["matched"] == stored["total_rows"]


def test_an_archived_report_comes_back(upgraded: Upgraded) -> None:
    path = upgraded.release.report("archived")
    assert upgraded.get(path)["archived"] is True
    assert upgraded.service.call("PATCH", path, {"archived": False})[0] == 200


def test_shares_schedule_and_links_are_still_there(upgraded: Upgraded) -> None:
    first = upgraded.release.report("closed loop")
    shares = upgraded.get(f"{first}shares/")["results"]
    assert {(entry["user"], entry["group"]) for entry in shares} == {("rosa", None), (None, "planners")}
    assert upgraded.get(first)["visibility"] == "all"
    (link,) = upgraded.get(f"{first}versions/1/links/")["results"]
    assert link["format"] == "html"
    assert upgraded.get(f"{upgraded.release.report('open loop')}schedule/")["period"] == "weekly"


@pytest.mark.parametrize("name", ["half built", "queued", "cancelled", "failed"])
def test_what_was_under_way_goes_on_or_says_what_to_do(upgraded: Upgraded, name: str) -> None:
    (stored,) = upgraded.release.versions(name=name)
    now = wait_done(upgraded.service, stored["url"])
    if stored["state"] in ("cancelled", "failed"):
        assert now["state"] == stored["state"]
    elif now["state"] == "complete":
        assert len(upgraded.rows(stored["url"])) == stored["total_rows"]
    else:
        assert now["state"] == "failed"
        assert now["error"]["code"] == "estimator_changed"
        assert "rebuild" in now["error"]["detail"]
    if now["state"] != "complete":
        _path, again = upgraded.order(f"{upgraded.release.report(name)}versions/", {})
        assert again["state"] == "complete", again["error"]


def test_after_all_this_every_file_of_a_complete_version_is_as_it_was(upgraded: Upgraded) -> None:
    assert upgraded.get("/api/v1/reports/")["count"] >= 9
    for name, sha256 in upgraded.release.manifest["files"].items():
        if name.startswith(("artifacts/rows/", "artifacts/derived/")):
            path = upgraded.artifacts.parent / name
            assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256, name
