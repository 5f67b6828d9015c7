"""Constants of the shipped engine profiles, and what a profile that does not state one has."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from estimator.constants.rows import DATA_DIR, Basis, Constant, read_constants


@cache
def _rows() -> Mapping[str, Mapping[str, Constant]]:
    found: dict[str, dict[str, Constant]] = {"": {}}
    for row in read_constants(DATA_DIR / "profiles.csv"):
        found.setdefault(row.scope.get("profile", ""), {})[row.name] = row
    return MappingProxyType({profile: MappingProxyType(rows) for profile, rows in found.items()})


def profile_slugs() -> tuple[str, ...]:
    """The profiles that have rows of their own."""
    return tuple(slug for slug in _rows() if slug)


def profile_constants(slug: str) -> Mapping[str, Constant]:
    """The constants that a profile states, by name; those of the empty slug hold for every serving engine."""
    return _rows().get(slug, MappingProxyType({}))


def unstated(name: str, slug: str = "") -> float:
    """The value of a constant that a profile does not state: of every serving engine, or of a shipped profile."""
    return _rows()[slug][name].value


def is_judged(slug: str) -> bool:
    """Whether what a shipped profile states was fitted on no measurement of its own."""
    return any(row.basis is Basis.JUDGEMENT for row in profile_constants(slug).values())
