"""The documentation as pages: all of it, every link with its anchor, found by words; nothing asked elsewhere."""

import re
from html import unescape
from pathlib import Path

import pytest

from pages.documentation.library import address_of, kinds, names
from pages.documentation.rendering import render
from tests.pages.page import Page

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def every_page():
    from django.test import Client

    client, found = Client(), {}
    for address in ("/docs/", *(address_of(name) for name in names())):
        response = client.get(address)
        assert response.status_code == 200, address
        found[address] = response.content.decode()
    return found


def test_the_index_has_four_kinds_and_every_page_stands_in_one_of_them():
    assert [kind.title for kind in kinds()] == ["Tutorials", "How-to guides", "Reference", "Explanation"]
    listed = [entry.address for kind in kinds() for entry in kind.entries]
    assert len(listed) == len(set(listed))
    written = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"README"}
    assert {address_of(name) for name in (*written, "adr", "start")} <= set(listed)


@pytest.mark.usefixtures("db")
def test_every_link_leads_to_a_page_and_every_anchor_to_a_heading(every_page, client):
    anchors = {address: set(re.findall(r' id="([^"]+)"', html)) for address, html in every_page.items()}
    broken, seen = [], 0
    for address, html in every_page.items():
        for link in map(unescape, re.findall(r'<a [^>]*?href="([^"]+)"', html)):
            target, _sharp, anchor = link.partition("#")
            target = target.partition("?")[0] or address
            if target.startswith("http"):
                continue
            seen += 1
            if target not in every_page:
                if not target.startswith("/") or client.get(target).status_code not in (200, 302):
                    broken.append((address, link))
            elif anchor and anchor not in anchors[target]:
                broken.append((address, link))
    assert broken == []
    assert seen > 500


def test_a_search_finds_sections_by_all_their_words(client):
    page = Page(client.get("/docs/", {"q": "tensor kv cache"}).content.decode())
    hits = re.findall(r'<ol class="hits">(.*?)</ol>', page.html, re.S)[0]
    links = re.findall(r'href="([^"]+)"', hits)
    assert links
    for link in links:
        assert client.get(link.partition("#")[0]).status_code == 200
    # A word of a title weighs more than one in a text.
    named = client.get("/docs/", {"q": "words names"}).content.decode()
    assert re.search(r'<ol class="hits"><li><a href="([^"]+)"', named).group(1) == "/docs/glossary/#words-and-names"
    assert "AFORO_MAX_BODY_BYTES" in client.get("/docs/?q=aforo_max_body_bytes").content.decode()
    nothing = client.get("/docs/", {"q": "<script>zzzz</script>"}).content.decode()
    assert "<script>zzzz" not in nothing
    assert client.get("/docs/", {"q": "w " * 500}).status_code == 200


def test_nothing_is_inline_and_nothing_is_asked_elsewhere(every_page):
    for html in every_page.values():
        for tag, attrs in Page(html).elements:
            assert "style" not in attrs
            assert not attrs.get("src", "").startswith(("http", "//"))
            assert tag not in ("img", "iframe", "object")
        assert "<!--" not in html


def test_what_is_no_page_is_not_found(client):
    for name in ("settings", "../config/settings/base", "..%2f..%2fetc/passwd", "README", "adr/9999-nothing"):
        assert client.get(f"/docs/{name}/").status_code == 404


def test_headings_have_anchors_as_code_hosts_make_them_and_html_is_shown_as_written():
    shown = render("# A & B\n\n## How `--x` works, twice\n\ntext\n\n## How `--x` works, twice\n\n<b>raw</b>\n", str)
    assert [section.anchor for section in shown.sections] == ["a--b", "how---x-works-twice", "how---x-works-twice-1"]
    assert "&lt;b&gt;raw" in shown.html
    assert shown.sections[1].text == "text"
