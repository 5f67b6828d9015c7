"""Files of a version over REST: name, ranges, waiting, and why there is none."""

import json

import pytest

from reports.artifacts import build
from reports.work import worker
from tests.reports.asking import URL, fault

pytestmark = pytest.mark.django_db


def test_downloads_have_etag_ranges_and_a_name(api, ana, make_report):
    version = make_report(ana)
    url = f"{URL}{version.report_id}/versions/1/download/"
    client = api(ana)
    answer = client.get(url, {"format": "csv"})
    whole = b"".join(answer.streaming_content)
    assert answer.status_code == 200
    assert whole.count(b"\r\n") == 37
    assert answer["Content-Disposition"].startswith('attachment; filename="aforo-h100-capacity-v1-')
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]
    assert client.get(url, {"format": "csv"}, HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304
    part = client.get(url, {"format": "csv"}, HTTP_RANGE="bytes=10-19")
    assert part.status_code == 206
    assert b"".join(part.streaming_content) == whole[10:20]
    assert part["Content-Range"] == f"bytes 10-19/{len(whole)}"
    tail = client.get(url, {"format": "csv"}, HTTP_RANGE="bytes=-5")
    assert b"".join(tail.streaming_content) == whole[-5:]
    assert client.get(url, {"format": "csv"}, HTTP_RANGE=f"bytes={len(whole)}-").status_code == 416
    stale = client.get(url, {"format": "csv"}, HTTP_RANGE="bytes=0-1", HTTP_IF_RANGE='"other"')
    assert stale.status_code == 200
    parquet = client.get(url, {"format": "parquet"})
    assert b"".join(parquet.streaming_content)[:4] == b"PAR1"
    document = json.loads(b"".join(client.get(url, {"format": "json"}).streaming_content))
    assert len(document["rows"]) == 36


def test_a_large_form_is_202_until_a_worker_made_it(api, ana, make_report, bells):
    version = make_report(ana)
    url = f"{URL}{version.report_id}/versions/1/download/"
    waiting = api(ana).get(url, {"format": "html"})
    assert waiting.status_code == 202
    assert waiting["Retry-After"] == "1"
    worker.run()
    assert api(ana).get(url, {"format": "html"}).status_code == 200
    assert fault(api(ana).get(url, {"format": "pdf"})) == {("format", "invalid")}


def test_a_form_that_cannot_be_made_tells_why(api, ana, make_report, monkeypatch):
    version = make_report(ana)
    monkeypatch.setattr("reports.artifacts.xlsx.MAX_ROWS", 3)
    url = f"{URL}{version.report_id}/versions/1/download/"
    answer = api(ana).get(url, {"format": "xlsx"})
    assert answer.status_code == 409
    assert "take CSV, JSON or Parquet" in answer.json()["detail"]


def test_a_form_that_failed_tells_why_once_and_is_made_when_asked_again(api, ana, make_report, monkeypatch, settings):
    settings.AFORO_DISK_FULL_RETRY_S = 0
    version = make_report(ana)
    url = f"{URL}{version.report_id}/versions/1/download/"

    def no_room(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(build.WRITERS, "html", no_room)
    api(ana).get(url, {"format": "html"})
    worker.run()
    refused = api(ana).get(url, {"format": "html"})
    assert (refused.status_code, refused.json()["code"]) == (409, "disk_full")
    monkeypatch.undo()
    assert api(ana).get(url, {"format": "html"}).status_code == 202
    worker.run()
    assert api(ana).get(url, {"format": "html"}).status_code == 200
