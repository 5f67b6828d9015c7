"""The engineer's journey in a real browser: from the first page to a link that says the same to somebody else."""

import json
import os
import subprocess

import pytest

from tests.browser.checks import until

pytestmark = pytest.mark.browser

# Targets so wide that the users are safe whatever the constants of the estimate become.
WIDE = "/?model=llama-3.3-70b&gpu=h100-sxm5-80gb&gpus=2&weights=fp8&input=8000&output=500&n=16&ttft=600&tpot=5000"


def heading(page):
    return page.inner_text("#said")


def changed(page, act):
    """The heading after an act that asks anew."""
    with page.expect_response(lambda response: response.request.method == "POST"):
        act()
    until(page, "document.getElementById('spoken').textContent === document.getElementById('said').textContent")
    return heading(page)


def test_an_engineer_from_the_first_page_to_a_shared_link(page, browser, service):
    base = service.base
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(base)
    first = heading(page)
    assert "16 users" in first

    # A change asks anew, tells the sentence, and the address holds the question.
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(base + WIDE)
    assert "16 users safely within your targets" in heading(page)
    fewer = changed(page, lambda: (page.fill("#n", "2"), page.press("#n", "Tab")))
    assert "2 users safely within your targets" in fewer
    assert "n=2" in page.url
    other = changed(page, lambda: page.select_option("#gpu", "b200-sxm-180gb"))
    assert "B200" in other
    assert page.locator("#line").text_content().startswith("2 × B200")
    page.click("label[for=show-ttft_s]")
    assert page.locator(".of-ttft_s").is_visible()
    changed(page, lambda: (page.fill("#n", "3"), page.press("#n", "Tab")))
    assert page.locator(".of-ttft_s").is_visible()  # the figure that was chosen stays

    # The link says the same to somebody else, without JavaScript as well.
    shared = page.url
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(shared)
    assert heading(plain) == heading(page)
    plain.fill("#n", "400")
    plain.click("noscript button, button:has-text('Calculate')")
    assert "n=400" in plain.url
    assert "not 400" in heading(plain)
    plain.locator(".change tbody a").first.click()
    assert heading(plain)
    context.close()

    # The curl of the page is the API's answer.
    page.locator("summary", has_text="curl").click()
    command = page.locator("pre", has_text="curl -s").inner_text()
    token = service.text().split("API token")[1].split()[0]
    said = subprocess.run(["bash", "-c", command], capture_output=True, check=True, env={**os.environ, "TOKEN": token})
    answer = json.loads(said.stdout)
    assert answer["verdict"]["sentence"] == heading(page)
    assert page.faults == []


def test_the_keyboard_alone_reaches_the_answer(page, service):
    page.goto(service.base + WIDE)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#model"
    page.keyboard.press("Tab")
    for _ in range(16):
        if page.evaluate("document.activeElement.id") == "n":
            break
        page.keyboard.press("Tab")
    else:
        pytest.fail("the users are more than sixteen steps from the model")
    page.keyboard.press("Control+a")
    before = heading(page)
    page.keyboard.type("2")
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.keyboard.press("Enter")
    until(page, "document.getElementById('said').textContent.includes('2 users safely')")
    assert heading(page) != before
    # The figures of the curve are chosen with the arrows.
    page.focus("#show-tpot_s")
    page.keyboard.press("ArrowRight")
    assert page.locator(".of-ttft_s").is_visible()
    assert page.faults == []
