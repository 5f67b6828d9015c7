"""What prompt caching saves on an API bill, in steady state, over a horizon or in a growing conversation."""

from dataclasses import dataclass
from decimal import Decimal

from estimator.engine.cost import money
from estimator.engine.cost.price_list import InForce
from estimator.engine.errors import MissingFigureError, UnpricedMeterError
from estimator.engine.prompt_cache.advice import Advice, CacheOption, Use, advice, compare
from estimator.engine.prompt_cache.conversation import Conversation, Turn, conversation_cost
from estimator.engine.prompt_cache.marks import Mark, MarkedSaving, saving_with_marks
from estimator.engine.prompt_cache.policy import ArrivalKind, Arrivals, CacheRules, hit_probability, recorded_hits
from estimator.engine.prompt_cache.saving import CacheEstimate, Prompt, estimate

NO_CACHE = CacheRules(ttls_s=(1,), min_tokens=2**62, writes_free=True)
"""Rules of a cache that takes nothing: what a request costs without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheQuestion:
    """Everything that is asked: lengths, arrivals and how the cache is used."""

    prompt: Prompt
    arrivals: Arrivals
    turns: tuple[Turn, ...] = ()
    marks: tuple[Mark, ...] = ()
    ttl_s: int | None = None
    variable_part_first: bool = False
    shards: int = 1
    horizon_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheAnswer:
    """Costs per request (`marked` where marks were given), or of a whole conversation where turns were."""

    estimate: CacheEstimate
    advice: Advice
    conversations: tuple[tuple[int, Conversation], ...] = ()
    marked: MarkedSaving | None = None

    @property
    def best_conversation(self) -> tuple[int, Conversation] | None:
        """The conversation under the cheapest time to live."""
        return min(self.conversations, key=lambda item: item[1].cost_with, default=None)


def cache_answer(prices: InForce, rules: CacheRules, question: CacheQuestion) -> CacheAnswer:
    """Evaluate a question.

    Raises:
        UnpricedMeterError: Input, output or cache reads have no price.
        MissingFigureError: No time to live is known.
        InvalidInputError: Turns or marks with a cache paid by the hour, or marks that break its rules.
    """
    found = estimate(
        prices,
        rules,
        question.prompt,
        question.arrivals,
        ttl_s=question.ttl_s if rules.ttls_s or not question.marks else question.marks[0].ttl_s,
        variable_part_first=question.variable_part_first,
        shards=question.shards,
        horizon_s=question.horizon_s,
    )
    if question.marks:
        marked = _marked(prices, rules, question)
        used = CacheOption(use=Use.LIFETIME, ttl_s=None, cost=marked.cost_with)
        return CacheAnswer(estimate=found, marked=marked, advice=compare(marked.cost_without, [used]))
    if question.turns:
        return _talks(found, prices, rules, question)
    ways = advice(found.by_ttl, rules, question.prompt, question.arrivals, shards=question.shards)
    return CacheAnswer(estimate=found, advice=ways)


def _talks(found: CacheEstimate, prices: InForce, rules: CacheRules, question: CacheQuestion) -> CacheAnswer:
    """The conversation under every time to live whose writes have a price in every turn.

    Raises:
        UnpricedMeterError: None has.
    """
    usable = NO_CACHE if question.variable_part_first else rules
    ttls = (question.ttl_s,) if question.ttl_s is not None else rules.ttls_s
    talks: list[tuple[int, Conversation]] = []
    options: list[CacheOption] = []
    unpriced: UnpricedMeterError | None = None
    for ttl in ttls:
        try:
            talk = _conversation(prices, usable, rules, question, ttl)
        except UnpricedMeterError as missing:
            unpriced = missing
            options.append(
                CacheOption(use=Use.LIFETIME, ttl_s=ttl, cost=None, reason=f"unpriced-meter: {missing.meter}")
            )
            continue
        talks.append((ttl, talk))
        options.append(CacheOption(use=Use.LIFETIME, ttl_s=ttl, cost=talk.cost_with))
    if unpriced is not None and not talks:
        raise unpriced
    return CacheAnswer(estimate=found, conversations=tuple(talks), advice=compare(talks[0][1].cost_without, options))


def _marked(prices: InForce, rules: CacheRules, question: CacheQuestion) -> MarkedSaving:
    return saving_with_marks(
        prices,
        rules,
        question.prompt,
        question.arrivals,
        question.marks,
        shards=question.shards,
        horizon_s=question.horizon_s,
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
            raise MissingFigureError(
                "recorded arrivals of a conversation need one time for each of its turns", field="arrivals"
            )
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


def per_hour(amount: Decimal | None, arrivals: Arrivals) -> Decimal | None:
    """An amount per request as an amount per hour of traffic; None for a record without duration."""
    rate = arrivals.rate_per_s
    if rate <= 0 or amount is None:
        return None
    return money.round_physics(money.EXACT.multiply(amount, money.from_physics(rate * 3600)))
