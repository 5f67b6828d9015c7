"""Whole ways of people: an engineer from the first page to a decision, a manager who gets a link on a telephone."""

import re

import pytest

from tests.browser.checks import cut_on_paper, log_in, until
from tests.browser.conftest import watched
from tests.browser.world import finished_report, link_to

pytestmark = pytest.mark.browser

TELEPHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}


def asked_anew(page, act):
    """The sentence after a change that the page sends by itself."""
    with page.expect_response(lambda response: response.request.method == "POST"):
        act()
    until(page, "document.getElementById('spoken').textContent === document.getElementById('said').textContent")
    return page.inner_text("#said")


def test_an_engineer_from_the_first_page_to_the_decision_of_a_report(page, service):
    log_in(page, service)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=service.base)
    page.goto(service.base)
    said = [page.inner_text("#said")]
    said.append(asked_anew(page, lambda: (page.fill("#model", "llama-3.1-8b"), page.press("#model", "Tab"))))
    said.append(asked_anew(page, lambda: page.select_option("#gpu", "l40s")))
    said.append(asked_anew(page, lambda: (page.fill("#gpus", "1"), page.press("#gpus", "Tab"))))
    said.append(asked_anew(page, lambda: (page.fill("#n", "5"), page.press("#n", "Tab"))))
    assert len(set(said)) == len(said), "each change is another answer"
    assert "5 users" in said[-1]

    page.locator("summary", has_text="Launch command").click()
    page.locator("details[open] button", has_text="Copy the command").click()
    until(page, "document.getElementById('spoken').textContent === 'Command copied'")
    command = page.evaluate("navigator.clipboard.readText()")
    assert command.startswith("vllm serve meta-llama/Llama-3.1-8B")
    assert command == page.locator("details[open] pre").first.inner_text()

    page.click(".verdict a:has-text('Compare')")
    page.locator("#add .chips a").first.click()
    assert page.locator("table.cmp th[scope=col]").count() == 2
    page.locator("table.cmp a", has_text="Change").first.click()
    assert page.inner_text("#said") == said[-1]

    # From here on by the keyboard alone: the order form from its first field to the decision.
    page.focus(".verdict a:has-text('Save as report')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/reports/new/**")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "name":
            break
    page.keyboard.type("Small cards for chat")
    while page.evaluate("document.activeElement.id") != "loads":
        page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("1, 5, 8")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert re.search(r"/reports/[0-9a-f-]{36}/$", page.url)
    assert page.inner_text("h1") == "Small cards for chat"
    # It shows the decision by itself; each of its GPUs has a line.
    page.wait_for_selector(".decide .who")
    assert "L40S" in page.inner_text(".decide .who")
    assert page.locator(".lines tbody tr:has(.dot:not(.open))").count() >= 1
    assert page.faults == []


def test_a_manager_opens_a_link_on_a_telephone_reads_prints_and_keeps_the_files(browser, service):
    report = finished_report(service)
    page_link, book_link = (link_to(service, report, file_format) for file_format in ("html", "xlsx"))
    context = browser.new_context(**TELEPHONE)
    page = watched(context.new_page())
    page.goto(page_link)
    # Who wins and how sure that is stands on the first screen, without a log-in and without ways to anywhere else.
    for part in (".decide .who", ".decide .tag"):
        place = page.locator(part).first.bounding_box()
        assert place["y"] + place["height"] < TELEPHONE["viewport"]["height"], part
    assert page.locator("nav").count() == 0
    assert "cheapest within the targets" in page.inner_text(".decide .who >> nth=0")
    page.locator("[role=tab]").nth(1).tap()
    assert page.locator("#p1").is_visible()
    assert list(cut_on_paper(page, page_link)) == []
    assert page.pdf(format="A4").startswith(b"%PDF")

    with page.expect_download() as kept:
        page.locator("a", has_text="Download").tap()
    assert kept.value.suggested_filename.endswith(".html")
    assert "cheapest within the targets" in kept.value.path().read_text()
    # A file that is not there yet is waited for by a page, and comes by itself.
    with page.expect_download() as kept:
        page.evaluate("address => { location.href = address; }", book_link)
    assert kept.value.suggested_filename.endswith(".xlsx")
    assert kept.value.path().read_bytes().startswith(b"PK")
    assert page.faults == []
    context.close()
