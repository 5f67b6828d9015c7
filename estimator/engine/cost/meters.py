"""What is counted and billed: meters, the usage keys that feed them, and counts that include one another.

A meter is one line of a price list. Meters are disjoint: a token is billed by exactly one of them. Providers count
differently: Anthropic's `input_tokens` are the fresh ones only, OpenAI's and Google's prompt count holds the cached
tokens too, and their output count holds the reasoning. `to_disjoint` turns such inclusive counts into disjoint ones.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from estimator.engine.errors import InvalidInputError

TOKEN: Final = "token"  # noqa: S105  a counted unit, not a secret
# Names of the write meters by time to live; any other lifetime is written in seconds.
_TTL_NAMES: Final = {300: "5m", 3600: "1h"}
_TTL_SECONDS: Final = {name: ttl for ttl, name in _TTL_NAMES.items()}
_WRITE = re.compile(r"^cache_write(?:_(?:(?P<modality>audio|image|video|text)))?(?:_(?P<ttl>5m|1h|[1-9]\d{0,7}s))?$")
# Where one seller bills what explicit marks found apart from what its automatic cache found (Qwen on Model Studio).
_READ = re.compile(r"^cache_read(?:_(?:(?P<modality>audio|image|video|text)|(?P<mode>explicit)))?$")
_SIDE = re.compile(
    r"^(?P<side>input|output)(?:_(?P<modality>audio|image|video|text))?(?:_(?P<kind>tool|reasoning|citation))?$"
)
# Meters that count something other than tokens: usage key, base unit.
_COUNTED: Final[Mapping[str, tuple[str, str]]] = {
    "cache_storage_hour": ("cache_storage_token_hours", "token_hour"),
    "request": ("billed_requests", "request"),
    "web_search": ("web_searches", "search"),
    "social_search": ("social_searches", "search"),
    "storage_search": ("storage_searches", "search"),
    "attachment_search": ("attachment_searches", "search"),
    "rerank_search": ("rerank_searches", "search"),
    "maps_search": ("maps_searches", "search"),
    "code_execution": ("code_executions", "call"),
    "container_session": ("container_sessions", "session"),
    "container_hour": ("container_hours", "container_hour"),
    "storage_gb_day": ("storage_gb_days", "gb_day"),
    "image": ("images", "image"),
    "video_frame": ("video_frames", "frame"),
    "audio_second": ("audio_seconds", "second"),
    "input_audio_second": ("input_audio_seconds", "second"),
    "output_audio_second": ("output_audio_seconds", "second"),
    "video_second": ("video_seconds", "second"),
    "character": ("input_characters", "character"),
    "message": ("input_messages", "message"),
    "pixel": ("input_pixels", "pixel"),
    "page": ("input_pages", "page"),
    "annotated_page": ("input_annotated_pages", "page"),
}
_COUNTED_KEYS: Final = {key: meter for meter, (key, _unit) in _COUNTED.items()}
# Durations and pages nest too: the spoken input is part of all audio, annotated pages are part of the pages.
_COUNTED_PARENTS: Final = {
    "input_audio_second": "audio_second",
    "output_audio_second": "audio_second",
    "annotated_page": "page",
}
# `reasoning` is the contract's short name of what the output side holds.
_SHORT: Final = {"reasoning": "output_reasoning", "citation": "output_citation"}
_ALIASES: Final = {"audio": "input_audio", "search": "web_search", "searches": "web_search"}

# What a price is for: unit name -> (base unit, how many of it).
UNITS: Final[Mapping[str, tuple[str, int]]] = {
    "mtok": (TOKEN, 10**6),
    "ktok": (TOKEN, 10**3),
    "token": (TOKEN, 1),
    "mtok_hour": ("token_hour", 10**6),
    "request": ("request", 1),
    "krequest": ("request", 10**3),
    "search": ("search", 1),
    "ksearch": ("search", 10**3),
    "call": ("call", 1),
    "kcall": ("call", 10**3),
    "session": ("session", 1),
    "container_hour": ("container_hour", 1),
    "gb_day": ("gb_day", 1),
    "image": ("image", 1),
    "frame": ("frame", 1),
    "second": ("second", 1),
    "minute": ("second", 60),
    "hour": ("second", 3600),
    "mcharacter": ("character", 10**6),
    "kmessage": ("message", 10**3),
    "gpixel": ("pixel", 10**9),
    "page": ("page", 1),
    "kpage": ("page", 10**3),
}
DEFAULT_UNIT: Final[Mapping[str, str]] = {
    TOKEN: "mtok",
    "token_hour": "mtok_hour",
    "request": "request",
    "search": "search",
    "call": "call",
    "session": "session",
    "container_hour": "container_hour",
    "gb_day": "gb_day",
    "image": "image",
    "frame": "frame",
    "second": "second",
    "character": "mcharacter",
    "message": "kmessage",
    "pixel": "gpixel",
    "page": "page",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """One meter: its name, the usage key that feeds it and what it counts.

    `facets` places token meters in the order of inclusion: a meter includes every meter whose facets hold its own.
    """

    name: str
    usage_key: str
    base_unit: str
    facets: frozenset[tuple[str, str]]
    ttl_s: int | None = None

    @property
    def is_prompt(self) -> bool:
        """Whether its tokens are part of the prompt, whose total length picks the price tier."""
        return ("side", "input") in self.facets


def write_meter(ttl_s: int) -> str:
    """Name of the meter that bills a cache write with this time to live in seconds."""
    return f"cache_write_{_TTL_NAMES.get(ttl_s, f'{ttl_s}s')}"


@lru_cache(maxsize=1024)
def meter(name: str) -> Meter:
    """The meter of this name.

    Raises:
        InvalidInputError: There is no such meter.
    """
    name = _ALIASES.get(name, name)
    canonical = _SHORT.get(name, name)
    if canonical in _COUNTED:
        usage_key, base_unit = _COUNTED[canonical]
        return Meter(name=canonical, usage_key=usage_key, base_unit=base_unit, facets=frozenset())
    facets, ttl_s = _token_facets(canonical)
    shown = next((short for short, long in _SHORT.items() if long == canonical), canonical)
    return Meter(name=shown, usage_key=f"{shown}_tokens", base_unit=TOKEN, facets=frozenset(facets), ttl_s=ttl_s)


def _token_facets(name: str) -> tuple[set[tuple[str, str]], int | None]:
    if found := _WRITE.match(name):
        facets = {("side", "input"), ("kind", "cache_write")}
        ttl_s = None
        if label := found["ttl"]:
            ttl_s = _TTL_SECONDS.get(label) or int(label[:-1])
            if label != write_meter(ttl_s).removeprefix("cache_write_"):
                raise InvalidInputError(f"write {write_meter(ttl_s)} for a lifetime of {ttl_s} s", field=name)
            facets.add(("ttl", str(ttl_s)))
    elif found := _READ.match(name):
        facets, ttl_s = {("side", "input"), ("kind", "cache_read")}, None
        if found["mode"]:
            facets.add(("mode", "explicit"))
    elif found := _SIDE.match(name):
        facets, ttl_s = {("side", found["side"])}, None
        if kind := found["kind"]:
            if (kind == "tool") != (found["side"] == "input"):
                raise InvalidInputError(f"there is no meter {name!r}", field=name)
            facets.add(("kind", kind))
    else:
        raise InvalidInputError(f"there is no meter {name!r}", field=name)
    if modality := found["modality"]:
        facets.add(("modality", modality))
    return facets, ttl_s


@lru_cache(maxsize=1024)
def meter_of_usage(key: str) -> Meter:
    """The meter a usage key feeds: `cache_read_tokens` feeds `cache_read`, `web_searches` feeds `web_search`.

    Raises:
        InvalidInputError: No meter counts this.
    """
    if key in _COUNTED_KEYS:
        return meter(_COUNTED_KEYS[key])
    if key.endswith("_tokens"):
        return meter(key.removesuffix("_tokens"))
    raise InvalidInputError(f"no meter counts {key!r}", field=key)


def _includes(outer: Meter, inner: Meter) -> bool:
    if outer.base_unit != inner.base_unit:
        return False
    if outer.base_unit == TOKEN:
        return outer.facets < inner.facets
    return _COUNTED_PARENTS.get(inner.name) == outer.name


def to_disjoint(counts: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Disjoint counts from inclusive ones: what a count holds beyond the narrower counts inside it.

    leaf(m) = count(m) - Σ leaf(n) over every reported n inside m. With a prompt of 2,000 tokens that holds 500 reads
    and 300 writes, the fresh input is 1,200.

    Args:
        counts: Count per meter name, each including the counts of the meters inside it.

    Returns:
        Count per meter name; every token counted once.

    Raises:
        InvalidInputError: The parts are more than the whole, or a whole is missing.
    """
    leaves: dict[str, Decimal] = {}
    for name, inside in inclusion_order(counts):
        rest = counts[name] - sum((leaves[other] for other in inside), start=Decimal(0))
        if rest < 0:
            parts = ", ".join(f"{meter(other).usage_key} {leaves[other]}" for other in sorted(inside))
            raise InvalidInputError(
                f"{meter(name).usage_key} is {counts[name]}, less than its parts ({parts}): with inclusive counts it "
                "holds them all",
                field=meter(name).usage_key,
            )
        leaves[name] = rest
    _refuse_missing_whole(counts, {name: meter(name) for name in counts})
    return {name: leaves[name] for name in counts}


