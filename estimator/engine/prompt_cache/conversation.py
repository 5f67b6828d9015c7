"""A conversation that grows turn by turn, each prompt holding all that went before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.cost.price_list import InForce
from estimator.engine.errors import InvalidInputError
from estimator.engine.prompt_cache.cached_prices import CachePrices, cache_prices
from estimator.engine.prompt_cache.policy import CacheRules
from estimator.engine.prompt_cache.saving import KnownCosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a turn adds, in tokens: the user's text and the answer."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCost:
    """One turn's bill: tokens found in the cache when it hits, tokens new to it, costs with and without."""

    turn: int
    prompt_tokens: int
    cached_tokens: int
    new_tokens: int
    hit_probability: float
    cost_without: Decimal
    cost_with: Decimal
    tier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(KnownCosts):
    """The whole conversation; amounts with a hit probability strictly between 0 and 1 are rounded to 9 digits."""

    turns: tuple[TurnCost, ...]


def conversation_cost(
    prices: InForce,
    rules: CacheRules,
    turns: Sequence[Turn],
    *,
    fixed_tokens: int,
    ttl_s: int,
    hit_probabilities: Sequence[float],
) -> Conversation:
    """Cost of a conversation whose prompts grow: L_0 + Σ (u_j + a_j) + u_k at turn k.

    Turn 1 is cold and writes L_0 + u_1. Turn k ≥ 2 finds the prompt of turn k − 1 cached with probability h and writes
    only what is new (a_{k−1} + u_k); a miss writes the whole prompt. The provider's minimum and granularity hold for
    each prompt; the tier is chosen anew at each turn. Left out: the look-back limit of explicit marks.

    Args:
        prices: Prices in force.
        rules: The cache's rules; a storage price is not for growing conversations.
        turns: What each turn adds.
        fixed_tokens: L_0, the fixed part before the first user text.
        ttl_s: Time to live whose write meter is billed.
        hit_probabilities: One per turn; the first is taken as 0 (cold).

    Raises:
        UnpricedMeterError: A write of this life has no price in the tier of a turn.

    Source: definition, checked by hand: 8,000 + 20 turns of 300 / 400 tokens at 4 / 0.2 / 5 / 20 USD per million.
    """
    if rules.storage_price_per_mtok_hour is not None:
        raise InvalidInputError("a cache paid by the hour is not written turn by turn", field="turns")
    done: list[TurnCost] = []
    previous, length = 0, fixed_tokens
    without_total, with_total = Decimal(0), Decimal(0)
    with localcontext(money.EXACT):
        for number, turn in enumerate(turns, start=1):
            prompt = length + turn.input_tokens
            price = cache_prices(prices, ttl_s, prompt, rules=rules, answers=turn.output_tokens > 0)
            found = rules.cacheable_tokens(previous)
            hit = hit_probabilities[number - 1] if number > 1 and found else 0.0
            answer = turn.output_tokens * price.output
            without = prompt * price.input + answer
            cost = _prompt_cost(price, prompt, found, rules.cacheable_tokens(prompt), hit) + answer
            done.append(
                TurnCost(
                    turn=number,
                    prompt_tokens=prompt,
                    cached_tokens=found,
                    new_tokens=prompt - found,
                    hit_probability=hit,
                    cost_without=money.EXACT.normalize(without),
                    cost_with=money.round_physics(cost),
                    tier=price.tier.label,
                )
            )
            without_total += without
            with_total += cost
            previous, length = prompt, prompt + turn.output_tokens
        saving = without_total - with_total
    return Conversation(
        turns=tuple(done),
        cost_without=money.EXACT.normalize(without_total),
        cost_with=money.round_physics(with_total),
        saving=money.round_physics(saving),
        saving_fraction=money.to_physics(saving) / money.to_physics(without_total) if without_total else 0.0,
    )


def _prompt_cost(price: CachePrices, prompt: int, found: int, written: int, hit_probability: float) -> Decimal:
    """Expected cost of a prompt of which `found` tokens may be read and `written` are kept; the rest is plain input."""
    tail = (prompt - written) * price.input
    if not written:
        return tail
    on_hit = found * price.read + (written - found) * price.priced_write + tail
    on_miss = written * price.priced_write + tail
    share = money.from_physics(hit_probability)
    return share * on_hit + (1 - share) * on_miss
