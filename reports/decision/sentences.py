"""The decision in words: who wins, how sure that is, and what would change it."""

from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext as _

from estimator.figures import written
from reports.decision.parts import DecisionApi, DecisionLine
from reports.decision.winner import Outcome

# From here on "times as much" says more than "% more".
_DOUBLE = 0.95


def sentence_of(lines: Sequence[DecisionLine], found: Outcome | None, *, with_targets: bool) -> str:
    """The decision in a sentence."""
    names = {line.gpu: line.gpu_name for line in lines}
    standing = [line for line in lines if line.setting is not None]
    if found is None and standing:
        return _("Prices in several currencies are not compared: no GPU is called the cheapest.")
    if found is None:
        return _("No GPU meets the targets.") if with_targets else _("No GPU has a setting with figures.")
    first, second = names[found.first.gpu], found.second
    if found.by == "speed":
        said = _("No price is known; %(first)s gives the most tokens per second and GPU") % {"first": first}
        if second is None or found.margin is None:
            return f"{said}."
        more = _("%(margin)s more than %(second)s") % {"margin": percent(found.margin), "second": names[second.gpu]}
        return f"{said}, {more}."
    within = _(" within the targets") if with_targets else ""
    if second is None:
        if len(standing) > 1:
            return _("%(first)s is the only one%(within)s whose price is known.") % {"first": first, "within": within}
        only = _("%(first)s is the only GPU%(within)s.") if len(lines) > 1 else _("%(first)s is the only GPU asked.")
        return only % {"first": first, "within": within}
    return _("%(first)s is cheapest%(within)s; %(second)s costs %(margin)s per token.") % {
        "first": first, "within": within, "second": names[second.gpu], "margin": costs_more(found.margin),
    }  # fmt: skip


def costs_more(margin: float | None) -> str:
    """16 % more, 2.3 times as much, the same."""
    if margin is None:
        return _("more")
    if margin < 0.0005:
        return _("the same")
    if margin < _DOUBLE:
        return _("%(percent)s more") % {"percent": percent(margin)}
    return _("%(times)s times as much") % {"times": written.two_digits(1 + margin)}


def percent(share: float) -> str:
    """A share in percent: two digits, one below ten.

    >>> percent(0.163), percent(0.0432), percent(0.0012)
    ('16 %', '4.3 %', '0.12 %')
    """
    return f"{written.two_digits(share * 100)} %"


def certainty_of(found: Outcome | None) -> str | None:
    """How sure the order of the first two is."""
    if found is None or found.bands_overlap is None:
        return None
    if found.bands_overlap:
        return _("The order of the first two is likely, not sure: their bands overlap.")
    return _("The order of the first two holds at either end of their bands.")


def changes_of(
    lines: Sequence[DecisionLine],
    found: Outcome | None,
    apis: Sequence[DecisionApi],
    currency: str | None,
    *,
    refined: bool,
) -> Iterator[str]:
    """What would change the answer, a sentence each."""
    by_gpu = {line.gpu: line for line in lines}
    if found is None:
        return
    yield from _prices(by_gpu, found, currency)
    first = by_gpu[found.first.gpu]
    if apis and found.by == "cost":
        yield _api(first, apis[0])
    load = first.load_within
    if load is None or load.by is None or load.unit != "users" or refined:
        return
    if load.meets and load.next_load is not None and load.next_load - load.meets > 1:
        yield _("%(first)s holds the targets at %(meets)s users, not at %(next)s; loads between were not computed.") % {
            "first": first.gpu_name,
            "meets": written.count(load.meets),
            "next": written.count(load.next_load),
        }


def _prices(by_gpu: Mapping[str, DecisionLine], found: Outcome, currency: str | None) -> Iterator[str]:
    below, above, second = found.runner_up_wins_below, found.winner_loses_above, found.second
    if second is None or below is None or above is None or second.price is None or found.first.price is None:
        return
    yield _(
        "%(second)s wins if it costs less than %(below)s %(currency)s per GPU and hour (now %(second_now)s), or "
        "%(first)s more than %(above)s (now %(first_now)s)."
    ) % {
        "second": by_gpu[second.gpu].gpu_name, "below": written.money(below), "currency": currency or "",
        "second_now": written.money(second.price), "first": by_gpu[found.first.gpu].gpu_name,
        "above": written.money(above), "first_now": written.money(found.first.price),
    }  # fmt: skip


def _api(first: DecisionLine, api: DecisionApi) -> str:
    own = None if first.cost_per_mtok_blended is None else first.cost_per_mtok_blended.mid
    words = {
        "seller": api.provider, "api": written.money(api.cost_per_mtok_blended), "currency": api.currency,
        "first": first.gpu_name, "own": written.money(own),
    }  # fmt: skip
    if own is None or api.cost_per_mtok_blended is None:
        return _("%(seller)s sells the same model by its API.") % words
    if api.winner_cheaper_above_load is None:
        return (
            _(
                "An API is cheaper: %(seller)s sells the same tokens for %(api)s %(currency)s per million blended; "
                "%(first)s that is always busy makes them for %(own)s."
            )
            % words
        )
    return _busy(words, api.winner_cheaper_above_load)


def _busy(words: dict[str, str], load: float) -> str:
    return _(
        "The cheapest API, %(seller)s, asks %(api)s %(currency)s per million blended; %(first)s makes them for %(own)s "
        "and costs less when it is busy more than %(load)s of the time."
    ) % (words | {"load": percent(load)})
