"""What prompt caching saves on an API bill, in steady state, over a horizon or in a growing conversation."""

from dataclasses import dataclass
from decimal import Decimal

from estimator.engine.cost import money
from estimator.engine.cost.price_list import InForce
from estimator.engine.errors import MissingFigureError
from estimator.engine.explain import Step
from estimator.engine.prompt_cache.conversation import Conversation, Turn, conversation_cost
from estimator.engine.prompt_cache.policy import ArrivalKind, Arrivals, CacheRules, hit_probability, recorded_hits
from estimator.engine.prompt_cache.saving import CacheEstimate, Prompt, Saving, estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheQuestion:
    """Everything that is asked: lengths, arrivals and how the cache is used."""

    prompt: Prompt
    arrivals: Arrivals
    turns: tuple[Turn, ...] = ()
    ttl_s: int | None = None
    variable_part_first: bool = False
    shards: int = 1
    horizon_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheAnswer:
    """Costs per request, or of a whole conversation where turns were given."""

    estimate: CacheEstimate
    conversations: tuple[tuple[int, Conversation], ...] = ()

    @property
    def best_conversation(self) -> tuple[int, Conversation] | None:
        """The conversation under the cheapest time to live."""
        return min(self.conversations, key=lambda item: item[1].cost_with, default=None)

    def explain(self, prompt: Prompt, currency: str) -> list[Step]:
        """The per-request arithmetic of the best time to live; for conversations, their sums."""
        if self.best_conversation is not None:
            return _conversation_steps(*self.best_conversation, currency)
        return _saving_steps(self.estimate.best, prompt, currency)


def cache_answer(prices: InForce, rules: CacheRules, question: CacheQuestion) -> CacheAnswer:
    """Evaluate a question.

    Raises:
        UnpricedMeterError: Input, output or cache reads have no price.
        MissingFigureError: No time to live is known.
        InvalidInputError: Turns with a cache paid by the hour.
    """
    found = estimate(
        prices,
        rules,
        question.prompt,
        question.arrivals,
        ttl_s=question.ttl_s,
        variable_part_first=question.variable_part_first,
        shards=question.shards,
        horizon_s=question.horizon_s,
    )
    if not question.turns:
        return CacheAnswer(estimate=found)
    usable = CacheRules(min_tokens=2**62) if question.variable_part_first else rules
    ttls = (question.ttl_s,) if question.ttl_s is not None else rules.ttls_s
    return CacheAnswer(
        estimate=found,
        conversations=tuple((ttl, _conversation(prices, usable, rules, question, ttl)) for ttl in ttls),
    )


def _conversation(
    prices: InForce, usable: CacheRules, rules: CacheRules, question: CacheQuestion, ttl_s: int
) -> Conversation:
    return conversation_cost(
        prices,
        usable,
        question.turns,
        fixed_tokens=question.prompt.prefix_tokens,
        ttl_s=ttl_s,
        hit_probabilities=_turn_hits(rules, question, ttl_s),
    )


def _turn_hits(rules: CacheRules, question: CacheQuestion, ttl_s: int) -> list[float]:
    """Chance of a hit at each turn: recorded times exactly, else the steady share of the turns' rate."""
    count, arrivals = len(question.turns), question.arrivals
    if arrivals.kind is ArrivalKind.RECORDED:
        if len(arrivals.times_s) != count:
            raise MissingFigureError("recorded arrivals of a conversation need one time per turn", field="arrivals")
        hits = recorded_hits(arrivals.times_s, ttl_s, refresh_on_hit=rules.refresh_on_hit, shards=question.shards)
        return [rules.hit_quality * hit for hit in hits]
    share = hit_probability(
        arrivals,
        ttl_s,
        refresh_on_hit=rules.refresh_on_hit,
        shards=question.shards,
        hit_quality=rules.hit_quality,
    )
    return [share] * count


def _saving_steps(best: Saving, prompt: Prompt, currency: str) -> list[Step]:
    price = best.prices
    rest = prompt.prompt_tokens - best.cached_tokens
    steps = [
        Step.worked(
            name="cost_without",
            formula="prompt_tokens · input + output_tokens · output",
            values={
                "prompt_tokens": prompt.prompt_tokens,
                "input": price.input,
                "output_tokens": prompt.output_tokens,
                "output": price.output,
            },
            value=best.cost_without,
            unit=currency,
            source=f"price list, {price.tier.label}; prices per token",
        )
    ]
    if not best.cached_tokens or best.stored_per_token is not None:
        return steps
    steps.append(
        Step.worked(
            name="cost_with",
            formula="cached · (hit · read + (1 − hit) · write) + rest · input + output_tokens · output",
            values={
                "cached": best.cached_tokens,
                "hit": best.hit_probability,
                "read": price.read,
                "write": price.write,
                "rest": rest,
                "input": price.input,
                "output_tokens": prompt.output_tokens,
                "output": price.output,
            },
            value=best.cost_with,
            unit=currency,
            source=f"price list, {price.tier.label}; writes billed as {price.write_billed_as}",
        )
    )
    steps.append(
        Step.worked(
            name="saving",
            formula="cost_without − cost_with",
            values={"cost_without": best.cost_without, "cost_with": best.cost_with},
            value=best.saving,
            unit=currency,
            source="definition",
        )
    )
    return steps


def _conversation_steps(ttl_s: int, found: Conversation, currency: str) -> list[Step]:
    names = [f"turn_{turn.turn}" for turn in found.turns]
    return [
        Step.worked(
            name="cost_with",
            formula=" + ".join(names),
            values=dict(zip(names, (turn.cost_with for turn in found.turns), strict=True)),
            value=found.cost_with,
            unit=currency,
            source=f"sum of the turns at a time to live of {ttl_s} s",
        )
    ]


def per_hour(amount: Decimal, arrivals: Arrivals) -> Decimal | None:
    """An amount per request as an amount per hour of traffic; None for a record without duration."""
    rate = arrivals.rate_per_s
    if rate <= 0:
        return None
    return money.round_physics(money.EXACT.multiply(amount, money.from_physics(rate * 3600)))
