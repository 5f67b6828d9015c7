"""The one measurement that would narrow a decision most, and its command; none where the decision is sure already."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.speed.narrowing import doubt
from estimator.estimates.answers import ResponsePart
from estimator.estimates.throughput.bench_command import bench_command
from estimator.estimates.throughput.odds import SURE, TargetOdds
from estimator.estimates.throughput.setting import workload_of
from estimator.question.workload import Targets
from estimator.resolvers.facts import Facts
from estimator.resolvers.plan import Plan


class NextMeasurement(ResponsePart):
    """The benchmark that would narrow the decision most: TTFT and TPOT of a plan at its load."""

    command: str | None = Field(
        description="Shell command, a line per flag; $MODEL, $GGUF or $REQUESTS stand for files that are not known. "
        "Null with a reason where the decision is sure already or no client measures this load."
    )
    reason: str | None = Field(description="Why there is no command.")
    chance: float | None = Field(description="Chance of meeting every target now, 0 to 1; null where it is not known.")
    doubt: float | None = Field(description="chance · (1 - chance), at most 0.25; null where it is not known.")
    doubt_after: float | None = Field(
        description="The doubt left on average once TTFT and TPOT are measured: runs repeat within some percent."
    )
    version: str | None = Field(description="Version of the client whose arguments were read; null when none was.")
    source: str | None = Field(description="Where its arguments were read.")
    note: str | None = Field(description="What the command needs beside it.")


def next_measurement(plan: Plan, found: TargetOdds, facts: Facts, unknown: str | None) -> NextMeasurement:
    """The measurement of a plan at its load.

    Args:
        plan: the plan with its workload and targets.
        found: its chances.
        facts: where the model's files are named.
        unknown: why no chance is known, None where one is.
    """
    chance = found.together
    said = {"chance": chance, "doubt": None if chance is None else doubt(chance), "doubt_after": found.doubt_after}
    if chance is None:
        return _none(unknown or _("No chance of meeting the targets is known."), said)
    if is_sure(chance):
        return _none(_("The decision is sure already: no measurement is likely to change it."), said)
    slug = plan.model.slug
    source = None if slug is None else str(facts.row("model", slug).get("source") or "")
    made = bench_command(plan, source, (plan.slo or Targets()).percentile_in(workload_of(plan).mode))
    read = made.arguments
    return NextMeasurement(
        command=made.command,
        reason=made.reason,
        version=None if read is None else read.version,
        source=None if read is None else read.source,
        note=made.note,
        **said,
    )


def is_sure(chance: float) -> bool:
    """Whether so few or so many plans of this chance meet their targets that nothing is left to find out."""
    return chance >= SURE or chance <= 1.0 - SURE


def most_telling(chances: Sequence[float]) -> int | None:
    """Of plans in the order in which they would be taken, the one whose measurement tells most; None where all is sure.

    The plan taken is the first that meets its targets; the doubt is that two draws of it differ.
    """
    left = []
    for place, chance in enumerate(chances):
        met, missed = (_doubt_of_choice(_with(chances, place, value)) for value in (1.0, 0.0))
        left.append(chance * met + (1.0 - chance) * missed)
    best = min(range(len(left)), key=left.__getitem__, default=None)
    return best if best is not None and not is_sure(chances[best]) else None


def _with(chances: Sequence[float], place: int, value: float) -> list[float]:
    return [value if at == place else chance for at, chance in enumerate(chances)]


def _doubt_of_choice(chances: Sequence[float]) -> float:
    left, same = 1.0, 0.0
    for chance in chances:
        same += (left * chance) ** 2
        left *= 1.0 - chance
    return 1.0 - same - left**2


def _none(reason: str, said: dict[str, float | None]) -> NextMeasurement:
    return NextMeasurement(command=None, reason=reason, version=None, source=None, note=None, **said)
