"""Names of models as providers return them: dated names, aliases, regional and fine-tuned ones, by rules as data.

A rule is one object: `equals`, `starts_with`, `ends_with`, `contains` or `regex` with a text, `or` and `and` with a
list of rules. An exact name speaks louder than a pattern; then the maker of the model before other sellers, and
of its models the one whose rule names most of the name.
"""

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LONGEST = 200
_COMPACT_DAY = re.compile(r"(?<=-)(20\d\d)(\d\d)(\d\d)(?=-|:|@|$)")
_KINDS = ("equals", "starts_with", "ends_with", "contains", "regex")
# us.anthropic.claude-…, amazon.nova-…: names of a cloud, with a region or the maker before a dot.
_REGIONAL = re.compile(r"[a-z]+(?:-[a-z]+)*\.[a-z]", re.IGNORECASE)
_MOST_KEPT = 1000
NOT_MEANT = (False, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRule:
    """The names that mean the prices of one slug."""

    slug: str
    provider: str
    model: str
    match: Mapping[str, Any]


def strength(rule: Mapping[str, Any], name: str) -> tuple[bool, int]:
    """How surely a rule means a name: whether exactly, and how many characters it names; (False, 0) not at all."""
    for kind, what in rule.items():
        if kind == "or":
            return max((strength(each, name) for each in what), default=NOT_MEANT)
        if kind == "and":
            parts = [strength(each, name) for each in what]
            if not all(length for _exact, length in parts):
                return NOT_MEANT
            return (any(exact for exact, _length in parts), sum(length for _exact, length in parts))
        length = _held(kind, str(what), name)
        return (kind == "equals", length) if length else NOT_MEANT
    return NOT_MEANT


def _held(kind: str, what: str, name: str) -> int:
    """How many characters of a name one rule without others inside it names."""
    if kind == "regex":
        found = re.search(what, name)
        return max(len(found[0]), 1) if found else 0
    what, name = what.lower(), name.lower()
    holds = {
        "equals": name == what,
        "starts_with": name.startswith(what),
        "ends_with": name.endswith(what),
        "contains": what in name,
    }[kind]
    return len(what) if holds else 0


def match_fault(rule: Any) -> str | None:
    """What is wrong with a rule, in words; None when it can be read."""
    if not isinstance(rule, Mapping) or len(rule) > 1:
        return "Give one rule: an object with one key."
    for kind, what in rule.items():
        if kind in ("or", "and"):
            if not isinstance(what, list):
                return f"{kind} takes a list of rules."
            return next((fault for each in what if (fault := match_fault(each) or _empty_fault(each))), None)
        if kind not in _KINDS or not isinstance(what, str) or not what:
            return f"A rule is one of {', '.join([*_KINDS, 'or', 'and'])}, with a text."
        if kind == "regex":
            try:
                re.compile(what)
            except re.error as broken:
                return f"{what} is no regular expression: {broken}."
    return None


def _empty_fault(rule: Mapping[str, Any]) -> str | None:
    return None if rule else "A rule in a list is not empty."


class ModelNames:
    """The rules of all sellers, to be asked for a name."""

    def __init__(self, rules: Iterable[NameRule], *, makers: Sequence[str]) -> None:
        self._rules = tuple(rules)
        self._makers = tuple(makers)
        self._kept: dict[str, tuple[str, ...]] = {}
        self._sellers = {rule.provider for rule in self._rules}

    def find(self, given: str) -> tuple[str, ...]:
        """Slugs that a name means: one where it is clear, several where it is not, none where nothing is known."""
        name = given.strip()[:_LONGEST]
        if name not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[name] = self._find(name)
        return self._kept[name]

    def _find(self, name: str) -> tuple[str, ...]:
        seller, _slash, rest = name.partition("/")
        if seller.lower() in self._sellers and rest and (found := self._meant(rest, seller.lower())):
            return found
        return self._meant(name.removeprefix("models/"), None)

    def _meant(self, name: str, seller: str | None) -> tuple[str, ...]:
        for spelling in dict.fromkeys((name, name.lower(), _with_dashes(name.lower()))):
            hits = [
                (strength(rule.match, spelling), rule)
                for rule in self._rules
                if seller is None or rule.provider == seller
            ]
            found = [(how, rule) for how, rule in hits if how != NOT_MEANT]
            if found:
                return self._chosen(found, regional=bool(_REGIONAL.match(spelling)))
        return ()

    def _chosen(self, hits: Sequence[tuple[tuple[bool, int], NameRule]], *, regional: bool) -> tuple[str, ...]:
        exactly = [hit for hit in hits if hit[0][0]]
        if regional and not exactly:  # a cloud's own way of writing: the cloud whose rule names most of it
            hits = _longest(hits)
        hits = exactly or list(hits)
        maker = next((each for each in self._makers if any(rule.provider == each for _how, rule in hits)), None)
        meant = _longest([(how, rule) for how, rule in hits if maker is None or rule.provider == maker])
        return tuple(dict.fromkeys(rule.slug for _how, rule in meant))


def _longest(hits: Sequence[tuple[tuple[bool, int], NameRule]]) -> list[tuple[tuple[bool, int], NameRule]]:
    most = max(how for how, _rule in hits)
    return [hit for hit in hits if hit[0] == most]


def _with_dashes(name: str) -> str:
    """A day written without dashes, with them: gpt-5.2-20251211 is gpt-5.2-2025-12-11."""

    def dashed(found: re.Match[str]) -> str:
        try:
            return datetime.date(*(int(part) for part in found.groups())).isoformat()
        except ValueError:
            return found[0]

    return _COMPACT_DAY.sub(dashed, name)
