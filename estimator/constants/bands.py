"""Error bands of speed figures, by metric and class of model; and the borders of words for speeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from estimator.constants.kernels import constants_of, typed
from estimator.constants.rows import DATA_DIR, read_constants


@dataclass(frozen=True, slots=True)
class Spread:
    """Rows behind a class, and the 5th and 95th percentile of measured / predicted."""

    rows: int
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BandRules:
    """Rows that a class of its own needs, what a borrowed band is widened by, the factor on the sequences of a cache.

    `distance_of_…`: what a part without evidence, a kernel that is not its own and a judged expert kernel count; the
    slow end of a band is `fallback_slower` times as far where another kernel may run than the one expected.
    `rank_correlation` is that of the errors of TTFT and TPOT of one load.
    """

    few_rows: float
    widening: float
    places_doubt: float
    distance_of_part: float
    distance_of_kernel: float
    distance_of_expert_kernel: float
    extrapolated_from: float
    fallback_slower: float
    rank_correlation: float
    judged: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedWords:
    """Least tokens/s of one user for each word."""

    instant_from: float
    comfortable_from: float
    slow_from: float
    judged: frozenset[str] = frozenset()


def _spreads() -> Mapping[str, Mapping[str, Spread]]:
    ends: dict[str, dict[str, dict[str, float]]] = {}
    counts: dict[tuple[str, str], int] = {}
    for row in read_constants(DATA_DIR / "bands.csv"):
        metric, name = row.where("metric", "model_class")
        if metric and name:
            ends.setdefault(metric, {}).setdefault(name, {})[row.name] = row.value
            counts[metric, name] = row.n or 0
    return MappingProxyType(
        {
            metric: MappingProxyType({name: Spread(counts[metric, name], **each) for name, each in classes.items()})
            for metric, classes in ends.items()
        }
    )


def _half_widths(name: str) -> Mapping[str, float]:
    rows = read_constants(DATA_DIR / "bands.csv")
    return MappingProxyType({row.scope["metric"]: row.value for row in rows if row.name == name})


# metric → half-width in ln that a distance of one adds, as the root of squares.
DISTANCE_HALF_WIDTHS = _half_widths("distance_half_width")
# metric → half-width in ln of an 80 % band around one measured run of a setting, for the next run of it.
REPEAT_HALF_WIDTHS = _half_widths("repeat_half_width")
# metric → class → spread. Times for tpot, ttft; rates for the others.
SPREADS = _spreads()
BAND_RULES = typed(BandRules, {name: row for name, row in constants_of("bands.csv").items() if not row.scope})
SPEED_WORDS = typed(SpeedWords, constants_of("speed_words.csv"))
