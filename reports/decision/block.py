"""The decision of a version from its rows, inputs and snapshot: computed once, with the findings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.cost.money import from_physics, round_physics
from estimator.engine.cost.self_hosted import HOURS_PER_MONTH, TOKENS_PER_MTOK
from estimator.question.sweep import Sweep, stored_targets
from estimator.resolvers.gpu_prices import OFFERS_CURRENCY
from reports.decision.best import GpuRows, gpus_of, targets_of
from reports.decision.lines import Question, line_of, standing_of
from reports.decision.measuring import Measuring, measuring
from reports.decision.parts import Decision, DecisionApi, DecisionGroup, DecisionLine, DecisionWinner
from reports.decision.sentences import certainty_of, changes_of, sentence_of
from reports.decision.winner import Outcome, Standing, outcome, over, wins_below
from reports.names import Names
from reports.storage import RowFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """A group on its way: its lines by GPU, their standings and their order."""

    rows: Sequence[GpuRows]
    lines: Mapping[str, DecisionLine]
    standings: Mapping[str, Standing]
    found: Outcome | None


def decide(
    rows: RowFiles, inputs: Mapping[str, Any], snapshot: Mapping[str, Any], summary: Mapping[str, Any]
) -> Decision:
    """The decision of a version.

    Args:
        rows: its rows.
        inputs: sweep, targets and pricing as they were asked.
        snapshot: catalog rows, prices and bills of APIs at the order; of older releases without the bills.
        summary: the counts of the version.
    """
    slo, sweep = stored_targets(inputs.get("slo")), Sweep.stored(inputs["sweep"])
    measure = measuring(sweep, snapshot, slo)
    names = Names(snapshot, sweep)
    modes = {workload.label: workload.mode for workload in sweep.workloads}
    asked = Question(
        slo=slo, prices=snapshot.get("prices", {}), modes=modes, names=names, refined=sweep.refine,
        currency=(inputs.get("pricing") or {}).get("currency") or OFFERS_CURRENCY,
    )  # fmt: skip
    found, groups_in_all = gpus_of(rows, slo)
    with_targets = bool(targets_of(slo))
    groups = [_group(each, asked, snapshot, measure, with_targets=with_targets) for each in _by_group(found)]
    return Decision(
        groups=groups,
        groups_in_all=groups_in_all,
        with_targets=with_targets,
        refined=sweep.refine and with_targets,
        settings=int(summary.get("rows") or 0),
        settings_within_targets=summary.get("meets_slo_rows") if with_targets else None,
        hours_per_month=HOURS_PER_MONTH,
    )


def _by_group(found: Sequence[GpuRows]) -> Iterator[list[GpuRows]]:
    groups: dict[tuple[str, str], list[GpuRows]] = {}
    for one in found:
        groups.setdefault((one.model, one.workload), []).append(one)
    yield from groups.values()


def _group(
    rows: Sequence[GpuRows], asked: Question, snapshot: Mapping[str, Any], measure: Measuring, *, with_targets: bool
) -> DecisionGroup:
    lines = {one.gpu: line_of(one, asked) for one in rows}
    standings = {gpu: one for gpu, line in lines.items() if (one := standing_of(line)) is not None}
    group = _Group(rows=rows, lines=lines, standings=standings, found=outcome(list(standings.values())))
    ordered = _ordered(group)
    example = rows[0].example
    first = None if group.found is None else lines[group.found.first.gpu]
    apis, sellers, why = _apis(rows[0], first, snapshot)
    currency = next((line.price.currency for line in ordered if line.price is not None), None)
    mode = asked.modes.get(rows[0].workload)
    return DecisionGroup(
        model=rows[0].model,
        model_name=asked.names.model(rows[0].model),
        workload=rows[0].workload,
        workload_name=asked.names.workload(rows[0].workload),
        mode=None if mode is None else str(mode),
        input_tokens=example["input_tokens"],
        output_tokens=example["output_tokens"],
        currency=currency,
        sentence=sentence_of(ordered, group.found, with_targets=with_targets),
        certainty=certainty_of(group.found),
        changes=list(changes_of(ordered, group.found, apis, currency, refined=asked.refined)),
        winner=_winner(group.found),
        lines=ordered,
        apis=apis,
        api_sellers=sellers,
        apis_reason=why,
        next_measurement=measure(rows, asked.names),
    )


def _ordered(group: _Group) -> list[DecisionLine]:
    """The lines in the order of the GPUs, those without a place behind in the order of the sweep."""
    found = group.found
    order = [] if found is None else [one.gpu for one in found.order]
    placed = [_placed(group, found, gpu, place) for place, gpu in enumerate(order, start=1) if found is not None]
    rest = [line for gpu, line in group.lines.items() if gpu not in order]
    return [*placed, *sorted(rest, key=lambda line: line.setting is None)]


def _placed(group: _Group, found: Outcome, gpu: str, place: int) -> DecisionLine:
    one, first = group.standings[gpu], found.first
    told: dict[str, Any] = {"place": place}
    if found.by == "cost":
        margin = over(one, first)
        told["cost_over_winner"] = None if margin is None else 1 + margin
        told["wins_below_per_gpu_hour"] = None if one is first else wins_below(one, first)
    return group.lines[gpu].model_copy(update=told)


def _winner(found: Outcome | None) -> DecisionWinner | None:
    if found is None:
        return None
    return DecisionWinner(
        gpu=found.first.gpu,
        by=found.by,
        runner_up=None if found.second is None else found.second.gpu,
        margin=found.margin,
        bands_overlap=found.bands_overlap,
        runner_up_wins_below=found.runner_up_wins_below,
        winner_loses_above=found.winner_loses_above,
    )


def _apis(
    one: GpuRows, first: DecisionLine | None, snapshot: Mapping[str, Any]
) -> tuple[list[DecisionApi], int | None, str | None]:
    """The lines of APIs, how many sellers' bills are known, and why there is none."""
    if "api_bills" not in snapshot:
        return [], None, _("The version was ordered by a release that kept no prices of APIs.")
    for entry in snapshot["api_bills"]:
        if (entry["model"], entry["workload"]) == (one.model, one.workload):
            lengths = one.example["input_tokens"], one.example["output_tokens"]
            apis = [_api(bill, lengths, first) for bill in entry["bills"]]
            why = None if apis else _("No seller of this model by API is known.")
            return apis, entry["sellers"], why
    return [], 0, _("No seller of this model by API is known.")


