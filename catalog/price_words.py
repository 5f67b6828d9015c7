"""Meters, units and places of prices as people say them."""

from collections.abc import Mapping
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _

# What `place_words` reads of a price, whether it is a row or its facts.
PLACE = ("channel", "endpoint_class", "tier_above_tokens", "tier_operator", "daily_start", "daily_end", "daily_zone")


def meter_words(meter: str) -> str:
    """A meter as people say it."""
    return {
        "input": _("Input"), "output": _("Output"), "cache_read": _("Read from cache"),
        "cache_write": _("Written to cache"), "cache_write_5m": _("Written to cache for 5 min"),
        "cache_write_1h": _("Written to cache for 1 h"), "cache_storage_hour": _("Kept in cache for an hour"),
    }.get(meter, meter.replace("_", " ").capitalize())  # fmt: skip


def unit_words(unit: str) -> str:
    """A unit as people say it."""
    return {
        "mtok": _("million tokens"), "ktok": _("thousand tokens"), "mtok_hour": _("million tokens an hour"),
        "ksearch": _("thousand searches"), "krequest": _("thousand requests"), "kcall": _("thousand calls"),
        "mcharacter": _("million characters"), "kpage": _("thousand pages"), "gb_day": _("GB a day"),
        "gpixel": _("billion pixels"), "kmessage": _("thousand messages"),
    }.get(unit, unit.replace("_", " "))  # fmt: skip


def place_words(row: Mapping[str, Any]) -> str:
    """Channel, place, tier and hours of a price, in words; empty for the plain one."""
    parts = [row["channel"]] if row["channel"] != "standard" else []
    if row["endpoint_class"]:
        parts.append(row["endpoint_class"])
    if row["tier_above_tokens"]:
        text = _("prompts from %(n)s tokens") if row["tier_operator"] == "ge" else _("prompts above %(n)s tokens")
        parts.append(text % {"n": number_format(row["tier_above_tokens"], force_grouping=True)})
    if row["daily_start"]:
        hours = {"start": str(row["daily_start"])[:5], "end": str(row["daily_end"])[:5], "zone": row["daily_zone"]}
        parts.append(_("%(start)s to %(end)s %(zone)s") % hours)
    return ", ".join(parts)


def price_place(row: Any) -> str:
    """The place of a stored price in words, the plain one by its channel."""
    words = place_words({name: getattr(row, name) for name in PLACE})
    plain = row.channel == "standard" and (row.endpoint_class or row.tier_above_tokens or row.daily_start)
    text = f"{_('standard')}, {words}" if plain else words or _("standard")
    return text[:1].upper() + text[1:]


def amount_words(row: Any) -> str:
    """A stored price as people say it: 1.25 USD per million tokens."""
    said = {"amount": f"{row.amount.normalize():f}", "currency": row.currency, "unit": unit_words(row.unit)}
    return _("%(amount)s %(currency)s per %(unit)s") % said
