"""`estimates/prompt-cache/`: what caching a shared prefix saves with a provider's rules and a traffic."""

from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import Discriminator, Field, Tag

from estimator.engine.explain import Step
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.prompt_cache.conversation import Turn
from estimator.engine.prompt_cache.marks import Mark
from estimator.engine.prompt_cache.policy import ArrivalKind, Arrivals, CacheRules
from estimator.engine.prompt_cache.saving import Prompt
from estimator.estimates.cost.price_part import ApiCostPart, InlinePricePart
from estimator.estimates.cost.self_hosted_part import in_part
from estimator.estimates.echo import several_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.prompt_cache.compute import NO_CACHE, CacheAnswer, CacheQuestion, cache_answer
from estimator.estimates.prompt_cache.explain import cache_steps
from estimator.estimates.prompt_cache.figures import cache_figures, unknown_figures
from estimator.estimates.prompt_cache.parts import PromptCacheAnswer
from estimator.estimates.prompt_cache.prefix_part import PrefixReusePart, reuse_answer
from estimator.estimates.unused import Unused, unused_of_a_bill, unused_warnings
from estimator.question.fields import MAX_TOKENS, SMALLEST, WHOLE, Money, RequestBody, Tokens, TokensOrNone, tag
from estimator.resolvers.cache_policies import resolve_policy
from estimator.resolvers.plan import Resolved
from estimator.resolvers.prices import price_provenance, resolve_price

Seconds = Annotated[int, Field(ge=1, le=10_000_000), WHOLE]


class CachedApiPart(ApiCostPart):
    """The prices; `usage` and the rest of a bill are not needed here."""

    usage: dict[str, float] = Field(default={}, description="Not used here: the lengths are those of the request.")


class ArrivalsPart(RequestBody):
    """Requests that share the prefix, in one cache scope."""

    kind: Literal["poisson", "regular", "recorded"] = Field(
        default="poisson", description="poisson: at random; regular: evenly spaced; recorded: at times_s."
    )
    requests_per_hour: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None, description="Mean rate of poisson and regular arrivals, requests per hour."
    )
    times_s: Annotated[list[Annotated[float, Field(ge=0, le=1e12)]], Field(min_length=1, max_length=20_000)] | None = (
        Field(default=None, description="Times of recorded requests in ascending order, seconds.")
    )

    def arrivals(self) -> Arrivals:
        """The arrivals as the engine takes them.

        Raises:
            ResolutionError: Recorded arrivals without their times, or with a rate beside them.
        """
        if self.kind == "recorded" and self.times_s is None:
            detail = _("Recorded arrivals need their times.")
            raise ResolutionError([Fault(path=("arrivals", "times_s"), code="required", detail=detail)])
        if self.kind != "recorded" and self.times_s is not None:
            detail = _("Times are those of recorded arrivals: say so in kind, or leave them out.")
            raise ResolutionError([Fault(path=("arrivals", "times_s"), code="ambiguous", detail=detail)])
        if self.kind == "recorded" and self.requests_per_hour is not None:
            detail = _("Recorded arrivals have the rate of their times: leave it out.")
            raise ResolutionError([Fault(path=("arrivals", "requests_per_hour"), code="ambiguous", detail=detail)])
        return Arrivals(
            kind=ArrivalKind(self.kind), requests_per_hour=self.requests_per_hour, times_s=tuple(self.times_s or ())
        )


class TurnPart(RequestBody):
    """What a turn of a growing conversation adds."""

    input_tokens: TokensOrNone = Field(description="The user's text, tokens.")
    output_tokens: TokensOrNone = Field(description="The answer, tokens.")


class MarkPart(RequestBody):
    """A breakpoint of the prompt with a time to live of its own."""

    prefix_tokens: Tokens = Field(description="Where it stands, tokens from the start of the prompt.")
    ttl_s: Seconds = Field(description="Time to live of what lies before it, up to the mark before, seconds.")
    requests_per_hour: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None,
        description="Requests that share the prompt up to here, per hour; those of arrivals when null, never fewer.",
    )

    def mark(self) -> Mark:
        """The mark as the engine takes it."""
        return Mark(**dict(self))


