"""The ways people go through the pages, in a real browser."""

from urllib.parse import parse_qsl, urlsplit

import pytest

pytestmark = pytest.mark.browser


def test_an_engineer_compares_and_shares_with_and_without_a_script(page, browser, service):
    base = service.base
    page.goto(
        f"{base}/?model=llama-3.3-70b&gpu=h100-sxm5-80gb&gpus=2&weights=fp8&input=8000&output=500&n=16&ttft=2&tpot=50"
    )
    page.click("text=Compare >> nth=1")
    assert page.locator("table.cmp th[scope=col]").count() == 1
    page.locator("#add .chips a").first.click()
    assert page.locator("table.cmp th[scope=col]").count() == 2
    page.select_option("#gpu", "b200-sxm-180gb")
    page.click("#add button")
    names = page.locator("table.cmp .name").all_inner_texts()
    assert len(names) == 3
    assert "B200" in names[2]
    held = [value for name, value in parse_qsl(urlsplit(page.url).query) if name == "q"]
    assert len(held) == 3
    shared = page.locator("[data-copy]").first.get_attribute("data-copy")
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(shared)
    assert plain.inner_text("#said") == page.inner_text("#said")
    plain.locator("table.cmp a", has_text="Remove").first.click()
    assert plain.locator("table.cmp th[scope=col]").count() == 2
    plain.locator("table.cmp a", has_text="Change").first.click()
    assert plain.inner_text("#said")
    context.close()
    # The figure that is drawn is chosen without asking anew.
    page.click("label[for=show-ttft_s]")
    assert page.locator(".of-ttft_s").is_visible()
    assert page.faults == []


def test_prices_lead_from_a_name_to_a_month_and_to_own_gpus(page, service):
    page.goto(f"{service.base}/prices/")
    page.fill("#q", "openai/gpt-oss-120b")
    page.press("#q", "Enter")
    if page.locator("table.list").count():
        page.locator("table.list a").first.click()
    before = page.inner_text("#said")
    page.fill("#requests", "900000")
    page.press("#requests", "Enter")
    assert page.inner_text("#said") != before
    assert "requests=900000" in page.url
    page.locator("table.month th a").last.click()
    assert "#meters" in page.url
    assert "requests=900000" in page.url
    page.click("text=Compare with own GPUs")
    assert "API" in page.locator("table.cmp .name").last.inner_text()
    assert page.faults == []


@pytest.mark.parametrize(
    ("address", "skip", "place"),
    [("/compare/", "Skip to a further column", "add"), ("/prices/gpt-oss-120b/", "Skip to your traffic", "requests")],
)
def test_the_keyboard_alone_reaches_the_form(page, service, address, skip, place):
    page.goto(service.base + address)
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == skip
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == f"#{place}"
    before = page.url
    for _ in range(14):
        if page.evaluate("document.activeElement.tagName") == "INPUT":
            break
        page.keyboard.press("Tab")
    name = page.evaluate("document.activeElement.name")
    page.keyboard.type("llama-3.1-8b" if name == "model" else "1")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url != before
    assert page.inner_text("#said")
    assert page.faults == []


def test_the_documentation_is_found_by_words(page, service):
    page.goto(f"{service.base}/docs/")
    page.fill("#q", "prompt cache break-even")
    page.press("#q", "Enter")
    page.locator(".hits a").first.click()
    assert "/docs/" in page.url
    anchor = urlsplit(page.url).fragment
    assert page.locator(f"[id='{anchor}']").is_visible()
    assert page.faults == []
