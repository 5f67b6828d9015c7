"""Rows of a month that hold a provider's usage object, or are its whole answer: how they were sent, their counts."""

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from estimator.engine.cost.api import UsageConvention
from estimator.engine.cost.meters import meter, meter_of_usage, to_disjoint
from estimator.engine.cost.traced import Traced
from estimator.engine.cost.usage_object import ReadUsage
from estimator.engine.cost.usage_objects import read_usage
from estimator.engine.errors import InvalidInputError

OBJECTS = ("usage", "usageMetadata", "usage_metadata")
"""Where providers put their usage object in an answer."""
MODELS = ("model", "modelVersion", "model_version", "modelId")
TIMES = ("created", "created_at", "createTime")
CHANNEL_OF_ANSWERS = "service_tier"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """What an object says: counts that hold nothing twice, by usage key, and how it was sent (`words_of`)."""

    counts: Mapping[str, Decimal]
    read: ReadUsage


def object_in(row: Mapping[str, Any]) -> str | None:
    """The member of a row that holds a usage object; None where none does."""
    return next((name for name in OBJECTS if row.get(name) not in (None, "")), None)


def provider_row(row: Mapping[str, Any], words: tuple[str, ...]) -> ProviderRow | None:
    """A row with a usage object; None where it has none.

    Args:
        row: JSON object of a line, or cells of a CSV (the object is JSON text there).
        words: Fields of a row that are not counts.

    Raises:
        ValueError: The object cannot be read, or stands beside counts of the row itself.
    """
    name = object_in(row)
    if name is None:
        return None
    raw = _object(row[name], name)
    if beside := [key for key in row if key not in words and key not in OBJECTS and _counts(key)]:
        raise ValueError(f"{beside[0]} stands beside {name}: give counts or the object, not both")
    if isinstance(tier := row.get(CHANNEL_OF_ANSWERS), str) and CHANNEL_OF_ANSWERS not in raw:
        raw = {**raw, CHANNEL_OF_ANSWERS: tier}
    try:
        read = read_usage(raw) or _own(raw)
        counts = dict(read.counts)
        if read.convention is UsageConvention.INCLUSIVE:
            leaves = to_disjoint({meter_of_usage(key).name: count for key, count in counts.items()})
            counts = {meter(meter_name).usage_key: count for meter_name, count in leaves.items()}
    except InvalidInputError as wrong:
        raise ValueError(f"{name}: {wrong}") from None
    return ProviderRow(counts=counts, read=read)


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"{name} is no JSON") from None
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{name} must be the object that the provider returned")
    return value


def _counts(key: str) -> bool:
    try:
        meter_of_usage(key)
    except InvalidInputError:
        return False
    return True


def _own(raw: Mapping[str, Any]) -> ReadUsage:
    """An object in our own usage keys, which hold nothing twice."""
    counts = {}
    for key, value in raw.items():
        meter_of_usage(key)
        if isinstance(value, bool) or not isinstance(value, (int, float, Traced)):
            raise InvalidInputError(f"{key} is a number", field=key)
        counts[key] = value if isinstance(value, Traced) else Decimal(str(value))
    return ReadUsage(counts=counts, convention=UsageConvention.DISJOINT, provider="")


def words_of(row: Mapping[str, Any], read: ReadUsage) -> dict[str, str]:
    """Model, moment, channel and place as the answer spells them, where the row does not say them itself."""
    said = {"channel": read.channel, "endpoint_class": read.place, "search_context_size": read.search_context}
    if row.get("model") in (None, ""):
        said["model"] = next((row[name] for name in MODELS if isinstance(row.get(name), str)), None)
    if not row.get("day") and not row.get("at"):
        said["at"] = next((moment for name in TIMES if (moment := _moment(row.get(name)))), None)
    return {name: word for name, word in said.items() if word and not row.get(name)}


def _moment(value: Any) -> str | None:
    """Seconds since 1970, or a time as text, as text with its offset."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return datetime.datetime.fromtimestamp(value, datetime.UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{value!r} is no time in seconds since 1970") from None
