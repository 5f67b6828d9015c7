"""Chance that times are within targets, from their bands: of each target, and of all of them together.

Errors of TTFT and TPOT of one load have logistic distributions in ln, so wide that a tenth lies beyond each end of the
band, and a Plackett copula (Plackett 1965, doi 10.1080/01621459.1965.10480807) of the rank correlation that measured
rows show. Both have closed forms, so that odds of a million rows cost little.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.constants.bands import BAND_RULES
from estimator.engine.serving.load import has_gaps

Floats = npt.NDArray[np.float64]
# Odds at an end of an 80 % band: nine tenths are within the slow end.
_ODDS_AT_END = 9.0
# Equal shares of the errors of the time per token at which a whole answer, or a queue, is worked out: within 0.005.
_NODES = 8
_STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """A time with the ends of its band, and what it is never below; seconds, one for each row."""

    low: Any
    mid: Any
    high: Any
    least: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Times of each row: first token, token, whole answer, and tokens after the first.

    `first_of_whole_s` is the first token that the whole answer holds: of a closed loop the client's mean, whichever one
    `first` is. Of arrivals `load_share` is the rate over the highest stable one (else 0) and `unhurried_s` a first
    token without the wait that grows with it. `whole_apart`: the whole answer has an error of its own, as a batch has.
    """

    first: Ends
    each: Ends
    whole: Ends
    gaps: Any
    first_of_whole_s: Any
    load_share: Any = 0.0
    unhurried_s: Any = 0.0
    whole_apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """Chance of each row that a target is met, 0 to 1: None where it is not asked, NaN where it is not known."""

    ttft_s: Any
    tpot_s: Any
    e2e_s: Any
    together: Any


def chance_within(target: Any, ends: Ends) -> Floats:
    """Chance that a time is within a target: the odds are 9 to 1 at the slow end of its band, even at its middle.

    A share, 0 to 1; yes or no where the band has no width, NaN where a figure is not known. Equation: docs/model.md,
    eq. (71). Source: docs/accuracy.md, chances said and what happened.

    >>> band = Ends(low=0.8, mid=1.0, high=1.25, least=0.5)
    >>> [round(float(chance_within(target, band)), 2) for target in (0.4, 0.8, 1.0, 1.25, 2.0)]
    [0.0, 0.1, 0.5, 0.9, 1.0]
    """
    with np.errstate(all="ignore"):
        beyond = np.log(np.asarray(target, dtype=np.float64) / ends.mid)
        width = np.where(beyond >= 0.0, np.log(ends.high / ends.mid), np.log(ends.mid / ends.low))
        said = 1.0 / (1.0 + np.exp(-log(_ODDS_AT_END) * beyond / np.maximum(width, 1e-12)))
        said = np.where(width > 1e-12, said, np.where(beyond >= -1e-12, 1.0, 0.0))
        said = np.where(np.asarray(target) < ends.least * (1.0 - 1e-9), 0.0, said)
    return np.where(np.isfinite(ends.mid), said, np.nan)


def both(first: Any, second: Any, ratio: float) -> Floats:
    """Chance that two happen together, each of its chance, where the odds ratio of one by the other is `ratio`.

    A share, 0 to 1. Equation: docs/model.md, eq. (72). Source: Plackett 1965, doi 10.1080/01621459.1965.10480807.

    >>> round(float(both(0.5, 0.5, 1.0)), 2), round(float(both(0.5, 0.5, 4.0)), 3), round(float(both(1.0, 0.3, 4.0)), 3)
    (0.25, 0.333, 0.3)
    """
    if ratio == 1.0:
        return np.asarray(first * second)
    a = ratio - 1.0
    total = 1.0 + a * (first + second)
    return np.asarray((total - np.sqrt(np.maximum(total * total - 4.0 * ratio * a * first * second, 0.0))) / (2.0 * a))


def given(first: Any, second: Any, ratio: float) -> Floats:
    """Chance of the first where the second is exactly at its quantile: the derivative of `both` by the second.

    A share, 0 to 1. Equation: docs/model.md, eq. (72). Source: Plackett 1965, doi 10.1080/01621459.1965.10480807.

    >>> round(float(given(0.5, 0.1, 4.0)), 3), round(float(given(0.5, 0.9, 4.0)), 3)
    (0.757, 0.243)
    """
    if ratio == 1.0:
        return np.asarray(first + 0.0 * second)
    a = ratio - 1.0
    total = 1.0 + a * (first + second)
    root = np.sqrt(np.maximum(total * total - 4.0 * ratio * a * first * second, 1e-300))
    return np.asarray(np.clip((1.0 - (1.0 + a * second - (ratio + 1.0) * first) / root) / 2.0, 0.0, 1.0))


@cache
def odds_ratio(rank_correlation: float) -> float:
    """The odds ratio of two errors with this rank correlation (Spearman's), between 0 and 1.

    Without unit. Equation: docs/model.md, eq. (72). Source: Plackett 1965; Spearman's rho of its copula.

    >>> round(odds_ratio(0.2), 2), odds_ratio(0.0)
    (1.84, 1.0)
    """
    low, high = 1.0, 1e6
    for _ in range(_STEPS if rank_correlation > 0.0 else 0):
        ratio = (low * high) ** 0.5
        rho = (ratio + 1.0) / (ratio - 1.0) - 2.0 * ratio * log(ratio) / (ratio - 1.0) ** 2
        low, high = (ratio, high) if rho < rank_correlation else (low, ratio)
    return low


