"""An editor and a second one: an import with faults, a price announced on the desk, a refusal, and the change log."""

import pytest

from tests.browser.checks import faults_of, until
from tests.browser.test_catalog_admin import log_in, picture

pytestmark = pytest.mark.browser
DESK = "/admin/catalog/apiprice/desk/google-gemini-2.5-pro/"
FAULTY = "slug,tdp_w,memory_vendor_bytes,bandwith\nl4,many,24 Gb,1\n"
MENDED = "slug,tdp_w,memory_vendor_bytes\nl4,75,24 GB\n"


def imports(page, service, text):
    page.goto(f"{service.base}/admin/catalog/gpu/import/")
    page.set_input_files("input[type=file]", {"name": "gpus.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.select_option("select[name=format]", label="csv")
    page.get_by_role("button", name="Submit").click()


def announces(page, field, amount):
    page.fill(f"[name={field}]", amount)
    page.fill("[name=day]", "2027-01-01")
    page.fill("[name=source_url]", "https://ai.google.dev/gemini-api/docs/pricing")
    page.fill("[name=reason]", "Announcement of December")
    page.press("[name=reason]", "Tab")
    page.get_by_role("button", name="Show what follows").focus()
    page.keyboard.press("Enter")


def test_an_editor_mends_an_import_and_announces_a_price_while_a_second_holds_the_page(page, live_service):
    service = live_service()
    log_in(page, service)
    imports(page, service, FAULTY)
    faults = page.locator("#import-faults")
    faults.wait_for()
    assert "3 faults; nothing was saved" in faults.inner_text()
    assert "write B for bytes" in faults.inner_text()
    assert list(faults_of(page, "faults of an import", scheme="light")) == []
    picture(page, "import-faults")
    imports(page, service, MENDED)
    page.wait_for_selector("[name=confirm], input[name=import_file_name]", state="attached")

    second = page.context.new_page()
    second.goto(service.base + DESK)
    field = second.locator("input[name^=new_]").first.get_attribute("name")
    page.goto(service.base + DESK)
    announces(page, field, "1.50")
    page.locator("#desk-preview").wait_for()
    said = page.locator("#desk-preview").inner_text()
    assert "1.5 USD per million tokens, since 2027-01-01" in said
    assert "Batch stays at 0.625" in said
    assert list(faults_of(page, "what follows", scheme="light")) == []
    picture(page, "desk-preview")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_selector("text=1 price is saved")

    announces(second, field, "1.75")
    refusal = second.locator("#desk-conflict")
    refusal.wait_for()
    assert "nothing was saved" in refusal.inner_text()
    assert second.input_value(f"[name={field}]") == "1.75"
    for scheme, width in (("light", 390), ("dark", 390), ("dark", 1440)):
        second.emulate_media(color_scheme=scheme)
        second.set_viewport_size({"width": width, "height": 900})
        assert second.evaluate("document.documentElement.scrollWidth <= innerWidth")
        picture(second, f"desk-conflict-{scheme}-{width}")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("review/", "changes/", ""):
        page.goto(f"{service.base}/admin/{path}")
        until(page, "document.readyState === 'complete'")
        assert list(faults_of(page, f"/admin/{path} at 390 px", scheme="dark")) == []
        picture(page, f"admin-{path.strip('/')}-dark-390")
    page.goto(f"{service.base}/admin/changes/?kind=apiprice")
    log = page.locator(".af-table").inner_text()
    assert "effective to: empty → 2027-01-01" in log
    assert "Announcement of December" in log
    status, rows = service.call("GET", "/api/v1/api-prices/google-gemini-2.5-pro/history/")
    assert status == 200
    assert {row["amount"] for row in rows} >= {"1.25", "1.5"}
    assert "1.75" not in {row["amount"] for row in rows}