class PolicyPart(RequestBody):
    """Cache rules stated in the request."""

    ttls_s: Annotated[list[Seconds], Field(max_length=20)] = Field(
        default=[], description="Times to live on offer, seconds; those of the write meters when empty."
    )
    refresh_on_hit: bool = Field(default=True, description="A hit starts the life anew; false: fixed expiry.")
    min_tokens: TokensOrNone = Field(default=0, description="Shortest prefix that is cached, tokens.")
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS), WHOLE] | None = Field(
        default=None, description="Longest prefix that is cached, tokens; null: no limit."
    )
    granularity_tokens: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] = Field(
        default=1, description="Cached lengths are multiples of this, tokens."
    )
    storage_price_per_mtok_hour: Money | None = Field(
        default=None, description="Price of keeping a million tokens for an hour; null: storage is free."
    )
    hit_quality: Annotated[float, Field(ge=SMALLEST, le=1)] = Field(
        default=1.0, description="Share of live entries that are really found, above 0 to 1."
    )

    def rules(self) -> CacheRules:
        """The rules as the engine takes them."""
        storage = self.storage_price_per_mtok_hour
        return CacheRules(
            ttls_s=tuple(dict.fromkeys(self.ttls_s)),
            refresh_on_hit=self.refresh_on_hit,
            min_tokens=self.min_tokens,
            max_tokens=self.max_tokens,
            granularity_tokens=self.granularity_tokens,
            storage_price_per_mtok_hour=None if storage is None else Decimal(storage),
            hit_quality=self.hit_quality,
            ttl_settable=True,
            kept_by_reading=self.refresh_on_hit and "refresh_on_hit" in self.model_fields_set,
        )


def _kind_of_policy(value: Any) -> str:
    return tag("slug") if isinstance(value, str) else tag("stated")


# No error context here: with one the union could not be joined with None.
Policy = Annotated[
    Annotated[str, Field(min_length=1, max_length=100), Tag(tag("slug"))] | Annotated[PolicyPart, Tag(tag("stated"))],
    Discriminator(_kind_of_policy),
]


class PromptCacheRequest(RequestBody):
    """Exactly one of `api` and `self_hosted`, and the shape of the traffic."""

    api: CachedApiPart | None = Field(default=None, description="The API whose bill is meant.")
    self_hosted: PrefixReusePart | None = Field(
        default=None, description="One's own engine with a prefix cache: time and room gained, never an API saving."
    )
    prefix_tokens: TokensOrNone = Field(description="Part of the prompt that requests share, at its start, tokens.")
    suffix_tokens: TokensOrNone = Field(default=0, description="The rest of the prompt, tokens.")
    output_tokens: TokensOrNone = Field(default=0, description="The answer, tokens.")
    variable_part_first: bool = Field(
        default=False, description="true: something that changes comes before the shared part; nothing is then found."
    )
    ttl_s: Seconds | None = Field(default=None, description="Time to live to use, seconds; all on offer when null.")
    arrivals: ArrivalsPart | None = Field(default=None, description="Requests for this prefix; needed for an API.")
    shards: Annotated[int, Field(ge=1, le=100_000), WHOLE] = Field(
        default=1, description="Caches requests are spread over that do not share entries, count."
    )
    horizon_s: Annotated[float, Field(ge=SMALLEST, le=1e10)] | None = Field(
        default=None, description="Length of a campaign with its cold start, seconds; steady state when null."
    )
    turns: Annotated[list[TurnPart], Field(min_length=1, max_length=2000)] | None = Field(
        default=None,
        description="A conversation that grows turn by turn after prefix_tokens; costs are then of the whole of it.",
    )
    marks: Annotated[list[MarkPart], Field(min_length=1, max_length=20)] | None = Field(
        default=None,
        description=(
            "Breakpoints in the order of the prompt, longer lives first: each part is written for its own time to "
            "live. Instead of ttl_s."
        ),
    )
    policy: Policy | None = Field(
        default=None, description="Cache rules, or the slug of a cache policy; the provider's when null."
    )


