"""The plans a sizing chooses from: every GPU, weight format and tensor parallel degree asked for, with its price."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from estimator.engine.errors import EngineError
from estimator.engine.faults import Fault, ResolutionError
from estimator.question.plan import Parallelism, PlanRequest
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpu_prices import GpuPrice
from estimator.resolvers.plan import Plan
from estimator.resolvers.resolve import resolve_plan

# Where the parts of a plan stand in the request of a sizing.
_PLACES = {"parallelism": ("candidates", "tp"), "precision": ("candidates", "precisions")}


# GPU, weight format (None: that of the model's own files) and tensor parallel degree.
Wanted = tuple[str, str | None, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One plan to size, with its price where one is known."""

    plan: Plan
    gpu: str
    precision: str
    tp: int
    price: GpuPrice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What can be sized, and in words what was asked for and cannot."""

    found: tuple[Candidate, ...]
    left_out: tuple[str, ...]


def resolve_candidate(base: PlanRequest, facts: Facts, *, gpu: str, precision: str | None, tp: int) -> Candidate:
    """One candidate, without its price; without a weight format that of the model's own files.

    Raises:
        ResolutionError: Parts that do not go together, such as a degree that does not divide the heads.
        EngineError: A figure that is not known.
    """
    formats = base.precision.model_copy(update={"weights": precision})
    parts = {"gpu": gpu, "precision": formats, "parallelism": Parallelism.model_construct(tp=tp)}
    plan = resolve_plan(base.model_copy(update=parts), facts)
    return Candidate(plan=plan, gpu=gpu, precision=plan.precision.weights, tp=tp)


def resolve_candidates(
    base: PlanRequest,
    facts: Facts,
    wanted: Sequence[Wanted],
    prices: Mapping[str, GpuPrice | None],
) -> Candidates:
    """The candidates that can be sized.

    Args:
        base: Model, engine, lengths and settings that all share.
        facts: Where catalog rows come from.
        wanted: GPU, weight format and tensor parallel degree of each.
        prices: Price of each GPU, None where none is known.

    Raises:
        ResolutionError: None of them can be sized, because of what was asked for.
    """
    found, left_out, faults = [], [], None
    for gpu, precision, tp in wanted:
        try:
            candidate = resolve_candidate(base, facts, gpu=gpu, precision=precision, tp=tp)
        except ResolutionError as error:
            faults = faults or ResolutionError([_in_candidates(issue) for issue in error.faults])
            left_out.append(f"{_name(gpu, precision, tp)}: {error.faults[0].detail}")
        except EngineError as error:
            left_out.append(f"{_name(gpu, precision, tp)}: {error}")
        else:
            found.append(replace(candidate, price=prices.get(gpu)))
    if not found and faults is not None:
        raise faults
    return Candidates(found=tuple(found), left_out=tuple(left_out))


def _name(gpu: str, precision: str | None, tp: int) -> str:
    return f"{gpu}{f' {precision}' if precision else ''} tp {tp}"


def _in_candidates(issue: Fault) -> Fault:
    """A fault of a plan, pointed at where a sizing has the value."""
    start = _PLACES.get(str(issue.path[0])) if issue.path else None
    return issue if start is None else replace(issue, path=start)
