"""Resolves the serving engine of a request: a profile by slug or alias."""

from catalog.engine_constants import engine_profile
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
    return facts.derived(("resolved_engine", row["slug"]), lambda: engine_profile(row))


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
