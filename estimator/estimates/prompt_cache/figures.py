"""From a saving on an API's bill to the figures of the answer of `estimates/prompt-cache/`."""

from django.utils.translation import gettext as _

from estimator.engine.cost import money
from estimator.engine.prompt_cache.advice import Advice
from estimator.engine.prompt_cache.conversation import Conversation
from estimator.engine.prompt_cache.marks import MarkedPart, MarkedSaving
from estimator.engine.prompt_cache.pays_from import NOTHING_CACHED, SEVERAL_LIVES, BreakEven
from estimator.engine.prompt_cache.saving import Saving
from estimator.estimates.prompt_cache.compute import CacheAnswer, CacheQuestion, per_hour
from estimator.estimates.prompt_cache.parts import CacheMark, CacheTurn

NO_POLICY = "no_policy_known"
Part = dict[str, object]
"""A part of the answer by field; the whole answer is checked at once, which costs less than part by part."""


def cache_figures(question: CacheQuestion, found: CacheAnswer, policy: str | None) -> dict[str, object]:
    """The figures of one request at the best time to live or with its marks, or of a conversation."""
    figures = _of_request(question, found) | {
        "policy": policy,
        "by_ttl": _by_ttl(found),
        "advice": _advice(found.advice),
        "suggestions": _suggestions(question, found),
        "reordering_worth": found.estimate.reordering_worth,
        "turns": [],
        "marks": [],
    }
    if found.best_conversation is not None:
        figures |= _of_conversation(found, *found.best_conversation)
    elif found.marked is not None:
        figures |= _of_marks(question, found.marked)
    return figures


_NOT_KNOWN = (
    "ttl_s", "cached_tokens", "cost_with", "saving", "saving_fraction", "saving_per_hour", "hit_probability", "advice",
    "reordering_worth",
)  # fmt: skip


def unknown_figures(question: CacheQuestion, found: CacheAnswer) -> dict[str, object]:
    """The figures where the rules of the cache are not known: the cost without one, and nothing else."""
    return (
        cache_figures(question, found, None)
        | dict.fromkeys(_NOT_KNOWN)
        | {
            "break_even": BreakEven(reason=NO_POLICY),
            "by_ttl": [],
            "turns": [],
            "marks": [],
            "reasons": [NO_POLICY],
            "suggestions": [_("State the rules of this cache in policy to have its saving.")],
        }
    )


def _of_request(question: CacheQuestion, found: CacheAnswer) -> dict[str, object]:
    best = found.estimate.best
    return {
        "per": "request",
        "tier": best.prices.tier.label,
        "ttl_s": best.ttl_s,
        "cached_tokens": best.cached_tokens,
        "requests": best.requests,
        "hit_probability": best.hit_probability,
        "saving_per_hour": per_hour(best.saving, question.arrivals),
        "break_even": _break_even(best, None),
        "reasons": list(found.estimate.reasons),
        **_costs(best),
    }


def _of_conversation(found: CacheAnswer, ttl_s: int, talk: Conversation) -> dict[str, object]:
    last = talk.turns[-1]
    return {
        "per": "conversation",
        "tier": last.tier,
        "ttl_s": ttl_s,
        "cached_tokens": last.cached_tokens,
        "requests": float(len(talk.turns)),
        "hit_probability": last.hit_probability,
        "saving_per_hour": None,
        "break_even": _break_even(found.estimate.best, talk),
        "reasons": _conversation_reasons(found, talk),
        "turns": [CacheTurn.model_validate(turn) for turn in talk.turns],
        **_costs(talk),
    }


def _of_marks(question: CacheQuestion, found: MarkedSaving) -> dict[str, object]:
    reasons = ["costs_more_than_it_saves"] if found.saving < 0 else []
    return {
        "ttl_s": None,
        "cached_tokens": found.cached_tokens,
        "hit_probability": found.parts[-1].hit_probability if found.parts else 0.0,
        "saving_per_hour": per_hour(found.saving, question.arrivals),
        "break_even": SEVERAL_LIVES if found.parts else NOTHING_CACHED,
        "reasons": reasons if found.parts else ["below_minimum"],
        "marks": [_mark(part) for part in found.parts],
        **_costs(found),
    }


def _costs(found: Saving | Conversation | MarkedSaving) -> dict[str, object]:
    names = ("cost_without", "cost_with", "saving", "saving_fraction")
    return {name: getattr(found, name) for name in names}


def _mark(part: MarkedPart) -> CacheMark:
    return CacheMark(
        prefix_tokens=part.mark.prefix_tokens,
        ttl_s=part.mark.ttl_s,
        tokens=part.tokens,
        hit_probability=part.hit_probability,
        write_billed_as=part.prices.write_billed_as or part.prices.write_meter,
        cost=money.round_physics(part.cost),
    )


def _conversation_reasons(found: CacheAnswer, talk: Conversation) -> list[str]:
    if "variable_part_first" in found.estimate.reasons:
        return ["variable_part_first"]
    if talk.saving < 0:
        return ["costs_more_than_it_saves"]
    return ["below_minimum"] if talk.saving == 0 and not any(turn.cached_tokens for turn in talk.turns) else []


def _by_ttl(found: CacheAnswer) -> list[Part]:
    talks = dict(found.conversations)
    return [_row(item, talks.get(item.ttl_s or 0), of_talk=bool(talks)) for item in found.estimate.by_ttl]


def _row(item: Saving, talk: Conversation | None, *, of_talk: bool) -> Part:
    """One life; where conversations are asked for, null for one that has none."""
    costs: Saving | Conversation = talk or item
    known = talk is not None or not of_talk
    return {
        "ttl_s": item.ttl_s or 0,
        "kept_alive": item.kept_alive,
        "hit_probability": talk.turns[-1].hit_probability if talk else item.hit_probability,
        "cost_with": costs.cost_with if known else None,
        "saving": costs.saving if known else None,
        "saving_fraction": costs.saving_fraction if known else None,
        "break_even": _break_even(item, talk),
        "write_billed_as": item.prices.write_billed_as,
        "reason": item.reason if known else f"unpriced-meter: {item.prices.write_meter}",
    }


def _advice(found: Advice) -> Part:
    return {"use": found.best.use.value, "ttl_s": found.best.ttl_s, "options": found.options}


def _break_even(item: Saving, talk: Conversation | None) -> BreakEven:
    """Where it starts to pay; nowhere when the cache takes nothing of the prompt as it stands."""
    taken = any(turn.cached_tokens for turn in talk.turns) if talk else item.cached_tokens
    return item.break_even if taken else NOTHING_CACHED


def _suggestions(question: CacheQuestion, found: CacheAnswer) -> list[str]:
    texts = []
    worth = found.estimate.reordering_worth
    if worth:
        texts.append(_("Put what changes (dates, names, the question) after the shared part."))
    if "below_minimum" in found.estimate.reasons:
        texts.append(
            _("Prefixes this short are not cached: move more of the stable text to the front, or leave it be.")
        )
    if "costs_more_than_it_saves" in found.estimate.reasons:
        texts.append(_("At this rate writes cost more than hits save: leave the marks out, or pool the traffic."))
    best = found.estimate.best
    if question.shards > 1 and best.stored_per_token is None and best.saving is not None and best.saving >= 0:
        texts.append(_("Route requests with the same prefix to the same cache."))
    return texts
