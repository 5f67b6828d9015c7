"""What every page of ours is held to in a browser."""

import pytest

from tests.browser.looking import accessible


def no_wider_than_the_screen(page):
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def check(page, where):
    """Nothing wrong in the console, nothing asked elsewhere, no sideways scroll, no violation of axe."""
    assert page.faults == [], where
    assert no_wider_than_the_screen(page), where
    assert accessible(page) == [], where


def until(page, script):
    """Waits for a page; the policy of ours forbids the library's own way, which evaluates text in the page."""
    for _ in range(600):
        if page.evaluate(script):
            return
        page.wait_for_timeout(100)
    pytest.fail(script)