def inclusion_order(names: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Meters from the narrowest to the widest, each with those of them that lie inside it."""
    return _inclusion_order(tuple(names))


@lru_cache(maxsize=1024)
def _inclusion_order(names: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    meters = {name: meter(name) for name in names}
    order = sorted(meters, key=lambda item: (-len(meters[item].facets), _depth(item), item))
    return tuple(
        (name, tuple(other for other in order[:place] if _includes(meters[name], meters[other])))
        for place, name in enumerate(order)
    )


def _depth(name: str) -> int:
    return 0 if name in _COUNTED_PARENTS else 1


def _refuse_missing_whole(counts: Mapping[str, Decimal], meters: Mapping[str, Meter]) -> None:
    for name, found in meters.items():
        side = "input" if found.is_prompt else "output"
        if found.base_unit == TOKEN and found.facets and counts[name] > 0 and side not in counts:
            raise InvalidInputError(
                f"with inclusive counts {found.usage_key} is a part of {side}_tokens, which is missing",
                field=f"{side}_tokens",
            )


def prompt_tokens(disjoint: Mapping[str, Decimal]) -> Decimal:
    """Total prompt of one request in tokens: fresh, cached, written and of every modality; picks the tier.

    Equation: docs/model.md, eq. (55). Source: providers' tier rules, in the catalog.

    >>> prompt_tokens({"input": Decimal(900), "cache_read": Decimal(100), "output": Decimal(50)})
    Decimal('1000')
    """
    return sum((count for name, count in disjoint.items() if meter(name).is_prompt), start=Decimal(0))
