"""The answer of `estimates/sizing/`, part by part."""

from typing import Any

from pydantic import Field

from estimator.estimates.answers import BASIS_HELP, Amount, Answer, Band, Basis, ResponsePart
from estimator.estimates.sizing.budget import Budget
from estimator.estimates.sizing.compute import Option
from estimator.estimates.sizing.echo import SizingInputs
from estimator.estimates.sizing.nearest import Nearest
from estimator.estimates.sizing.next_measurement import SizingMeasurement
from estimator.resolvers.candidates import Candidate


class SizingCapacity(ResponsePart):
    """What one replica, or all of them, can carry within memory and targets."""

    concurrency: int | None = Field(description="Requests in flight of one replica, count.")
    requests_per_s: float | None = Field(description="Requests per second of one replica.")
    users: float | None = Field(description="Users of one replica with their think time; null without users.")
    max_sequences: int | None = Field(
        description="Most requests that a replica runs at once, count: max_sequences of throughput."
    )
    full_length_sequences: int | None = Field(
        description="Requests that the KV cache holds with their whole answers, count: max_sequences of memory-fit."
    )
    total: float = Field(description="Capacity of all replicas in the unit of the demand.")


class _OfCandidate(ResponsePart):
    gpu: str = Field(description="GPU.")
    precision: str = Field(description="Format of the weights.")
    tp: int = Field(description="Tensor parallel degree.")


class SizingOption(_OfCandidate):
    """One candidate, sized."""

    basis: Basis = Field(description=BASIS_HELP)
    replicas: int = Field(description="Copies of the model, count.")
    gpus_per_replica: int = Field(description="GPUs of one replica, count.")
    gpus: int = Field(description="replicas · gpus_per_replica, count.")
    nodes: int = Field(description="Machines, no replica straddling two unless larger than one, count.")
    gpus_in_nodes: int = Field(description="GPUs of those machines, idle ones included, count.")
    mean_replicas: int | None = Field(description="Replicas the mean rate would need; null without one.")
    binding_constraint: str = Field(
        description=(
            "What ends a replica's capacity: memory, ttft, tpot, e2e, rate, max_num_seqs (the sequences the engine "
            "runs at once) or missing-figure (nothing is known of a higher load)."
        )
    )
    capacity: SizingCapacity
    chance_within_slo: float | None = Field(
        description="Chance that a replica under its capacity meets every target at once, 0 to 1; null without targets "
        "or where it is not known."
    )
    goodput_requests_per_s_per_gpu: float = Field(description="Requests per second within targets, per GPU.")
    watts_per_gpu: Band | None = Field(
        description="Power of one GPU of a replica that carries its capacity, W; null where it is not known."
    )
    watts: Band | None = Field(description="Power of all GPUs where every replica carries its capacity, W.")
    within_budget: bool = Field(description="Whether it stays within the budget.")
    currency: str | None = Field(description="ISO 4217 code of the costs; null without a price.")
    cost_per_hour: Amount | None = Field(description="Price of all GPUs for an hour; null without a price.")
    cost_per_month: Amount | None = Field(description="Price of all GPUs for 730 h; null without a price.")


class SizingRejected(_OfCandidate):
    """A candidate that serves nothing, and why."""

    reason: str = Field(description="does_not_fit, targets_not_met, tensor_parallel_crosses_node, not_supported …")
    ttft_s: float | None = Field(description="TTFT it reaches with one request in flight, seconds; null if unknown.")
    tpot_s: float | None = Field(description="TPOT it reaches with one request in flight, seconds; null if unknown.")
    e2e_s: float | None = Field(description="Whole answer with one request in flight, seconds; null if unknown.")