def answer_prompt_cache(body: PromptCacheRequest, asked: Asked) -> PromptCacheAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: Not exactly one of api and self_hosted, or faults of the parts.
    """
    if (body.api is None) == (body.self_hosted is None):
        code: Literal["required", "ambiguous"] = "required" if body.api is None else "ambiguous"
        raise ResolutionError([Fault(path=(), code=code, detail=_("Give exactly one of api and self_hosted."))])
    if body.api is not None:
        return _api(body, body.api, asked)
    return _self_hosted(body, asked)


def _api(body: PromptCacheRequest, part: CachedApiPart, asked: Asked) -> PromptCacheAnswer:
    if body.arrivals is None:
        raise ResolutionError([Fault(path=("arrivals",), code="required", detail=_("Needed for the hit probability."))])
    _check_marks(body)
    price = in_part("api", lambda: resolve_price(part.price_choice(), asked.facts))
    stated = body.policy.rules() if isinstance(body.policy, PolicyPart) else body.policy
    policy = resolve_policy(price, stated, body.ttl_s)
    question = _question(body, body.arrivals.arrivals())
    if policy.rules is None:
        question = replace(question, marks=(), ttl_s=None)
    found = cache_answer(price.prices, policy.rules or NO_CACHE, question)
    used = price.prices.tiers.get(found.estimate.best.prices.tier, {})
    billed = _billed(found)
    references = {row.reference: f"api.price.{name}" for name, row in used.items() if name in billed}
    resolved = [price, price_provenance(price, asked.facts, references), policy, _notes(body, found)]
    if "request" in used:
        resolved.append(Resolved(not_modelled=(_("the fee of each request, which no cache saves"),)))
    steps: list[Step] = cache_steps(found, question.prompt, price.prices.currency) if asked.explain else []
    common = several_parts(resolved, catalog_revision=asked.facts.catalog_revision, steps=steps, explain=asked.explain)
    known = policy.rules is not None
    figures = cache_figures(question, found, policy.slug) if known else unknown_figures(question, found)
    return PromptCacheAnswer(**common, **figures, price=price.slug, currency=price.prices.currency, self_hosted=None)


def _question(body: PromptCacheRequest, arrivals: Arrivals) -> CacheQuestion:
    return CacheQuestion(
        prompt=_prompt(body),
        arrivals=arrivals,
        turns=tuple(Turn(input_tokens=t.input_tokens, output_tokens=t.output_tokens) for t in body.turns or ()),
        marks=tuple(mark.mark() for mark in body.marks or ()),
        ttl_s=body.ttl_s,
        variable_part_first=body.variable_part_first,
        shards=body.shards,
        horizon_s=body.horizon_s,
    )


def _check_marks(body: PromptCacheRequest) -> None:
    """Refuses what has no meaning beside marks.

    Raises:
        ResolutionError: A time to live, turns or a variable part first beside marks.
    """
    if body.marks is None:
        return
    beside = {
        "ttl_s": body.ttl_s is not None,
        "turns": bool(body.turns),
        "variable_part_first": body.variable_part_first,
    }
    detail = _("Not with marks: each has its own time to live in a prompt that begins with the shared part.")
    issues = [Fault(path=(name,), code="ambiguous", detail=detail) for name, given in beside.items() if given]
    if issues:
        raise ResolutionError(issues)


def _billed(found: CacheAnswer) -> set[str]:
    parts = found.marked.parts if found.marked is not None else ()
    return {
        "input", "output", "cache_read",
        *(item.prices.write_billed_as or "" for item in found.estimate.by_ttl),
        *(part.prices.write_billed_as or "" for part in parts),
    }  # fmt: skip


def _prompt(body: PromptCacheRequest) -> Prompt:
    if body.turns:
        first = body.turns[0]
        return Prompt(
            prefix_tokens=body.prefix_tokens, suffix_tokens=first.input_tokens, output_tokens=first.output_tokens
        )
    return Prompt(prefix_tokens=body.prefix_tokens, suffix_tokens=body.suffix_tokens, output_tokens=body.output_tokens)


def _notes(body: PromptCacheRequest, found: CacheAnswer) -> Resolved:
    warnings = list(found.estimate.warnings)
    left_out = [_("the limit on blocks searched before a mark"), _("entries dropped before their time to live")]
    return Resolved(warnings=(*warnings, *_unused(body)), not_modelled=tuple(left_out))


def _unused(body: PromptCacheRequest) -> tuple[str, ...]:
    """Warnings of what was given and does not change the saving on an API's bill."""
    rules: list[Unused] = []
    if body.turns:
        rules += [(name, _("each turn has its own length")) for name in ("suffix_tokens", "output_tokens")]
        rules.append(("horizon_s", _("a conversation ends with its turns")))
    elif body.arrivals is not None and body.arrivals.kind == "recorded":
        rules.append(("horizon_s", _("the record is the horizon")))
    part = body.api
    bill = unused_of_a_bill(
        _("the lengths are those of the request"), inline=part is not None and isinstance(part.price, InlinePricePart)
    )
    return (*unused_warnings(body, rules), *(unused_warnings(part, bill, prefix="api.") if part is not None else ()))


