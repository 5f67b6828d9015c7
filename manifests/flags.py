"""The words behind a program as flags: name, value and line of each, by the engine's own argument list."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz import fuzz, process

from manifests.arguments import Arguments
from manifests.reading.words import Word

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_IS_SWITCH = re.compile(r"--(no|enable|disable|skip|use)[-_]")
_LEAST_ALIKE = 70
_MOST_NEAR = 3
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A flag as written. `name` is the engine's name for it, None where it has none such; `off`: written with --no-."""

    said: str
    name: str | None
    values: tuple[str, ...]
    line: int
    off: bool = False
    near: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The first value; empty for a switch."""
        return self.values[0] if self.values else ""

    @property
    def written(self) -> str:
        """The flag with its values."""
        return " ".join((self.said, *self.values))[:200]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command's flags and the words that belong to none."""

    flags: tuple[Flag, ...]
    positional: tuple[Word, ...]


def read_flags(words: Sequence[Word], known: Arguments) -> Line:
    """The flags of a command; a flag given twice counts as it was given last, as the engines take it."""
    found: list[Flag] = []
    positional: list[Word] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if not _is_flag(word.text):
            positional.append(word)
            continue
        said, mark, value = word.text.partition("=")
        said, key = _dotted(said, known)
        name = known.spelled(said)
        values = [value] if mark else []
        if not mark:
            most = _most_values(said, name, known)
            while len(values) < most and place < len(words) and not _is_flag(words[place].text):
                if _takes_none(name, known) and words[place].text.lower() not in ("true", "false"):
                    break
                values.append(words[place].text)
                place += 1
        if key is not None and name is not None:
            values = [json.dumps(_nested(key, values[0] if values else "true"))]
        found.append(_flag(said, name, values, word.line, known))
    return Line(flags=_joined(found, known), positional=tuple(positional))


def _is_flag(text: str) -> bool:
    return text.startswith("-") and len(text) > 1 and not _NUMBER.fullmatch(text)


def _dotted(said: str, known: Arguments) -> tuple[str, str | None]:
    """`--speculative-config.method` as the flag and the key in its JSON; `-O3` as -O."""
    head, mark, key = said.partition(".")
    if mark and known.spelled(said) is None and known.spelled(head) is not None:
        return head, key
    return said, None


def _nested(key: str, value: str) -> dict[str, Any]:
    inner: Any = value
    if _NUMBER.fullmatch(value):
        inner = float(value) if "." in value else int(value)
    elif value.lower() in ("true", "false"):
        inner = value.lower() == "true"
    for part in reversed(key.split(".")[:6]):
        inner = {part.replace("-", "_"): inner}
    found: dict[str, Any] = inner
    return found


def _most_values(said: str, name: str | None, known: Arguments) -> int:
    if name in known.several:
        return 10_000
    return 1


def _takes_none(name: str | None, known: Arguments) -> bool:
    """Whether a flag is a switch: by the lists, or by a name that only switches have."""
    if name is None:
        return False
    if name in known.switches or name.startswith("--no-"):
        return True
    if name in known.meanings or name in known.without_effect:
        return False
    return _IS_SWITCH.match(name) is not None


def _flag(said: str, name: str | None, values: list[str], line: int, known: Arguments) -> Flag:
    near: tuple[str, ...] = ()
    off = False
    if name is None:
        if said[:2] in ("-O", "-0") and known.engine == "vllm" and said[2:].isdigit():
            return Flag(said=said, name="--optimization-level", values=(said[2:],), line=line)
        hits = process.extract(
            said[:100], sorted(known.names), scorer=fuzz.ratio, limit=_MOST_NEAR, score_cutoff=_LEAST_ALIKE
        )
        near = tuple(hit[0] for hit in hits)
    elif name.startswith("--no-") and name not in known.names:
        name, off = "--" + name[5:], True
    return Flag(said=said, name=name, values=tuple(values), line=line, off=off, near=near)


def _joined(flags: Sequence[Flag], known: Arguments) -> tuple[Flag, ...]:
    """Parts of one JSON value put together, and of a flag given twice the last."""
    last: dict[str, Flag] = {}
    unknown: list[Flag] = []
    for flag in flags:
        name = flag.name
        if name is None:
            unknown.append(flag)
            continue
        before = last.pop(name, None)
        is_json = before is not None and before.value.startswith("{") and flag.value.startswith("{")
        last[name] = _merged(before, flag) if before is not None and is_json else flag
    return tuple(sorted([*last.values(), *unknown], key=lambda one: one.line))


def _merged(first: Flag, second: Flag) -> Flag:
    try:
        one, other = json.loads(first.value), json.loads(second.value)
    except ValueError:
        return second
    value = json.dumps({**one, **other})
    return Flag(said=first.said, name=first.name, values=(value,), line=first.line)


def truth(flag: Flag) -> bool | None:
    """Whether a switch is on; None where its value is neither true nor false."""
    text = flag.value.lower()
    if text in ("", *_TRUE):
        return not flag.off
    return flag.off if text in _FALSE else None
