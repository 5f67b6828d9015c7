"""The working of a prompt-cache answer: one life, several marks, or a conversation."""

from decimal import Decimal

from estimator.engine.explain import Step
from estimator.engine.prompt_cache.cached_prices import CachePrices
from estimator.engine.prompt_cache.conversation import Conversation
from estimator.engine.prompt_cache.marks import MarkedSaving
from estimator.engine.prompt_cache.saving import Prompt, Saving
from estimator.estimates.prompt_cache.compute import CacheAnswer


def cache_steps(found: CacheAnswer, prompt: Prompt, currency: str) -> list[Step]:
    """The arithmetic of one request at the best time to live or with its marks; for conversations, their sums."""
    if found.best_conversation is not None:
        return _conversation_steps(*found.best_conversation, currency)
    best = found.estimate.best
    if found.marked is not None:
        return [
            _without(best.prices, prompt, found.marked, currency),
            *_marks_steps(found.marked, best.prices, prompt, currency),
        ]
    steps = [_without(best.prices, prompt, best, currency)]
    if best.cached_tokens and best.stored_per_token is None and best.cost_with is not None:
        steps += [_with(best, prompt, currency), _saved(best, currency)]
    return steps


def _without(price: CachePrices, prompt: Prompt, costs: Saving | MarkedSaving, currency: str) -> Step:
    return Step.worked(
        name="cost_without",
        formula="prompt_tokens · input + output_tokens · output",
        values={
            "prompt_tokens": prompt.prompt_tokens,
            "input": price.input,
            "output_tokens": prompt.output_tokens,
            "output": price.output,
        },
        value=costs.cost_without,
        unit=currency,
        source=f"price list, {price.tier.label}; prices per token",
    )


def _with(best: Saving, prompt: Prompt, currency: str) -> Step:
    price = best.prices
    return Step.worked(
        name="cost_with",
        formula="cached · (hit · read + (1 − hit) · write) + rest · input + output_tokens · output",
        values={
            "cached": best.cached_tokens,
            "hit": best.hit_probability,
            "read": price.read,
            "write": price.priced_write,
            "rest": prompt.prompt_tokens - best.cached_tokens,
            "input": price.input,
            "output_tokens": prompt.output_tokens,
            "output": price.output,
        },
        value=best.cost_with or Decimal(0),
        unit=currency,
        source=f"price list, {price.tier.label}; writes billed as {price.write_billed_as}",
    )


def _saved(costs: Saving | MarkedSaving, currency: str) -> Step:
    return Step.worked(
        name="saving",
        formula="cost_without − cost_with",
        values={"cost_without": costs.cost_without, "cost_with": costs.cost_with or Decimal(0)},
        value=costs.saving or Decimal(0),
        unit=currency,
        source="definition",
    )


def _marks_steps(found: MarkedSaving, price: CachePrices, prompt: Prompt, currency: str) -> list[Step]:
    if not found.parts:
        return []
    names = [f"part_{number}" for number in range(1, len(found.parts) + 1)]
    parts = [
        Step.worked(
            name=name,
            formula="tokens · (hit · read + (1 − hit) · write)",
            values={
                "tokens": part.tokens,
                "hit": part.hit_probability,
                "read": part.prices.read,
                "write": part.prices.priced_write,
            },
            value=part.cost,
            unit=currency,
            source=f"up to token {part.mark.prefix_tokens}; writes billed as {part.prices.write_billed_as}",
        )
        for name, part in zip(names, found.parts, strict=True)
    ]
    whole = Step.worked(
        name="cost_with",
        formula=" + ".join([*names, "rest · input", "output_tokens · output"]),
        values=dict(zip(names, (part.cost for part in found.parts), strict=True))
        | {
            "rest": prompt.prompt_tokens - found.cached_tokens,
            "input": price.input,
            "output_tokens": prompt.output_tokens,
            "output": price.output,
        },
        value=found.cost_with,
        unit=currency,
        source="sum of the parts",
    )
    return [*parts, whole, _saved(found, currency)]


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
