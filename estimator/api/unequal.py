"""Replicas of unlike GPUs or nodes: refused by name, with the nearest question that can be asked."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from estimator.resolvers.facts import Facts, UnknownSlugError

FIELDS = ("gpus", "nodes", "hosts", "devices")
"""What people call several GPUs of one replica; no field of a plan."""


def is_several(path: tuple[str | int, ...], given: Any) -> bool:
    """Whether a value at this place is a list of GPUs, or a field that would be one."""
    name = path[-1] if path else ""
    return (name == "gpu" and isinstance(given, list)) or (name in FIELDS and isinstance(given, list | Mapping))


def refusal(given: Any, facts: Facts | None) -> str:
    """The refusal: the question with the GPU that has least memory, over as many."""
    named = list(_slugs(given))
    sizes = {slug: size for slug in named if facts and (size := _memory(slug, facts)) is not None}
    least = min(sizes, key=lambda slug: sizes[slug], default=None)
    if least is None:
        return _(
            "The GPUs of one replica are of one kind here: a split over unlike GPUs or nodes is not modelled. Ask with "
            "gpu, the one that has least memory, and parallelism over all of them: what fits on it fits on each."
        )
    text = _(
        "The GPUs of one replica are of one kind here: a split over unlike GPUs or nodes is not modelled. Nearest "
        "question: gpu %(gpu)s, which has least memory, with tp · pp · dp = %(count)s: what fits on it fits on each."
    )
    return text % {"gpu": least, "count": len(named)}


def _slugs(given: Any) -> Iterator[str]:
    """GPUs named in a list, a list of objects, or an object of counts; at most 64."""
    entries = list(given.items()) if isinstance(given, Mapping) else list(given)
    for entry in entries[:64]:
        name, count = entry if isinstance(entry, tuple) else (entry, 1)
        if isinstance(entry, Mapping):
            name = next((entry[key] for key in ("gpu", "slug", "name") if isinstance(entry.get(key), str)), None)
            count = next((entry[key] for key in ("count", "gpus", "n") if isinstance(entry.get(key), int)), 1)
        if isinstance(name, str):
            yield from [name] * (min(max(count, 1), 64) if isinstance(count, int) else 1)


def _memory(slug: str, facts: Facts) -> float | None:
    meant = facts.spelled("gpu", slug) if slug not in facts.slugs("gpu") else (slug,)
    try:
        row = facts.row("gpu", meant[0]) if len(meant) == 1 else {}
    except UnknownSlugError:
        return None
    found = row.get("memory_visible_bytes") or row.get("memory_vendor_bytes")
    return float(found) if found else None