def _self_hosted(body: PromptCacheRequest, asked: Asked) -> PromptCacheAnswer:
    part = body.self_hosted
    assert part is not None  # noqa: S101  checked by the caller
    reuse, resolved, steps = in_part(
        "self_hosted", lambda: reuse_answer(part, _prompt(body), body.variable_part_first, asked)
    )
    of_engine = _("what the engine's own cache finds is self_hosted.hit_rate")
    given = [(name, of_engine) for name in ("ttl_s", "arrivals", "shards", "horizon_s", "policy", "marks")]
    given.append(("turns", _("only the first turn counts here")))
    resolved.append(Resolved(warnings=unused_warnings(body, given)))
    common = several_parts(resolved, catalog_revision=asked.facts.catalog_revision, steps=steps, explain=asked.explain)
    nothing = dict.fromkeys(
        ("price", "policy", "currency", "tier", "ttl_s", "requests", "cost_without", "cost_with", "saving",
         "saving_fraction", "saving_per_hour", "break_even", "reordering_worth", "advice")
    )  # fmt: skip
    return PromptCacheAnswer.model_validate(
        common | nothing | {
            "per": "request", "cached_tokens": reuse.cached_tokens, "hit_probability": reuse.hit_probability,
            "by_ttl": [], "marks": [], "reasons": ["variable_part_first"] if body.variable_part_first else [],
            "suggestions": [_("Put what changes after the shared part.")] if body.variable_part_first else [],
            "turns": [], "self_hosted": reuse,
        }
    )  # fmt: skip


ENDPOINT = Endpoint(
    slug="prompt-cache",
    summary="What prompt caching saves with a prefix, a traffic and a provider's rules",
    description=(
        "Per request in steady state: P · (h · read + (1 − h) · write) + S · input + O · output against "
        "(P + S) · input + O · output. h is 1 − exp(−r·T) for random arrivals where hits refresh and r·T / (1 + r·T) "
        "for a fixed expiry. A horizon adds the cold start; turns make a growing conversation; storage paid by the "
        "hour is held all the time. Self-hosted: prefill time and room gained, never called an API saving."
    ),
    request=PromptCacheRequest,
    response=PromptCacheAnswer,
    answer=answer_prompt_cache,
)
