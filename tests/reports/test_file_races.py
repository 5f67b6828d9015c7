"""A small file is in the answer to the request for it, whoever else is at it; a 202 is never taken for a file."""

import re
from typing import Any

import pytest

from reports.models import Artifact
from reports.services import files
from reports.work import claims, derive
from tests.live import ROOT

pytestmark = pytest.mark.django_db


def address(version: Any, file_format: str) -> str:
    return f"/api/v1/reports/{version.report_id}/versions/1/download/?format={file_format}"


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_a_worker_cannot_take_a_small_file_between_its_order_and_its_making(
    api, ana, make_report, monkeypatch, file_format
):
    version = make_report(ana)
    make = derive.make
    taken = []

    def worker_looks_first(claim: Any) -> None:
        taken.append(claims.claim_artifact())
        make(claim)

    monkeypatch.setattr(derive, "make", worker_looks_first)
    assert api(ana).get(address(version, file_format)).status_code == 200
    assert taken == [None]
    assert Artifact.objects.get().attempts == 1


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_a_file_that_a_worker_is_making_is_waited_for(api, ana, make_report, monkeypatch, file_format):
    version = make_report(ana)
    derive.order(version, file_format)
    claim = claims.claim_artifact()
    monkeypatch.setattr(files.time, "sleep", lambda _s: derive.make(claim))
    assert api(ana).get(address(version, file_format)).status_code == 200


def test_a_file_that_a_worker_let_go_is_made_in_the_request(api, ana, make_report, monkeypatch):
    version = make_report(ana)
    derive.order(version, "csv")
    claim = claims.claim_artifact()
    monkeypatch.setattr(files.time, "sleep", lambda _s: claims.ARTIFACT.release(claim))
    assert api(ana).get(address(version, "csv")).status_code == 200


def test_a_file_that_takes_others_too_long_is_202(api, ana, make_report, monkeypatch):
    version = make_report(ana)
    derive.order(version, "csv")
    claims.claim_artifact()
    waits: list[float] = []
    monkeypatch.setattr(files.time, "sleep", waits.append)
    answer = api(ana).get(address(version, "csv"))
    assert (answer.status_code, answer.json()["state"]) == (202, "running")
    assert sum(waits) == pytest.approx(5.0)


def test_no_command_of_the_documentation_saves_a_202_as_a_file():
    """A command that writes what `download/` answers into a file looks at the status first."""
    told = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    commands = [
        line for file in told for line in file.read_text().splitlines() if "curl" in line and "download/" in line
    ]
    assert commands
    for line in commands:
        saved = re.search(r"(?:-o|--output|>)\s+\S+", line)
        assert not saved or "%{http_code}" in line, line
