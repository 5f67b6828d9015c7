"""Resolves the serving engine of a request: a profile by slug or alias."""

from dataclasses import replace

from catalog.engine_constants import engine_profile
from catalog.engine_versions import RELEASE, changes_at, version_of
from catalog.spelling import near_matches
from estimator.engine.specs import EngineProfile
from estimator.resolvers.collect import unknown_slug
from estimator.resolvers.facts import Facts, UnknownSlugError
from estimator.resolvers.plan import Provenance


def resolve_engine(name: str, facts: Facts, path: tuple[str, ...] = ("engine",)) -> EngineProfile:
    """The profile that a slug or an alias means.

    Raises:
        ResolutionError: no profile has this name.
    """
    try:
        row = facts.row("engine", name)
    except UnknownSlugError as error:
        raise unknown_slug(error, path, near_matches(name, facts.slugs("engine"))) from None
    release = row.get(RELEASE)
    if release is None:
        return facts.derived(("resolved_engine", row["slug"]), lambda: engine_profile(row))
    changes = changes_at(row["memory_policy"], version_of(release))
    # One profile for all releases between two changes: their names are without end, the changes are not.
    key = ("resolved_release", row["slug"], *changes)
    shared = facts.derived(key, lambda: engine_profile(row, version_of(release)))
    return replace(shared, release=release)


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
