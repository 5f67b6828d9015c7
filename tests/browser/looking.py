"""What a test asks of a page in a browser: whether a chart is drawn, whether everybody can use it."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe


def draws(page: Any, selector: str) -> bool:
    """Whether a canvas holds something and has room."""
    return bool(
        page.evaluate(
            "selector => { const c = document.querySelector(selector);"
            " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            " return d.some(v => v !== 0) && c.clientWidth > 200; }",
            selector,
        )
    )


def accessible(page: Any) -> list[tuple[str, list[str]]]:
    """Violations that axe finds."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found]
