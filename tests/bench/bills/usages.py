"""The 500 usages: models that makers sell today, each in the kinds of requests that its price list can bill."""

import datetime
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from catalog.models import ApiModel, ApiPrice
from catalog.selectors import in_force_on

SELLERS = ("openai", "anthropic", "google", "deepseek", "x-ai", "mistral", "moonshotai", "zai", "groq", "minimax")
COUNT = 500
SEED = 20261130
DAY = datetime.date(2026, 11, 30)
# A Monday; DeepSeek bills peak hours then from 01:00 to 04:00 UTC.
OFF_PEAK, PEAK = f"{DAY}T12:00:00+00:00", f"{DAY}T02:00:00+00:00"
NONE = {"input": 0, "cache_read": 0, "cache_write": 0, "cache_write_1h": 0, "output": 0, "reasoning": 0}
WRITES = ("cache_write", "cache_write_5m", "cache_write_1800s")


def usages() -> list[dict[str, Any]]:
    """500 usages in one order for ever: {seller, model, kind, channel, at, write_key, count}."""
    chance = random.Random(SEED)  # a sample, no secret
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for each in _all(chance):
        by_kind.setdefault(each["kind"], []).append(each)
    for found in by_kind.values():
        chance.shuffle(found)
    taken: list[dict[str, Any]] = []
    while len(taken) < COUNT:
        taken += [found.pop() for found in by_kind.values() if found]
    return taken[:COUNT]


def _all(chance: random.Random) -> Iterator[dict[str, Any]]:
    gone = set(ApiModel.objects.filter(retired_on__lte=DAY).values_list("slug", flat=True))
    rows = ApiPrice.objects.filter(in_force_on(DAY), voided_at__isnull=True, unit="mtok", endpoint_class="")
    by_model: dict[tuple[str, str], list[ApiPrice]] = {}
    for row in rows.filter(provider__slug__in=SELLERS).select_related("provider").order_by("pk"):
        if row.slug not in gone:
            by_model.setdefault((row.provider.slug, row.model), []).append(row)
    for (seller, model), found in sorted(by_model.items()):
        meters = {row.meter for row in found if row.channel == "standard"}
        if meters >= {"input", "output"} and not any("audio" in name or "image" in name for name in meters):
            yield from _of_model(seller, model, found, meters, chance)


def _of_model(
    seller: str, model: str, rows: Sequence[ApiPrice], meters: set[str], chance: random.Random
) -> Iterator[dict[str, Any]]:
    def usage(kind: str, count: Mapping[str, int], channel: str = "standard", at: str = OFF_PEAK) -> dict[str, Any]:
        write = next((name for name in WRITES if name in meters), "cache_write")
        return {
            "seller": seller, "model": model, "kind": kind, "channel": channel, "at": at, "write_key": write,
            "count": NONE | count,
        }  # fmt: skip

    few, many, out = chance.randint(50, 3000), chance.randint(1000, 40_000), chance.randint(20, 4000)
    yield usage("plain", {"input": few, "output": out})
    yield usage("reasoning", {"input": few, "output": out // 4, "reasoning": out})
    if "cache_read" in meters:
        yield usage("cached", {"input": few, "cache_read": many, "output": out})
    if meters & set(WRITES):
        yield usage("written", {"input": few, "cache_write": many, "output": out})
        if "cache_read" in meters:
            yield usage("read and written", {"input": few, "cache_read": many, "cache_write": few, "output": out})
    if "cache_write_1h" in meters:
        yield usage("written for an hour", {"input": few, "cache_write_1h": many, "output": out})
    yield from _long_and_channels(usage, rows, meters, few, many, out)
    if any(row.daily_start for row in rows):
        yield usage("in peak hours", {"input": few, "cache_read": many, "output": out}, at=PEAK)


def _long_and_channels(
    usage: Callable[..., dict[str, Any]], rows: Sequence[ApiPrice], meters: set[str], few: int, many: int, out: int
) -> Iterator[dict[str, Any]]:
    for threshold in sorted({row.tier_above_tokens for row in rows if row.tier_above_tokens}):
        yield usage("at the threshold", {"input": threshold, "output": out})
        yield usage("above the threshold", {"input": threshold + few, "output": out})
        if "cache_read" in meters:
            yield usage("above it by its cached tokens", {"input": few, "cache_read": threshold, "output": out})
    for channel in sorted({row.channel for row in rows} - {"standard"}):
        yield usage(f"over {channel}", {"input": few, "output": out}, channel)
        if "cache_read" in meters:
            yield usage(f"cached over {channel}", {"input": few, "cache_read": many, "output": out}, channel)