def odds(times: Times, targets: Mapping[str, float]) -> Odds:
    """Chance that each target is met, and all together.

    Args:
        times: of each row.
        targets: seconds by `ttft_s`, `tpot_s`, `e2e_s`; one that is left out is not asked. `tpot_s` does not bind an
            answer of one token.

    Equation: docs/model.md, eq. (71) to eq. (73).
    """
    stable = _stable(times)
    first = whole = None
    if "ttft_s" in targets:
        first = _within(times, targets["ttft_s"], np.inf, stable)
    if "e2e_s" in targets:
        whole = _whole(times, targets["e2e_s"], stable)
    each = _token(times, targets["tpot_s"]) if "tpot_s" in targets else None
    every = together(times, targets)
    # Of no target alone is the chance less: what lies between is the width of the shares that both are worked out in.
    alone = (None if one is None else np.maximum(one, every) for one in (first, each, whole))
    first, each, whole = alone
    return Odds(ttft_s=first, tpot_s=each, e2e_s=whole, together=every)


def together(times: Times, targets: Mapping[str, float]) -> Floats:
    """Chance that every target is met at once, as `odds` says it, without those of each.

    A share, 0 to 1, of each row. Equation: docs/model.md, eq. (73). Source: docs/accuracy.md.

    >>> band = Ends(low=0.8, mid=1.0, high=1.25, least=0.5)
    >>> times = Times(first=band, each=band, whole=band, gaps=9.0, first_of_whole_s=1.0)
    >>> round(float(together(times, {"ttft_s": 1.0, "tpot_s": 1.25})), 3)
    0.463
    """
    most = _stable(times)
    if "tpot_s" in targets:
        most = np.minimum(_token(times, targets["tpot_s"]), most)
    whole = targets.get("e2e_s", np.inf)
    found = _within(times, targets.get("ttft_s", np.inf), np.inf if times.whole_apart else whole, most)
    if times.whole_apart and not np.isinf(whole):
        found = np.minimum(found, _whole(times, whole, 1.0))
    return found


def _token(times: Times, target: float) -> Any:
    return np.where(has_gaps(times.gaps + 1.0), chance_within(target, times.each), 1.0)


def _whole(times: Times, target: float, stable: Any) -> Floats:
    if times.whole_apart:
        return chance_within(target, times.whole)
    return _within(times, np.inf, target, stable)


def _stable(times: Times) -> Any:
    """Chance that a queue stays finite: a step may be slower by no more than arrivals leave."""
    if not np.any(times.load_share):
        return 1.0
    slowest = times.each.mid / np.maximum(times.load_share, 1e-300)
    told = has_gaps(times.gaps + 1.0) & (np.asarray(times.load_share) > 0.0)
    return np.where(told, chance_within(slowest, times.each), 1.0)


def _within(times: Times, first_s: float, whole_s: float, most: Any) -> Floats:
    """Chance that first token and whole answer are within these seconds, and the token's error within its share `most`.

    Equation: docs/model.md, eq. (73).
    """
    ratio = odds_ratio(BAND_RULES.rank_correlation)
    if np.isinf(first_s) and np.isinf(whole_s):
        return np.asarray(most, dtype=np.float64)
    if np.isinf(whole_s) and not np.any(times.load_share):
        return both(chance_within(first_s, times.first), most, ratio)
    total: Any = 0.0
    with np.errstate(all="ignore"):
        for node in range(_NODES):
            share = most * ((node + 0.5) / _NODES)
            slower = _slower(times, share)
            hurried = _hurried(times, slower)
            room = np.full(np.shape(hurried), first_s) / hurried
            if not np.isinf(whole_s):
                left = whole_s - times.gaps * np.where(times.gaps > 0.0, times.each.mid, 0.0) * slower
                room = np.minimum(room, np.maximum(left, 0.0) / (times.first_of_whole_s * hurried) * times.first.mid)
            total = total + given(chance_within(room, times.first), share, ratio)
    return np.asarray(most * total / _NODES)


def _slower(times: Times, share: Any) -> Any:
    """How many times as long as its middle a token takes at this share of its errors; 1 where none follows."""
    return np.where(times.gaps > 0.0, time_at(share, times.each) / times.each.mid, 1.0)


def time_at(share: Any, ends: Ends) -> Floats:
    """The time that is met with this chance: `chance_within` turned round, never below the ceiling; seconds.

    Equation: docs/model.md, eq. (71). Source: docs/accuracy.md.

    >>> band = Ends(low=0.8, mid=1.0, high=1.25, least=0.5)
    >>> [round(float(time_at(share, band)), 2) for share in (0.1, 0.5, 0.9)]
    [0.8, 1.0, 1.25]
    """
    with np.errstate(all="ignore"):
        logit = np.log(share / np.maximum(1.0 - np.asarray(share), 1e-12)) / log(_ODDS_AT_END)
        width = np.where(logit >= 0.0, np.log(ends.high / ends.mid), np.log(ends.mid / ends.low))
        return np.asarray(np.maximum(ends.mid * np.exp(width * logit), ends.least))


def _hurried(times: Times, slower: Any) -> Any:
    """How many times as long as its middle a first token takes where steps are slower and the queue with them.

    A wait goes with `busy / (1 − busy)`, the load with the time of a step.
    """
    if not np.any(times.load_share):
        return 1.0
    waited = np.maximum(times.first.mid - times.unhurried_s, 0.0) / times.first.mid
    longer = slower * (1.0 - times.load_share) / np.maximum(1.0 - times.load_share * slower, 1e-9)
    return 1.0 + waited * (longer - 1.0)
