"""How far a setting lies from what was measured: each part without a measured row counts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from estimator.constants.bands import BAND_RULES
from estimator.constants.evidence import Cell, evidence
from estimator.engine.forward_pass.doubts import Doubt, DoubtKind
from estimator.engine.forward_pass.traffic import RankLayout
from estimator.engine.model.spec import Architecture
from estimator.engine.specs import EngineProfile, Parallelism

Part = Callable[[Cell], tuple[str, ...]]
# Words of a part without evidence, and what of a cell it is.
_PARTS: tuple[tuple[str, Part], ...] = (
    ("this class on this GPU family by this engine", lambda c: (c.engine, c.model_class, c.family)),
    ("this architecture by this engine", lambda c: (c.engine, c.architecture)),
    ("this format on this GPU family", lambda c: (c.model_class, c.family, c.weights)),
    ("this split over GPUs by this engine", lambda c: (c.engine, c.split)),
    ("this engine version", lambda c: (c.profile,)),
)
GROUPS = ("online", "offline", "static", "single")
_LATENT, _MIXTURE, _DENSE = "latent", "moe", "dense"


def cell_of(layout: RankLayout, architecture: Architecture, engine: EngineProfile, family: str, group: str) -> Cell:
    """The cell of a setting; `group` is the group of metrics that is asked for."""
    mixture = bool(layout.experts)
    latent = any(cache.latent for cache in layout.caches)
    formats = [group.format.name for group in layout.experts] or [gemm.format.name for gemm in layout.gemms]
    return Cell(
        metrics=group,
        profile=engine.slug,
        engine=engine.engine,
        family=family,
        model_class=_LATENT if latent else _MIXTURE if mixture else _DENSE,
        architecture=architecture.family,
        weights=formats[-1] if formats else "",
        split=_split(layout.parallelism),
    )


def kernel_distance(doubts: Iterable[Doubt]) -> float:
    """What kernels, links and parts count that are not their own; parts that evidence misses count elsewhere.

    Without unit: a count of parts. Equation: docs/model.md, eq. (64). Source: docs/speed.md, bands.

    >>> kernel_distance([Doubt("link"), Doubt("int4 experts", DoubtKind.EXPERTS), Doubt("version", DoubtKind.PART)])
    5.0
    """
    far = {
        DoubtKind.KERNEL: BAND_RULES.distance_of_kernel,
        DoubtKind.EXPERTS: BAND_RULES.distance_of_expert_kernel,
        DoubtKind.PART: 0.0,
    }
    return sum(far[doubt.kind] for doubt in doubts)


def _split(parallel: Parallelism) -> str:
    for name in ("pp", "dp", "ep", "tp"):
        if getattr(parallel, name) > 1:
            return name
    return "one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """Parts without evidence, in words, and the distance by group of metrics."""

    missing: tuple[Doubt, ...]
    by_group: Mapping[str, float]


def distance(cell: Cell, *, kernels: float = 0.0, without: frozenset[str] = frozenset()) -> Distance:
    """The distance of a setting from the measured cells.

    Args:
        cell: the setting, of any group of metrics.
        kernels: what kernels that are not their own count.
        without: sources whose measurements do not count, to ask how far their own rows would be without them.

    >>> from dataclasses import replace
    >>> from estimator.constants.evidence import evidence
    >>> known = next(iter(evidence()))
    >>> distance(known).missing
    ()
    >>> distance(replace(known, architecture="unheard of")).missing
    ('this architecture by this engine',)
    """
    parts, metrics = _known(without)
    pairs = zip(_PARTS, parts, strict=True)
    missing = tuple(Doubt(words, DoubtKind.PART) for (words, part), known in pairs if part(cell) not in known)
    near = kernels + BAND_RULES.distance_of_part * len(missing)
    beyond = BAND_RULES.distance_of_kernel
    return Distance(
        missing=missing,
        by_group={
            group: near + (0.0 if (group, cell.engine, cell.model_class) in metrics else beyond) for group in GROUPS
        },
    )


@cache
def _known(without: frozenset[str]) -> tuple[tuple[frozenset[tuple[str, ...]], ...], frozenset[tuple[str, ...]]]:
    """What has been measured of each part, and groups of metrics by engine and class, by other sources than these."""
    cells = [cell for cell, sources in evidence().items() if sources - without]
    parts = tuple(frozenset(part(cell) for cell in cells) for _, part in _PARTS)
    return parts, frozenset((cell.metrics, cell.engine, cell.model_class) for cell in cells)
