"""What reading a manifest says beside the question: where each part came from, and what no figure holds."""

from dataclasses import dataclass, field
from typing import Any

from manifests.flags import Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A field of the question: its value, what said it, where (flag, resources, label, image, name, default, given)."""

    field: str
    value: Any
    said: str
    origin: str
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotUsed:
    """A flag that does not act: `why` where it may matter and no figure holds it, None where it changes nothing."""

    flag: str
    line: int
    why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A flag or word that no argument list has, with those that are near."""

    flag: str
    line: int
    near: tuple[str, ...]
    versions: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStated:
    """A field that the text does not state, and what was taken."""

    field: str
    taken: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What the question cannot go without."""

    field: str
    detail: str
    near: tuple[str, ...] = ()


@dataclass(slots=True)
class Reading:
    """Everything that one start says; `parts` is the question as nested objects."""

    parts: dict[str, Any] = field(default_factory=dict)
    read: list[Read] = field(default_factory=list)
    not_used: list[NotUsed] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    not_stated: list[NotStated] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    replicas: int = 1
    gpus_stated: int | None = None

    def put(self, path: str, value: Any, said: str, origin: str, line: int | None) -> None:
        """A field of the question with where it came from; what was read before for it is replaced."""
        place = self.parts
        *parents, name = path.split(".")
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = value
        self.read = [one for one in self.read if one.field != path]
        self.read.append(Read(field=path, value=value, said=said, origin=origin, line=line))

    def flag(self, path: str, value: Any, flag: Flag) -> None:
        """A field that a flag says."""
        self.put(path, value, flag.written, "flag", flag.line)

    def say(self, field: str, value: Any, flag: Flag) -> None:
        """A flag that is understood, and is no field of the question."""
        self.read.append(Read(field=field, value=value, said=flag.written, origin="flag", line=flag.line))

    def at(self, path: str) -> Any:
        """The value at a path of the question; None where it is not read."""
        found: Any = self.parts
        for name in path.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def ignored(self, flag: Flag, why: str | None) -> None:
        """A flag that does not act."""
        self.not_used.append(NotUsed(flag=flag.written, line=flag.line, why=why))
