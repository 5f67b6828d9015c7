"""What would be feasible where nothing asked for is: a larger budget, looser targets, a candidate with the memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from estimator.engine.codes import Reason
from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.engine.options import TARGETS
from estimator.estimates.sizing.budget import Budget
from estimator.estimates.sizing.compute import CROSSES_NODE, Option, size
from estimator.estimates.sizing.question import Demand
from estimator.estimates.throughput.capacity import admitted
from estimator.estimates.throughput.setting import setting_of, workload_of
from estimator.question.plan import PlanRequest
from estimator.question.workload import Targets
from estimator.resolvers.candidates import Candidate, resolve_candidate
from estimator.resolvers.facts import Facts

# Formats tried beside those asked for, the least loss first.
_SMALLER = ("fp8", "int4")
_DEGREES = (1, 2, 4, 8, 16, 32, 64)
# Of many that hold a request so many are looked at for the targets.
_LOOKED_AT = 6
_LARGEST = 4
_SLOWEST = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """A candidate that would be feasible, and what has to give.

    `what`: `budget` (the limits), `slo` (the targets have to be `missed_s`), `memory` (this candidate instead), `node`
    (this candidate, on machines with as many GPUs).
    """

    candidate: Candidate
    what: str
    missed_s: dict[str, float]
    option: Option | None = None


def over_budget(budget: Budget, options: list[Option]) -> Nearest:
    """The option that passes the limits by the least factor; one without a known price or power comes last."""
    best = min(options, key=budget.excess)
    return Nearest(candidate=best.candidate, what="budget", missed_s={}, option=best)


def nearest_candidate(
    sized: list[Option], asked: "Neighbourhood", demand: Demand, slo: Targets, facts: Facts
) -> Nearest | None:
    """The targets that one of the candidates would meet, else the candidate beside them that holds a request."""
    return nearest_targets(sized, slo) or nearest_memory(asked, demand, slo, facts)


def nearest_targets(options: list[Option], slo: Targets) -> Nearest | None:
    """The candidate that misses the targets by the least factor under the lightest load; None when none runs at all."""
    running = [(option, _missed(option, slo)) for option in options if option.replica is not None]
    running = [(option, missed) for option, missed in running if missed]
    if not running:
        return None
    best, missed = min(running, key=lambda one: max(value / getattr(slo, name) for name, value in one[1].items()))
    return Nearest(candidate=best.candidate, what="slo", missed_s=missed)


def _missed(option: Option, slo: Targets) -> dict[str, float]:
    """Best times of an option that are above their target; with a chance asked for, the targets that it would meet."""
    if option.replica is not None and option.replica.needed_s is not None:
        return option.replica.needed_s
    best = option.replica.best_s if option.replica is not None else {}
    pairs = ((name, best.get(name), getattr(slo, name)) for name in TARGETS)
    return {name: value for name, value, target in pairs if value is not None and target and value > target}


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """What was asked for, to look beside it."""

    base: PlanRequest
    gpus: tuple[str, ...]
    precisions: tuple[str | None, ...]
    tp: tuple[int, ...]
    gpus_per_node: int
    confidence: float | None = None


def nearest_memory(asked: Neighbourhood, demand: Demand, slo: Targets, facts: Facts) -> Nearest | None:
    """The candidate nearest to those asked for that holds one request: the fewest parts changed, then the fewest GPUs.

    Degrees first, then smaller weights, then other GPUs of the same makers, then several of them; at last more GPUs
    than one machine was said to have. None when none of them holds it.
    """
    for gpus, precisions, degrees in _stages(asked, facts):
        held = _held(asked.base, facts, gpus, precisions, degrees)
        if held:
            nodes = max(asked.gpus_per_node, held[0].tp)
            sized = size(held, demand, slo, nodes, asked.confidence)
            serving = (option.candidate for option in sized if option.served is not None)
            what = "memory" if held[0].tp <= asked.gpus_per_node else "node"
            return Nearest(candidate=next(serving, held[0]), what=what, missed_s={})
    return None


Names = tuple[str, ...]
Formats = tuple[str | None, ...]


def _stages(asked: Neighbourhood, facts: Facts) -> Iterator[tuple[Names, Formats, list[int]]]:
    """GPUs, weight formats and degrees to look at, the nearest to what was asked for first."""
    node = asked.gpus_per_node
    own, others = _by_memory(asked.gpus, facts), _neighbours(asked.gpus, facts)
    given = [tp for tp in asked.tp if tp <= node]
    inside = [tp for tp in _DEGREES if tp <= node]
    smaller = [(name,) for name in _SMALLER if name not in asked.precisions]
    yield own, asked.precisions, inside
    yield from ((own, names, given) for names in smaller)
    yield others, asked.precisions, given
    yield from ((own, names, inside) for names in smaller)
    yield others, asked.precisions, inside
    yield from ((others, names, inside) for names in smaller)
    beyond = [tp for tp in _DEGREES if tp > node]
    yield from (((*own, *others), names, beyond) for names in (asked.precisions, *smaller))


def _by_memory(gpus: Names, facts: Facts) -> Names:
    """GPUs by the memory on their box, the smallest first."""
    return tuple(sorted(gpus, key=lambda slug: (facts.row("gpu", slug)["memory_vendor_bytes"], slug)))


def _neighbours(gpus: Names, facts: Facts) -> Names:
    """Other GPUs of the same makers, by memory; one with much less bandwidth than any asked for is no neighbour."""
    rows = [facts.row("gpu", slug) for slug in gpus]
    makers = {row["vendor"] for row in rows}
    least = _SLOWEST * min(row["memory_bandwidth_bytes_per_s"] for row in rows)
    found = (facts.row("gpu", slug) for slug in facts.slugs("gpu"))
    near = (row for row in found if row["vendor"] in makers and row["memory_bandwidth_bytes_per_s"] >= least)
    return _by_memory(tuple(row["slug"] for row in near if row["slug"] not in gpus), facts)


def _held(base: PlanRequest, facts: Facts, gpus: Names, precisions: Formats, degrees: list[int]) -> list[Candidate]:
    """Some candidates that hold a request and whose speed is known, of the smallest degree at which there are any.

    When the GPUs with most memory do not hold it no other does, and they are not tried.
    """

    def holding(gpu: str, precision: str | None, tp: int) -> Candidate | None:
        try:
            candidate = resolve_candidate(base, facts, gpu=gpu, precision=precision, tp=tp)
            if tp > max(candidate.plan.gpu.spec.scale_up_gpus, 1) and gpu != base.gpu:
                return None
            sweep = setting_of(candidate.plan).sweep
        except (ResolutionError, EngineError):
            return None
        room, _held_whole, reason = admitted(sweep, workload_of(candidate.plan))
        return candidate if room and reason is not Reason.MISSING_FIGURE else None

    for tp in degrees:
        held: list[Candidate] = []
        for precision in precisions:
            if any(holding(gpu, precision, tp) for gpu in gpus[-_LARGEST:]):
                found = (holding(gpu, precision, tp) for gpu in gpus)
                held += islice((one for one in found if one is not None), _LOOKED_AT)
        if held:
            return held
    return []


def binds(order: list[Option], sized: list[Option]) -> str:
    """What rules everything out."""
    if order:
        return "budget"
    reasons = [(option.reason or "").split(":")[0] for option in sized]
    for reason, name in (("targets_not_met", "slo"), ("does_not_fit", "memory"), (CROSSES_NODE, CROSSES_NODE)):
        if reason in reasons:
            return name
    return reasons[0] if reasons else "no_candidate"
