"""The pages of the documentation: which there are, of which kind, where their links lead, and what a search finds."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from pages.documentation.rendering import Rendered, render

_INDEX = "README.md"
_ROW = re.compile(r"^\| \[([^\]]*)\]\(([^)]+)\) \| (.+) \|$")
# Pages beside the folder that its pages link to, by the name that they have here.
_BESIDE = {"start": "README.md", "contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
_KEPT = 200
_AROUND = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A page as the index lists it: its name in the address, its title, what it is for."""

    name: str
    title: str
    words: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Pages of one kind: tutorials, how-to guides, reference, explanation."""

    title: str
    words: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A section that a search found."""

    page: str
    title: str
    address: str
    text: str


def names() -> dict[str, Path]:
    """The file of every page by its name in addresses; nothing where the documentation is not installed."""
    folder = _folder()
    found = {_name(path.relative_to(folder)): path for path in sorted(folder.glob("**/*.md"))}
    beside = {name: settings.BASE_DIR / file for name, file in _BESIDE.items()}
    found |= {name: path for name, path in beside.items() if path.exists() and folder.exists()}
    return {name: path for name, path in found.items() if name}


def page(name: str) -> Rendered | None:
    """A page as HTML; None where there is no such page."""
    path = names().get(name)
    return None if path is None else _rendered(path, path.stat().st_mtime_ns)


def kinds() -> tuple[Kind, ...]:
    """The index by kinds, as docs/README.md lists them."""
    path = _folder() / _INDEX
    return _kinds(path, path.stat().st_mtime_ns) if path.exists() else ()


def search(asked: str, limit: int) -> list[Hit]:
    """Sections that hold every word asked for; a word in a title weighs more than one in the text."""
    words = [word for word in re.split(r"\W+", asked.lower()) if word]
    if not words:
        return []
    scored = []
    for name, path in names().items():
        shown = _rendered(path, path.stat().st_mtime_ns)
        for section in shown.sections:
            text = f"{section.title} {section.text}"
            low = f"{shown.title} {text}".lower()
            if all(word in low for word in words):
                titles = f"{section.title} {shown.title}".lower()
                worth = sum(20 * (word in titles) + min(low.count(word), 5) for word in words)
                scored.append((-worth, name, section.anchor, shown.title, section.title, text, words))
    return [_hit(*one[1:]) for one in sorted(scored, key=lambda one: one[:3])[:limit]]


def _hit(name: str, anchor: str, page_title: str, title: str, text: str, words: list[str]) -> Hit:
    place = min((at for word in words if (at := text.lower().find(word)) >= 0), default=0)
    start = max(place - _AROUND, 0)
    shown = text[start : place + _AROUND]
    return Hit(
        page=page_title,
        title=title,
        address=f"{address_of(name)}#{anchor}",
        text=f"{'…' if start else ''}{' '.join(shown.split())}{'…' if place + _AROUND < len(text) else ''}",
    )


def address_of(name: str) -> str:
    """The address of a page."""
    return reverse("documentation-page", args=[name])


def _folder() -> Path:
    return Path(settings.BASE_DIR) / "docs"


def _name(path: Path) -> str:
    """The name of a file of the folder; empty for the index."""
    name = path.as_posix().removesuffix(".md")
    return name.removesuffix("README").rstrip("/")


@lru_cache(maxsize=_KEPT)
def _rendered(path: Path, _changed_ns: int) -> Rendered:
    base = path.parent.relative_to(settings.BASE_DIR)
    return render(path.read_text(encoding="utf-8"), lambda target: _led(base, target))


def _led(base: Path, target: str) -> str | None:
    """Where a link of a page in a folder leads."""
    if ":" in target.partition("/")[0] or target.startswith("#"):
        return target
    file, _sharp, anchor = target.partition("#")
    place = posixpath.normpath((base / file).as_posix())
    if place == "docs/openapi.yaml":
        return reverse("docs")
    if place == f"docs/{_INDEX}" or place == "docs":
        return reverse("documentation")
    named = {path.relative_to(settings.BASE_DIR).as_posix(): name for name, path in names().items()}
    name = named.get(place) or named.get(f"{place}/{_INDEX}")
    return None if name is None else address_of(name) + (f"#{anchor}" if anchor else "")


@lru_cache(maxsize=1)
def _kinds(path: Path, _changed_ns: int) -> tuple[Kind, ...]:
    parts = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return tuple(_kind(part) for part in parts)


def _kind(part: str) -> Kind:
    title, _newline, rest = part.partition("\n")
    words = next((line for line in rest.splitlines() if line and not line.startswith("|")), "")
    return Kind(title=title.strip(), words=words, entries=tuple(_entries(rest)))


def _entries(part: str) -> Iterator[Entry]:
    for line in part.splitlines():
        if (row := _ROW.match(line)) is None:
            continue
        label, target, words = row.groups()
        address = _led(Path("docs"), target)
        if address is None:
            continue
        shown = next((page(name) for name in names() if address_of(name) == address), None)
        title = shown.title if shown is not None and label == target else label
        yield Entry(name=target, title=title, words=_unmarked(words), address=address)


def _unmarked(words: str) -> str:
    """Words of a table without links and code marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words).replace("`", "")
