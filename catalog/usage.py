"""What uses a catalog row: a registry that apps above the catalog fill in their `AppConfig.ready()`."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One kind of user of a row: how many, in words, and where to see them.

    `label` is what people read ("report versions"), `url` an address inside the service or None; `binds` says that the
    row keeps its name and constants while there is one.
    """

    label: str
    count: int
    url: str | None = None
    binds: bool = True


Counter = Callable[[str, str], Usage]

_counters: dict[str, Counter] = {}


def register_usage(name: str, counter: Counter) -> None:
    """Count uses with `counter(kind, slug)`; kinds are those of `catalog.snapshot` (gpu, model, engine, …).

    Registering a name again replaces its counter, so that an app may be made ready twice.
    """
    _counters[name] = counter


def usages(kind: str, slug: str) -> list[Usage]:
    """All users of a row that there are at least one of."""
    return [usage for usage in (counter(kind, slug) for counter in _counters.values()) if usage.count]


def usage_count(kind: str, slug: str) -> int:
    """How many users hold a row to its name and constants."""
    return sum(usage.count for usage in usages(kind, slug) if usage.binds)
