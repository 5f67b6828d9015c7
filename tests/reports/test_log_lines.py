"""Log lines of work name the request that ordered it, and its report, version and chunk."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from config.log_format import JsonFormatter, TextFormatter
from reports.doing import doing, work
from reports.models import ReportVersion
from reports.work import worker
from tests.reports.asking import URL, order

pytestmark = pytest.mark.django_db


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.getLogger("reports").addHandler(handler)
    logging.getLogger("reports").setLevel(logging.INFO)
    yield stream
    logging.getLogger("reports").removeHandler(handler)
    logging.getLogger("reports").setLevel(logging.NOTSET)


def test_each_line_of_the_work_names_what_it_belongs_to(written, api, ana, loaded_catalog, settings):
    settings.AFORO_SWEEP_CHUNK_ROWS = 8
    answer = api(ana).post(URL, order(), headers={"X-Request-ID": "the-order-of-ana"})
    version = ReportVersion.objects.get(report=answer.json()["report"])
    worker.run()
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert {line["request_id"] for line in lines} == {"the-order-of-ana"}
    assert {(line["report"], line["version"]) for line in lines} == {(str(version.report_id), 1)}
    computed = [line["chunk"] for line in lines if "rows computed" in line["message"]]
    assert computed == list(version.chunks.values_list("index", flat=True))
    assert len(computed) > 1
    assert lines[-1]["message"].startswith("complete")


def test_a_line_for_people_names_them_too_and_a_request_keeps_its_own_id():
    record = logging.LogRecord("reports.work", logging.INFO, "", 0, "computed", None, None)
    with doing("first-request", report="r", version=2), doing("another-one", report="r", version=2, chunk=7):
        assert TextFormatter().format(record).endswith("computed report=r version=2 chunk=7 [first-request]")
    assert work() == {}
