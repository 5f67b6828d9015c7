"""The answer of `estimates/prompt-cache/`, part by part."""

from typing import Any, Literal

from pydantic import Field

from estimator.engine.prompt_cache.advice import CacheOption
from estimator.engine.prompt_cache.conversation import TurnCost
from estimator.engine.prompt_cache.pays_from import BreakEven
from estimator.engine.prompt_cache.saving import Saving
from estimator.estimates.answers import Amount, ResponsePart, part_of, shown
from estimator.estimates.echo import PartlyPlannedAnswer
from estimator.estimates.prompt_cache.prefix_part import PrefixReuse

CacheBreakEven: Any = part_of(
    BreakEven,
    "CacheBreakEven",
    "Where caching starts to pay; 0 means it always does.",
    requests_per_hour="Rate from which it pays, requests per hour; null with a reason.",
    hit_rate="Share of hits from which it pays, 0 to 1; null with a reason.",
    reads_per_write="Reads that pay for one write; null with a reason.",
    reads_per_write_whole="The same in whole reads, count.",
    reason="Why a figure is null.",
)


CacheByTtl: Any = part_of(
    Saving,
    "CacheByTtl",
    "The same figures for one time to live; null with a reason where its writes have no price.",
    ttl_s=shown("Time to live, seconds.", kind=int),
    kept_alive="true: an object paid by the hour that is kept for the whole horizon; false: it lapses after ttl_s.",
    hit_probability="Share of requests that find the prefix, 0 to 1.",
    cost_with="Cost with the cache.",
    saving="cost_without − cost_with.",
    saving_fraction="Saving over cost_without; negative when it costs more.",
    break_even=shown("", kind=CacheBreakEven),
    write_billed_as=shown("Meter whose price bills the writes; null where none does.", kind=str | None),
    reason="Why a figure is null.",
)


CacheOptionAnswer: Any = part_of(
    CacheOption,
    "CacheOptionAnswer",
    "One way to use the cache.",
    use=shown(
        (
            "none: no cache; lifetime: entries of ttl_s as requests find them; lapsing: a stored object written anew "
            "when it has expired; kept_alive: a stored object, or entries read once a life while nobody else does."
        ),
        kind=Literal["none", "lifetime", "lapsing", "kept_alive"],
        at="use.value",
    ),
    ttl_s="Time to live, seconds; null without one, or with marks.",
    cost="Cost of a request, or of the conversation; null with a reason.",
    reason="Why there is no cost.",
)


class CacheAdvice(ResponsePart):
    """The cheapest way, and every way compared."""

    use: Literal["none", "lifetime", "lapsing", "kept_alive"] = Field(description="The cheapest way; see options.")
    ttl_s: int | None = Field(description="Its time to live, seconds.")
    options: list[CacheOptionAnswer] = Field(description="Every way; one without a known cost is never the cheapest.")


CacheTurn: Any = part_of(
    TurnCost,
    "CacheTurn",
    "One turn of a growing conversation.",
    turn="Number of the turn, from 1.",
    prompt_tokens="Whole prompt of the turn, tokens.",
    cached_tokens="Tokens found in the cache when it hits.",
    new_tokens="Tokens new since the turn before.",
    hit_probability="Chance that the turn finds its cache, 0 to 1.",
    cost_without="Cost of the turn without a cache.",
    cost_with="Expected cost of the turn with the cache.",
    tier="Tier of the price list at this length.",
)


class CacheMark(ResponsePart):
    """The part of the prefix between a mark and the one before it."""

    prefix_tokens: int = Field(description="Where the mark stands, tokens from the start of the prompt.")
    ttl_s: int = Field(description="Time to live of the part, seconds.")
    tokens: int = Field(description="Tokens of the part that the cache takes.")
    hit_probability: float = Field(description="Share of requests that find it, 0 to 1.")
    write_billed_as: str = Field(description="Meter whose price bills its writes.")
    cost: Amount = Field(description="Expected cost of the part in one request.")


class PromptCacheAnswer(PartlyPlannedAnswer):
    """Costs with and without the cache, per request or of the conversation."""

    per: Literal["request", "conversation"] = Field(description="What the amounts are for.")
    price: str | None = Field(description="Slug of the prices; null for stated ones or self-hosting.")
    policy: str | None = Field(description="Slug of the cache policy; null for stated rules.")
    currency: str | None = Field(description="ISO 4217 code of the amounts; null for self-hosting.")
    tier: str | None = Field(description="Tier that bills the request, by its total prompt.")
    ttl_s: int | None = Field(
        description="Time to live of the figures here: the cheapest, or the one asked for, seconds; null with marks."
    )
    cached_tokens: int | None = Field(description="Tokens of the prefix the cache takes.")
    requests: float | None = Field(description="Requests of the horizon or the record; null in steady state.")
    cost_without: Amount | None = Field(description="Cost without a cache, exact; null for self-hosting.")
    cost_with: Amount | None = Field(description="Expected cost with the cache; null for self-hosting.")
    saving: Amount | None = Field(description="cost_without − cost_with; null for self-hosting.")
    saving_fraction: float | None = Field(description="Saving over cost_without; negative when caching costs more.")
    saving_per_hour: Amount | None = Field(description="Saving of an hour of this traffic; null for conversations.")
    hit_probability: float | None = Field(description="Share of requests that find the prefix, 0 to 1.")
    break_even: CacheBreakEven | None = Field(description="Where caching starts to pay; null for self-hosting.")
    advice: CacheAdvice | None = Field(
        description="No cache, each life, lapsing and kept alive compared; null where the rules are not known."
    )
    by_ttl: list[CacheByTtl] = Field(description="Every time to live on offer, or the one asked for.")
    reasons: list[str] = Field(
        description=(
            "Why there is no saving: no_policy_known, unknown_write_price, below_minimum, below_granularity, "
            "no_shared_prefix, variable_part_first, costs_more_than_it_saves."
        )
    )
    suggestions: list[str] = Field(description="What would save more.")
    reordering_worth: Amount | None = Field(
        description="Saving per request if the shared part came first; null where it does."
    )
    turns: list[CacheTurn] = Field(description="The turns of a growing conversation.")
    marks: list[CacheMark] = Field(description="The parts of a prefix with marks; empty without.")
    self_hosted: PrefixReuse | None = Field(description="Time and room gained on one's own engine; null for an API.")
