"""Constants of how engines use memory: of a shipped profile, from a release of it on, or of every engine."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from estimator.constants.rows import DATA_DIR, Constant, read_constants

FILE = "memory.csv"


@cache
def _rows() -> Mapping[tuple[str, str], Mapping[str, Constant]]:
    found: dict[tuple[str, str], dict[str, Constant]] = {}
    for row in read_constants(DATA_DIR / FILE):
        profile, since = row.where("profile", "since")
        found.setdefault((profile, since), {})[row.name] = row
    return MappingProxyType({where: MappingProxyType(rows) for where, rows in found.items()})


def memory_profiles() -> tuple[str, ...]:
    """The profiles that have rows of their own."""
    return tuple(dict.fromkeys(profile for profile, _ in _rows() if profile))


def memory_constants(slug: str) -> Mapping[str, Constant]:
    """What a profile states of all its releases, by name; what the empty slug states holds where nothing is stated."""
    return _rows().get((slug, ""), MappingProxyType({}))


def memory_changes(slug: str) -> Iterator[tuple[str, Mapping[str, Constant]]]:
    """What changed inside a profile: the release from which on it holds, and the constants by name."""
    yield from ((since, rows) for (profile, since), rows in _rows().items() if profile == slug and since)


def unstated_memory(name: str) -> float:
    """The value of a constant that a memory policy does not state."""
    return memory_constants("")[name].value
