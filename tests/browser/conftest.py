"""Chromium for the tests of pages: `page` is a new tab that notes what went wrong in it; one service for all."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.live import HANGS_AFTER_S, LiveService
from tests.starts import started_in


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed")
    with sync_playwright() as playwright:
        # The sandbox of Chromium refuses to run as root, which CI is.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """One service for all who read it, order reports or keep measurements; who edits the catalog starts their own."""
    with started_in(tmp_path_factory.mktemp("people")) as start:
        yield start()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab; `page.faults` lists console errors (policy violations are such) and requests to other hosts."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield watched(context.new_page())
    context.close()


def watched(page: Page) -> Page:
    """A tab that notes what goes wrong in it."""
    page.set_default_timeout(HANGS_AFTER_S * 1000)
    page.faults = []  # type: ignore[attr-defined]
    page.on("console", lambda message: page.faults.append(message.text) if message.type == "error" else None)  # type: ignore[attr-defined]
    page.on("response", lambda answer: page.faults.append(answer.url) if answer.status >= 400 else None)  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.faults.append(str(error)))  # type: ignore[attr-defined]
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(("http://127.0.0.1", "data:", "blob:")) else page.faults.append(request.url)  # type: ignore[attr-defined]
        ),
    )
    return page
