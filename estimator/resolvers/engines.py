"""Resolves the serving engine of a request: a profile by slug or alias."""

from catalog.engine_constants import engine_profile
from catalog.engine_versions import Version, covers, named_version
from catalog.spelling import near_matches
from estimator.engine.specs import EngineProfile
from estimator.resolvers.collect import unknown_slug
from estimator.resolvers.facts import FactRow, Facts, UnknownSlugError
from estimator.resolvers.plan import Provenance


def resolve_engine(name: str, facts: Facts, path: tuple[str, ...] = ("engine",)) -> EngineProfile:
    """The profile that a slug or an alias means.

    Raises:
        ResolutionError: no profile has this name.
    """
    try:
        row, version = facts.row("engine", name), None
    except UnknownSlugError as error:
        found = _covering(name, facts)
        if found is None:
            raise unknown_slug(error, path, near_matches(name, facts.slugs("engine"))) from None
        row, version = found
    return facts.derived(("resolved_engine", row["slug"], str(version)), lambda: engine_profile(row, version))


def _covering(name: str, facts: Facts) -> tuple[FactRow, Version] | None:
    """The profile whose range holds the version that a name like `vllm-0.24.1` ends with."""
    asked = named_version(name)
    if asked is None:
        return None
    engine, version = asked
    rows = (facts.row("engine", slug) for slug in sorted(facts.slugs("engine")))
    for row in rows:
        if row["engine"] == engine and row.get("parent") is None and covers(row.get("engine_version") or "", version):
            return row, version
    return None


def engine_provenance(profile: EngineProfile, facts: Facts) -> Provenance:
    """Where the profile's constants are from."""
    row = facts.row("engine", profile.slug)
    return Provenance(
        what="engine.constants",
        value=profile.slug,
        unit="1",
        source=profile.evidence or "catalog",
        date=row.get("source_date"),
    )
