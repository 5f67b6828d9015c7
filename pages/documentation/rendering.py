"""Markdown to HTML: headings with anchors, links between pages, tables that scroll, sections to search in."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_COMMENT = re.compile(r"^<!--.*?-->\s*$", re.MULTILINE | re.DOTALL)
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
Links = Callable[[str], str | None]
"""Where a link leads on the site: an address, or None where it leads nowhere here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with its text: what a search finds, and what the table of contents lists."""

    level: int
    title: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A page: its title, its HTML, its sections in order."""

    title: str
    html: str
    sections: tuple[Section, ...]


def render(text: str, links: Links) -> Rendered:
    """A page of Markdown.

    Args:
        text: the source; comments in HTML on lines of their own are left out, other HTML is shown as it is written.
        links: turns the target of a link into an address of the site.
    """
    reader = _reader()
    tokens = reader.parse(_COMMENT.sub("", text))
    sections = _sections(tokens)
    _lead(tokens, links)
    html = reader.renderer.render(tokens, reader.options, {})
    title = next((section.title for section in sections if section.level == 1), "")
    return Rendered(title=title, html=html, sections=tuple(sections))


def anchor_of(title: str) -> str:
    """The anchor of a heading, as code hosts make it."""
    return _NOT_IN_ANCHORS.sub("", title.strip().lower()).replace(" ", "-")


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    rules = {"table_open": _table_open, "table_close": _table_close, "fence": _code, "code_block": _code}
    for name, rule in rules.items():
        reader.add_render_rule(name, rule)
    return reader


def _sections(tokens: Sequence[Token]) -> list[Section]:
    """The sections, while every heading gets its anchor."""
    found: list[dict[str, Any]] = []
    used: dict[str, int] = {}
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            title = _plain(tokens[place + 1])
            anchor = anchor_of(title)
            used[anchor] = used.get(anchor, -1) + 1
            anchor += f"-{used[anchor]}" if used[anchor] else ""
            token.attrSet("id", anchor)
            found.append({"level": int(token.tag[1:]), "title": title, "anchor": anchor, "text": []})
        elif token.type in ("inline", "fence", "code_block") and found and tokens[place - 1].type != "heading_open":
            found[-1]["text"].append(_plain(token))
    return [Section(**{**one, "text": " ".join(one["text"])}) for one in found]


def _plain(token: Token) -> str:
    """The text of a token without its marks."""
    if token.type in ("fence", "code_block"):
        return token.content
    words = (child.content if child.content else " " for child in token.children or ())
    return "".join(words).strip()


def _lead(tokens: Sequence[Token], links: Links) -> None:
    """Gives every link its address on the site; one that leads nowhere here becomes plain text."""
    for token in tokens:
        kept: list[Token] = []
        dropped = 0
        for child in token.children or ():
            if child.type == "link_open":
                address = links(str(child.attrGet("href") or ""))
                if address is None:
                    dropped += 1
                    continue
                child.attrSet("href", address)
                if address.startswith("http"):
                    child.attrSet("rel", "noreferrer")
            elif child.type == "link_close" and dropped:
                dropped -= 1
                continue
            kept.append(child)
        if token.children:
            token.children = kept


def _table_open(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    env["tables"] = env.get("tables", 0) + 1
    return f'<div class="scroll" tabindex="0" role="region" aria-label="Table {env["tables"]}"><table>\n'


def _table_close(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    return "</table></div>\n"


def _code(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    return f'<pre tabindex="0"><code>{_escaped(tokens[place].content)}</code></pre>\n'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
