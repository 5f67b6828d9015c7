"""YAML as a tree of texts with lines, safely: bounded in size, depth and nodes, and aliases are never copied.

Every scalar stays the text that it is, so that no `on` becomes true and no `010` becomes 8. An alias is the node that
it names: a file of aliases to aliases costs what is written, not what it would unfold to.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from manifests.reading.words import ManifestError

MOST_CHARACTERS = 200_000
_MOST_DEPTH = 40
_MOST_NODES = 20_000
_MOST_MERGED = 8
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text; `last_line` is where it ends, `literal` whether it was written as a block."""

    text: str
    line: int
    last_line: int
    quoted: bool


@dataclass(slots=True)
class Listed:
    """A list."""

    line: int
    items: list["Node"] = field(default_factory=list)


@dataclass(slots=True)
class Mapped:
    """An object; `merged` are those that `<<` names."""

    line: int
    keys: dict[str, "Node"] = field(default_factory=dict)
    merged: list["Mapped"] = field(default_factory=list)

    def get(self, *path: str) -> "Node | None":
        """The node at a path of keys; None where there is none."""
        found: Node | None = self
        for key in path:
            if not isinstance(found, Mapped):
                return None
            found = found.own(key)
        return found

    def own(self, key: str, depth: int = 0) -> "Node | None":
        """The value of one key, its own before a merged one."""
        if key in self.keys or depth > _MOST_MERGED:
            return self.keys.get(key)
        return next((found for one in self.merged if (found := one.own(key, depth + 1)) is not None), None)

    def map(self, *path: str) -> "Mapped":
        """The object at a path; an empty one where there is none."""
        found = self.get(*path)
        return found if isinstance(found, Mapped) else Mapped(line=self.line)

    def items(self, *path: str) -> "list[Node]":
        """The items at a path; none where there is no list."""
        found = self.get(*path)
        return found.items if isinstance(found, Listed) else []

    def maps(self, *path: str) -> "list[Mapped]":
        """Those of the items that are objects."""
        return [one for one in self.items(*path) if isinstance(one, Mapped)]

    def scalar(self, *path: str) -> Scalar | None:
        """The text at a path; None where there is none, or where it is null."""
        found = self.get(*path)
        if not isinstance(found, Scalar) or (not found.quoted and found.text in ("", "null", "~")):
            return None
        return found

    def text(self, *path: str) -> str:
        """The same as text, empty where there is none."""
        found = self.scalar(*path)
        return found.text if found is not None else ""


Node = Scalar | Listed | Mapped


def documents(text: str) -> list[Node]:
    """The documents of a YAML text.

    Raises:
        ManifestError: it is no YAML, too long, too deep, or holds a key twice.
    """
    if len(text) > MOST_CHARACTERS:
        raise ManifestError(f"The text has more than {MOST_CHARACTERS:,} characters.")
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 0
        if "{{" in text:
            raise ManifestError(
                "This is a template: give what `helm template` or its like makes of it.", line
            ) from None
        raise ManifestError(f"No YAML: {getattr(error, 'problem', None) or 'it cannot be read'}.", line) from None
    except (RecursionError, ValueError) as error:
        raise ManifestError(f"No YAML: {error}.") from None
    return builder.found


class _Builder:
    """Puts nodes together from the parser's events, without recursion."""

    def __init__(self) -> None:
        self.found: list[Node] = []
        self._open: list[tuple[Listed | Mapped, list[Scalar]]] = []
        self._anchors: dict[str, Node] = {}
        self._nodes = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._anchors = {}
        elif isinstance(event, yaml.AliasEvent):
            named = self._anchors.get(event.anchor or "")
            line = _line(event)
            if named is None or any(named is one for one, _key in self._open):
                raise ManifestError(f"The alias *{event.anchor} names no value.", line)
            self._put(named, line)
        elif isinstance(event, yaml.ScalarEvent):
            self._put(_scalar(event), _line(event), event.anchor)
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            line = _line(event)
            node: Listed | Mapped = Listed(line) if isinstance(event, yaml.SequenceStartEvent) else Mapped(line)
            self._put(node, line, event.anchor)
            self._open.append((node, []))
            if len(self._open) > _MOST_DEPTH:
                raise ManifestError(f"The YAML nests more than {_MOST_DEPTH} levels deep.", line)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            self._open.pop()

    def _put(self, node: Node, line: int, anchor: str | None = None) -> None:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise ManifestError(f"The YAML has more than {_MOST_NODES:,} values.", line)
        if anchor:
            self._anchors[anchor] = node
        if not self._open:
            self.found.append(node)
            return
        parent, keys = self._open[-1]
        if isinstance(parent, Listed):
            parent.items.append(node)
        elif not keys:
            # A key that is no text, such as {{ … }} left in a Secret, is one that nobody asks for.
            keys.append(node if isinstance(node, Scalar) else Scalar(f"\0{self._nodes}", line, line, quoted=True))
        else:
            _set(parent, keys.pop(), node)


def _set(parent: Mapped, key: Scalar, node: Node) -> None:
    if key.text == "<<" and not key.quoted:
        merged = node.items if isinstance(node, Listed) else [node]
        parent.merged += [one for one in merged if isinstance(one, Mapped)]
        return
    if key.text in parent.keys:
        raise ManifestError(f"The key {key.text} stands twice in one object.", key.line)
    parent.keys[key.text] = node


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0


def _scalar(event: yaml.ScalarEvent) -> Scalar:
    first, end = _line(event), event.end_mark
    last = 0 if end is None else end.line + (1 if end.column else 0)
    return Scalar(text=event.value, line=first, last_line=max(last, first), quoted=bool(event.style))


def scalars(node: "Node | None") -> Iterator[Scalar]:
    """The texts of a list, or the one text itself."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Listed):
        yield from (one for one in node.items if isinstance(one, Scalar))