def _api(bill: Mapping[str, Any], lengths: tuple[float, float], first: DecisionLine | None) -> DecisionApi:
    total, (prompt, answer) = Decimal(bill["cost_per_request"]), lengths
    blended = _per_mtok(total, prompt + answer)
    own = _own(first, bill["currency"])
    over_winner = load = None
    if own and blended is not None:
        over_winner = float(blended / own)
        load = float(own / blended) if blended > own else None
    return DecisionApi(
        **{name: bill[name] for name in ("price", "provider", "model", "currency", "date", "url")},
        cost_per_request=total,
        cost_per_mtok_output=_per_mtok(total, answer),
        cost_per_mtok_blended=blended,
        input_per_mtok=bill["input_per_mtok"],
        output_per_mtok=bill["output_per_mtok"],
        cost_over_winner=over_winner,
        winner_cheaper_above_load=load,
    )


def _own(first: DecisionLine | None, currency: str) -> Decimal | None:
    """The winner's blended cost in a currency; None where it has none in it."""
    if first is None or first.price is None or first.cost_per_mtok_blended is None:
        return None
    return first.cost_per_mtok_blended.mid if first.price.currency == currency else None


def _per_mtok(total: Decimal, tokens: float) -> Decimal | None:
    return round_physics(total / from_physics(tokens) * TOKENS_PER_MTOK) if tokens else None