class SizingNearest(_OfCandidate):
    """What would be feasible: these targets on this candidate, or this budget."""

    what: str = Field(
        description=(
            "slo: the targets have to be at least these; budget: the limits have to be these; memory: this candidate "
            "holds one request of the length; node: it does on machines of at least tp GPUs."
        )
    )
    ttft_s: float | None = Field(description="Target that would be met, seconds; null where it is met already.")
    tpot_s: float | None = Field(description="Target that would be met, seconds; null where it is met already.")
    e2e_s: float | None = Field(description="Target that would be met, seconds; null where it is met already.")
    gpus: int | None = Field(description="GPUs the nearest option takes, count; null for targets.")
    watts: float | None = Field(description="Power of them at its high end, W; null for targets or where unknown.")
    cost_per_month: Amount | None = Field(description="Its price for 730 h; null for targets or without a price.")


class SizingAnswer(Answer):
    """Options, best first by the objective."""

    inputs: SizingInputs
    feasible: bool = Field(description="Whether an option meets targets and budget.")
    objective: str = Field(description="What the options are ranked by.")
    binding_constraint: str | None = Field(description="What rules everything out; null when feasible.")
    options: list[SizingOption] = Field(description="Candidates that serve the demand; those within budget first.")
    next_measurement: SizingMeasurement | None = Field(
        description="The benchmark that would narrow the choice most; null without targets or options."
    )
    rejected: list[SizingRejected] = Field(description="Candidates that serve nothing.")
    nearest: SizingNearest | None = Field(description="The nearest that would be feasible; null when feasible.")


def _who(candidate: Candidate) -> dict[str, Any]:
    return {"gpu": candidate.gpu, "precision": candidate.precision, "tp": candidate.tp}


def option_part(option: Option, budget: Budget) -> SizingOption:
    """An option that serves the demand in the answer's form."""
    served, replica, price = option.served, option.replica, option.candidate.price
    assert served is not None and replica is not None  # noqa: PT018, S101  ranked options have both
    machines, capacity = served.fleet, served.capacity
    return SizingOption.model_validate(
        {
            **_who(option.candidate),
            "basis": option.basis,
            "replicas": machines.replicas,
            "gpus_per_replica": machines.gpus_per_replica,
            "gpus": machines.gpus,
            "nodes": machines.nodes,
            "gpus_in_nodes": machines.gpus_in_nodes,
            "mean_replicas": served.mean_replicas,
            "binding_constraint": capacity.binding.value,
            "capacity": {
                "concurrency": capacity.concurrency,
                "requests_per_s": capacity.requests_per_s,
                "users": capacity.users,
                "max_sequences": replica.max_sequences,
                "full_length_sequences": replica.full_length_sequences,
                "total": served.total_capacity,
            },
            "chance_within_slo": None if option.basis == "assumption" else replica.chance,
            "goodput_requests_per_s_per_gpu": served.goodput_per_gpu,
            "watts_per_gpu": served.watts_per_gpu,
            "watts": served.watts,
            "within_budget": budget.allows(option),
            "currency": price.currency if price else None,
            "cost_per_hour": served.cost_per_hour,
            "cost_per_month": served.cost_per_month,
        }
    )


def rejected_part(option: Option) -> SizingRejected:
    """An option that serves nothing in the answer's form."""
    best = option.replica.best_s if option.replica is not None else {}
    times = {name: best.get(name) for name in ("ttft_s", "tpot_s", "e2e_s")}
    return SizingRejected(**_who(option.candidate), reason=option.reason or "", **times)


def nearest_part(found: Nearest) -> SizingNearest:
    """The nearest in the answer's form."""
    served = found.option.served if found.option is not None else None
    return SizingNearest(
        **_who(found.candidate),
        what=found.what,
        ttft_s=found.missed_s.get("ttft_s"),
        tpot_s=found.missed_s.get("tpot_s"),
        e2e_s=found.missed_s.get("e2e_s"),
        gpus=served.fleet.gpus if served else None,
        watts=served.watts.high if served and served.watts else None,
        cost_per_month=served.cost_per_month if served else None,
    )
