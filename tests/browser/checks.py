"""What every page of ours is held to in a browser."""

from collections.abc import Iterator

import pytest

from tests.browser.looking import accessible

# What reaches over the edge of the screen; on paper nobody scrolls, so what scrolls there is cut.
_CUT = """paper => [...document.querySelectorAll(paper ? "main table, main pre, main .scroll" : "html")]
  .filter(one => one.checkVisibility() && (paper
    ? one.getBoundingClientRect().right > innerWidth + 1
      || one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible"
    : one.scrollWidth > innerWidth))
  .map(one => one.tagName + "." + one.className.toString() + " " + one.scrollWidth)"""
# A4 less its margins, in pixels of CSS.
_PAPER = {"width": 688, "height": 1000}


def log_in(page, service):
    """As the demo user, through the page."""
    name, password = service.text().split("Login")[1].split("\n")[0].split()[0::2]
    page.goto(f"{service.base}/login/")
    page.fill("#username", name)
    page.fill("#password", password)
    with page.expect_navigation():
        page.press("#password", "Enter")


def faults_of(page, address, *, scheme, axe=True) -> Iterator[str]:
    """What is wrong with a page that is open: in the scheme with axe, in the other one by its width."""
    page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true; })")
    yield from (f"{address}: {fault}" for fault in page.faults)
    yield from (f"{address} ({scheme}): {fault}" for fault in (accessible(page) if axe else ()))
    for chosen in (scheme, "light" if scheme == "dark" else "dark"):
        page.emulate_media(color_scheme=chosen)
        yield from (f"{address} ({chosen}) wider than the screen: {one}" for one in page.evaluate(_CUT, False))
    page.emulate_media(color_scheme=scheme)


def cut_on_paper(page, address) -> Iterator[str]:
    """What of a page would be cut on a sheet of A4."""
    size = page.viewport_size
    page.set_viewport_size(_PAPER)
    page.emulate_media(media="print")
    yield from (f"{address} cut on paper: {one}" for one in page.evaluate(_CUT, True))
    page.emulate_media(media="screen")
    page.set_viewport_size(size)


def until(page, script):
    """Waits for a page; the policy of ours forbids the library's own way, which evaluates text in the page."""
    for _ in range(600):
        if page.evaluate(script):
            return
        page.wait_for_timeout(100)
    pytest.fail(script)
