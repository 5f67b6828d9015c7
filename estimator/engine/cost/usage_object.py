"""One usage object being read: its parts by path, which of them were read, and what the object says of the sending."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from estimator.engine.cost.api import UsageConvention
from estimator.engine.cost.traced import Traced, is_there
from estimator.engine.errors import InvalidInputError

MAX_COUNT = 10**15


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadUsage:
    """Counts by usage key, how they relate, whose words they were in, and what the object says of the sending."""

    counts: Mapping[str, Decimal]
    convention: UsageConvention
    provider: str
    channel: str | None = None
    place: str | None = None
    search_context: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(slots=True)
class UsageObject:
    """A usage object being read: every key that is taken is marked, the rest is told.

    `flat` are its parts by path (a dot leads into a nested object), `leaves` the paths of those that are no objects,
    `apart` beginnings of paths that count nothing.
    """

    raw: Mapping[str, Any]
    taken: set[str] = field(default_factory=set)
    apart: tuple[str, ...] = ()
    flat: dict[str, Any] = field(init=False)
    leaves: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.flat = _flat(self.raw)
        self.leaves = {path for path, value in self.flat.items() if value is not None and not isinstance(value, dict)}

    def count(self, *paths: str) -> Decimal:
        """The first of these counts that is there, 0 where none is; a dot leads into a nested object.

        Raises:
            InvalidInputError: It is no count.
        """
        for path in paths:
            value = self._at(path)
            if value is not None:
                return checked(value, path)
        return Decimal(0)

    def has(self, *paths: str) -> bool:
        """Whether one of these is there."""
        return any(self._at(path) is not None for path in paths)

    def text(self, path: str) -> str:
        """A word, "" where there is none."""
        value = self._at(path)
        return value if isinstance(value, str) else ""

    def modalities(self, *names: str) -> dict[str, Decimal]:
        """Gemini's list of {modality, tokenCount} as counts by modality in small letters."""
        for name in names:
            value = self._at(name)
            if value is None:
                continue
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise InvalidInputError("modalities are a list of objects", field=name)
            counts: dict[str, Decimal] = {}
            for place, part in enumerate(value):
                modality, tokens = self._modality(part, f"{name}.{place}")
                counts[modality] = counts.get(modality, Decimal(0)) + tokens
            return counts
        return {}

    @staticmethod
    def _modality(part: Any, path: str) -> tuple[str, Decimal]:
        if not isinstance(part, Mapping):
            raise InvalidInputError("a modality is an object with its tokens", field=path)
        tokens = part.get("tokenCount", part.get("token_count", part.get("tokens", 0)))
        return str(part.get("modality", "")).lower(), checked(tokens, path)

    def _at(self, path: str) -> Any:
        self.taken.add(path)
        value = self.flat.get(path)
        if value is None and "." in path and not self.leaves.isdisjoint(_holders(path)):
            holder = next(holder for holder in _holders(path) if holder in self.leaves)
            raise InvalidInputError("an object with its counts", field=holder)
        return value

    def untaken(self) -> tuple[str, ...]:
        """Counts that nobody read: they may have a price that is missing from the bill."""
        return tuple(
            path
            for path, value in self.flat.items()
            if isinstance(value, (int, float, Traced)) and value is not True and path not in self.taken
            and not path.startswith(self.apart) and not path.endswith("_time") and value
        )  # fmt: skip


@lru_cache(maxsize=1024)
def _holders(path: str) -> tuple[str, ...]:
    """The paths of what a path lies in, the widest first."""
    names = path.split(".")
    return tuple(".".join(names[:place]) for place in range(1, len(names)))


def _flat(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Every part of an object by its path."""
    flat: dict[str, Any] = dict(raw)
    nested = [(name, value) for name, value in raw.items() if isinstance(value, dict)]
    while nested:
        path, parts = nested.pop()
        for name, value in parts.items():
            flat[inside := f"{path}.{name}"] = value
            if isinstance(value, dict):
                nested.append((inside, value))
    return flat


def checked(value: Any, path: str) -> Decimal:
    """A count as an exact decimal.

    Args:
        value: as a provider returned it.
        path: its place in the usage object.

    Returns:
        Tokens, requests or seconds, whatever the place counts; 0 or more.

    Raises:
        InvalidInputError: It is none.

    Equation: docs/model.md, eq. (56). Source: definition.

    >>> checked(1200, "usage.prompt_tokens")
    Decimal('1200')
    """
    if type(value) is int and 0 <= value <= MAX_COUNT:
        return Decimal(value)
    if isinstance(value, Traced) and 0 <= value <= MAX_COUNT:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise InvalidInputError("a count is a number", field=path)
    number = Decimal(str(value))
    if not number.is_finite() or not 0 <= number <= MAX_COUNT:
        raise InvalidInputError(f"a count is between 0 and {MAX_COUNT:.0e}", field=path)
    return number


def read_as(
    usage: UsageObject,
    counts: Mapping[str, Decimal],
    convention: UsageConvention,
    provider: str,
    *,
    channel: str | None = None,
) -> ReadUsage:
    """The counts with what the object says of channel, place and search context; counts of 0 are left out."""
    tier = usage.text("service_tier")
    if tier in ("default", "auto", "on_demand", "standard_only"):
        tier = "standard"
    if usage.text("speed") == "fast":
        tier = "fast"
    geo = usage.text("inference_geo")
    return ReadUsage(
        counts={key: count for key, count in counts.items() if is_there(count)} or {"input_tokens": Decimal(0)},
        convention=convention,
        provider=provider,
        channel=channel or tier or None,
        place=f"inference_geo={geo}" if geo and geo not in ("global", "not_available") else None,
        search_context=usage.text("search_context_size") or None,
        ignored=usage.untaken(),
    )
