"""The HTML report in a real browser: no request, no fault, charts drawn, readable on a phone, in the dark, in print."""

import os
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from rest_framework.test import APIClient

from reports.api import examples
from reports.services import files
from reports.work import worker
from tests.estimator.conftest import loaded_catalog

__all__ = ["loaded_catalog"]

# Playwright's loop runs in this thread, which Django would take for asynchronous code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
pytestmark = [pytest.mark.browser, pytest.mark.django_db]


@pytest.fixture
def report_file(loaded_catalog, settings, tmp_path, monkeypatch) -> Path:
    settings.AFORO_ARTIFACT_DIR = tmp_path / "artifacts"
    monkeypatch.setattr("reports.work.bell.ring", lambda pieces=1: None)
    client = APIClient()
    client.force_authenticate(get_user_model().objects.create_user("ana", password="x"))
    sweep = examples.SWEEP | {
        "gpus": ["h100-sxm5-80gb", "a100-sxm4-80gb", "l40s"],
        "precisions": [{"weights": "bf16"}, {"weights": "fp8", "kv_cache": "fp8"}],
        "parallelism": [{"tp": 1}, {"tp": 2}],
        "workloads": [
            *examples.SWEEP["workloads"],
            {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 300, "requests_per_s": [1, 4, 1000]},
        ],
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
    page.write_bytes(found.path.read_bytes())
    return page


def outside(page) -> list[str]:
    return [fault for fault in page.faults if not fault.startswith("file://")]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_the_report_draws_asks_nothing_and_fits(page, report_file, tmp_path, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(report_file.as_uri())
    page.wait_for_selector("#rows tbody tr")
    assert outside(page) == []
    for chart in ("speed", "cost", "arrivals_cost", "arrivals_wait", "ledger"):
        drawn = page.evaluate(
            "id => { const c = document.getElementById(id);"
            " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            " return d.some(v => v !== 0) && c.clientWidth > 200; }",
            chart,
        )
        assert drawn, chart
        legend = page.locator(f"[data-chart={chart}] li")
        assert legend.count() > 1
        boxes = [legend.nth(place).bounding_box() for place in range(legend.count())]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes), chart
    answers = page.locator(".answers tbody tr")
    assert answers.count() == 2  # chat and arrivals
    assert "USD" in answers.first.text_content()
    assert page.evaluate(
        "() => { const box = document.querySelector('.answers').parentElement;"
        " return box.scrollWidth <= box.clientWidth; }"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "16px"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is (scheme == "light")
    page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)


def test_filters_and_pages_of_the_rows_work(page, report_file):
    page.goto(report_file.as_uri())
    page.select_option("select[data-column=gpu]", "l40s")
    place = page.eval_on_selector_all("#rows th", "cells => cells.findIndex(c => c.title === 'gpu') + 1")
    cells = page.locator(f"#rows tbody tr td:nth-child({place})").all_text_contents()
    assert set(cells) == {"l40s"}
    first = page.text_content("#place")
    page.click("#on")
    assert page.text_content("#place") != first
    assert "alert(1)" in page.text_content("h1")


def test_the_report_prints_to_clean_pages_in_light_colours(page, report_file, tmp_path):
    page.emulate_media(color_scheme="dark", media="print")
    page.goto(report_file.as_uri())
    page.wait_for_selector("#rows tbody tr")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('.tools')).display") == "none"
    pdf = page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert pdf.startswith(b"%PDF")
    assert outside(page) == []
