"""The HTML report in a real browser: no request, charts by workload, readable on a phone, in the dark, in print."""

import os
import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from rest_framework.test import APIClient

from reports.api import examples
from reports.services import files
from reports.storage import get_storage
from reports.work import worker
from tests.browser.looking import accessible, draws
from tests.estimator.conftest import loaded_catalog

__all__ = ["loaded_catalog"]

# Playwright's loop runs in this thread, which Django would take for asynchronous code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
pytestmark = [pytest.mark.browser, pytest.mark.django_db]
GPUS = ["h100-sxm5-80gb", "a100-sxm4-80gb", "l40s", "h200-sxm-141gb", "mi300x"]


@pytest.fixture
def report_file(loaded_catalog, settings, tmp_path, monkeypatch) -> Path:
    settings.AFORO_ARTIFACT_DIR = tmp_path / "artifacts"
    monkeypatch.setattr("reports.work.bell.ring", lambda pieces=1: None)
    client = APIClient()
    client.force_authenticate(get_user_model().objects.create_user("ana", password="x"))
    arrivals = {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 300, "requests_per_s": [1, 4, 1000]}
    sweep = examples.SWEEP | {
        "gpus": GPUS,
        "precisions": [{"weights": "bf16"}, {"weights": "fp8", "kv_cache": "fp8"}],
        "workloads": [*examples.SWEEP["workloads"], arrivals],
    }
    body = {"name": "H100, A100 or L40S? </script><script>alert(1)</script>", "sweep": sweep, "slo": {"tpot_s": 0.05}}
    answer = client.post("/api/v1/reports/", body)
    worker.run()
    client.get(answer.json()["url"] + "download/?format=html")
    worker.run()
    from reports.models import ReportVersion

    found = files.file_of(ReportVersion.objects.get(), "html").download
    assert found is not None
    page = tmp_path / "report.html"
    page.write_bytes(get_storage().path(found.name).read_bytes())
    return page


def outside(page) -> list[str]:
    return [fault for fault in page.faults if not fault.startswith("file://")]


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_the_report_draws_every_workload_asks_nothing_and_fits(page, report_file, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(report_file.as_uri())
    page.wait_for_selector("#rows tbody tr")
    assert page.locator(".lines tbody").count() == 2
    for place, charts in enumerate((("speed", "cost", "memory"), ("speed", "cost", "wait", "memory"))):
        lines = page.locator(".lines tbody").nth(place).locator("tr:has(.dot:not(.open))")
        assert lines.count() == len(GPUS)
        tab = page.locator("[role=tab]").nth(place)
        tab.click()
        panel = page.locator(f"#p{place}")
        assert panel.is_visible()
        # Every GPU can be chosen, and every setting is drawn or counted in words.
        assert panel.locator("fieldset").first.locator("input:checked").count() == len(GPUS)
        for chart in charts:
            assert draws(page, f"#p{place} [data-chart={chart}]"), (place, chart)
    assert "USD" in page.text_content(".then")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") is (
        scheme == "light"
    )
    assert accessible(page) == []
    assert outside(page) == []


def test_tabs_lists_and_the_table_work_from_the_keyboard(page, report_file):
    page.goto(report_file.as_uri())
    page.focus("[role=tab]")
    page.keyboard.press("ArrowRight")
    assert page.locator("#p1").is_visible()
    assert page.evaluate("document.activeElement.id") == "t1"
    page.locator("#p1 fieldset input").first.focus()
    page.keyboard.press("Space")
    assert page.text_content("[data-left='1']").startswith("Left out by you: ")
    page.select_option("select[data-column=gpu]", "1 × L40S")
    cells = page.locator("#rows tbody tr td:nth-child(1)").all_text_contents()
    assert set(cells) == {"1 × L40S"}
    page.locator("#rows th button", has_text="Users at once").focus()
    page.keyboard.press("Enter")
    head = page.locator("#rows th", has_text="Users at once")
    assert head.get_attribute("aria-sort") == "ascending"
    place = page.eval_on_selector_all("#rows th", "all => all.findIndex(one => one.title === 'batch_size') + 1")
    users = page.locator(f"#rows tbody tr td:nth-child({place})").all_text_contents()
    assert [float(one) for one in users if one != "–"] == sorted(float(one) for one in users if one != "–")
    assert "alert(1)" in page.text_content("h1")


def test_on_paper_stand_the_charts_of_every_workload_and_every_row(page, report_file, tmp_path):
    page.emulate_media(color_scheme="dark", media="print")
    page.goto(report_file.as_uri())
    page.wait_for_selector("#rows tbody tr")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('.tools')).display") == "none"
    rows = int(re.search(r"(\d+) shown", page.text_content("#place").replace(",", "")).group(1))
    pdf = page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert pdf.startswith(b"%PDF")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#rows tbody tr").count() == rows
    assert page.locator("[role=tabpanel]:visible").count() == 2
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#rows tbody tr").count() == 20
    assert outside(page) == []
