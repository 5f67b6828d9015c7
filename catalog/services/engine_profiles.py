"""New versions of engine profiles: constants that were used are never edited in place."""

from collections.abc import Mapping
from typing import Any

from catalog.models import EngineProfile
from catalog.services.people import save_by_person


def new_version(
    parent: EngineProfile,
    *,
    slug: str,
    name: str = "",
    speed_constants: Mapping[str, Any] | None = None,
    memory_policy: Mapping[str, Any] | None = None,
    evidence: str = "",
    fit_error: Mapping[str, Any] | None = None,
    user: Any = None,
    reason: str = "",
) -> EngineProfile:
    """A profile made from `parent`, with the constants given in place of its own.

    Aliases stay with the parent: a bare engine name never starts to mean a calibration of one's own.

    Args:
        speed_constants, memory_policy: constants that differ from the parent's, by the engine's names.
        evidence: what they were fitted on.
        fit_error: errors of the fit by metric, as fractions.

    Raises:
        ValidationError: the slug is taken, or the engine would refuse a constant.
    """
    profile = EngineProfile(
        slug=slug,
        name=name or slug,
        engine=parent.engine,
        engine_version=parent.engine_version,
        kind=parent.kind,
        aliases=[],
        memory_policy={**parent.memory_policy, **(memory_policy or {})},
        speed_constants={**parent.speed_constants, **(speed_constants or {})},
        evidence=evidence or parent.evidence,
        parent=parent,
        fit_error=dict(fit_error) if fit_error is not None else None,
    )
    save_by_person(profile, user=user, reason=reason)
    return profile
