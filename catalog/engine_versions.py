"""Which profile covers a version of an engine, and which of its constants changed inside its range."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_NAMED = re.compile(r"(?P<engine>[a-z][a-z0-9.+-]*?)[-@ ]v?(?P<version>\d{1,4}(?:\.\d{1,4}){0,3})(?:[a-z0-9.+-]*)")
_RANGE = re.compile(r"(?P<first>\d+(?:\.\d+)*)(?: (?:to|and later) ?(?P<last>\d+(?:\.\d+)*)?)?")

Version = tuple[int, ...]
RELEASE = "release"
"""Key of the release that was asked for, beside the facts of the profile that covers it."""


def version_of(text: str) -> Version:
    """The numbers of a version: `0.20.2` is (0, 20, 2).

    >>> version_of("0.20.2")
    (0, 20, 2)
    """
    return tuple(int(part) for part in text.split("."))


def named_version(name: str) -> tuple[str, Version] | None:
    """Engine and version of a name like `vllm-0.24.1`; None where the name has no version.

    >>> named_version("vllm-0.24.1")
    ('vllm', (0, 24, 1))
    """
    found = _NAMED.fullmatch(name.strip().lower())
    return (found["engine"], version_of(found["version"])) if found else None


def covers(engine_version: str, version: Version) -> bool:
    """Whether a range like `0.20 to 0.25` holds a version; its end holds every release of that number.

    A range with more words, such as `0.7 to 0.9 in Unsloth notebooks`, is of a patched engine and holds no release.

    >>> covers("0.20 to 0.25", (0, 25, 1)), covers("0.20 to 0.25", (0, 26))
    (True, False)
    >>> covers("0.7 to 0.9 in Unsloth notebooks", (0, 9))
    False
    """
    found = _RANGE.fullmatch(engine_version)
    if found is None:
        return False
    first = version_of(found["first"])
    if version < first[: len(version)]:
        return False
    if "and later" in engine_version:
        return True
    last = version_of(found["last"] or found["first"])
    return version[: len(last)] <= last


def release_row(name: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The profile whose range holds the release that a name like `vllm-0.24.1` ends with, and the release.

    Args:
        name: engine and version.
        rows: facts of the profiles; calibrations of one's own (rows with a parent) are never meant.

    Returns:
        The facts with `release`, or None where no range holds it.
    """
    asked = named_version(name)
    if asked is None:
        return None
    engine, version = asked
    for row in rows:
        if row["engine"] == engine and row.get("parent") is None and covers(row.get("engine_version") or "", version):
            return {**row, RELEASE: ".".join(map(str, version))}
    return None


def at_version(constants: Mapping[str, Any], version: Version | None) -> dict[str, Any]:
    """Constants as of a version: those of the profile, then what changed up to it (None: all that changed).

    Changes stand under `by_version`, from the version on that they name.

    >>> at_version({"padding": 1.25, "by_version": {"0.18": {"padding": 1.5}}}, (0, 17))
    {'padding': 1.25}
    """
    found = {name: value for name, value in constants.items() if name != "by_version"}
    for since, changed in sorted(_changes(constants), key=lambda change: change[0]):
        if version is None or since <= version:
            found.update(changed)
    return found


def changes_at(constants: Mapping[str, Any], version: Version) -> tuple[str, ...]:
    """The releases up to a version at which constants changed.

    >>> changes_at({"by_version": {"0.18": {}, "0.20.2": {}}}, (0, 20, 1))
    ('0.18',)
    """
    return tuple(since for since in sorted(constants.get("by_version", {})) if version_of(since) <= version)


def _changes(constants: Mapping[str, Any]) -> Iterable[tuple[Version, Mapping[str, Any]]]:
    for since, changed in constants.get("by_version", {}).items():
        yield version_of(since), changed
