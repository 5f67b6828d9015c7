"""The line of one GPU: its best setting with figures and money, or why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.cost.self_hosted import Yield
from estimator.engine.specs import WorkloadMode
from estimator.estimates.cost.self_hosted import Machines, SelfHostedCost, self_hosted_cost
from estimator.figures import written
from estimator.question.workload import Targets
from reports.decision.best import GpuRows, targets_of
from reports.decision.parts import CostBand, DecisionLine, FigureBand, LinePrice, LineSetting, LoadWithin
from reports.decision.winner import Standing
from reports.names import Names

_SIDES = ("low", "mid", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a version was asked, as lines need it: targets, price by GPU and its currency, mode by workload, names."""

    slo: Targets | None
    prices: Mapping[str, Mapping[str, Any]]
    modes: Mapping[str, WorkloadMode]
    names: Names
    currency: str
    refined: bool = False


def line_of(found: GpuRows, asked: Question) -> DecisionLine:
    """The line of a GPU; its place and what it costs against the winner follow from all lines of the group."""
    row = found.best
    price = price_of(asked.prices.get(found.gpu))
    shown: dict[str, Any] = dict.fromkeys(DecisionLine.model_fields)
    shown |= {"gpu": found.gpu, "gpu_name": asked.names.gpu(found.gpu), "price": price}
    if price is None:
        shown["price_reason"] = _("No seller on demand in %(currency)s is known.") % {"currency": asked.currency}
    shown["load_within"] = _load_within(found, asked.slo)
    if row is None:
        state, reason = _why_none(found, asked.slo)
        return DecisionLine(**shown | {"state": state, "reason": reason})
    shown |= {
        "state": "within_targets" if targets_of(asked.slo) else "no_targets",
        "setting": _setting(row, asked.names),
        "basis": row["basis"],
        **{name: _band(row, name) for name in _FIGURES},
        "cost_per_mtok_output": _costs(row),
    }
    bill = bill_of(row, price, asked.modes.get(found.workload))
    if bill is not None:
        shown["cost_per_month"] = bill.cost_per_month
        shown["cost_per_mtok_blended"] = _blended(row, bill)
    return DecisionLine(**shown)


_FIGURES = ("tokens_per_s_total", "tokens_per_s_per_user", "ttft_s", "tpot_s", "e2e_s")


def standing_of(line: DecisionLine) -> Standing | None:
    """What the order of the GPUs takes of a line; None where it has no setting."""
    rate = None if line.tokens_per_s_total is None else line.tokens_per_s_total.mid
    if line.setting is None or not rate:
        return None
    cost = line.cost_per_mtok_output
    return Standing(
        gpu=line.gpu,
        tokens_per_s_per_gpu=rate / line.setting.gpus,
        cost=cost.mid if cost is not None else None,
        cost_low=cost.low if cost is not None else None,
        cost_high=cost.high if cost is not None else None,
        price=line.price.per_gpu_hour if line.price is not None else None,
        currency=line.price.currency if line.price is not None else None,
    )


def price_of(price: Mapping[str, Any] | None) -> LinePrice | None:
    """A price of the snapshot; older releases kept neither its day nor its seller."""
    if price is None:
        return None
    offer = price.get("offer")
    return LinePrice(
        per_gpu_hour=Decimal(price["price_per_gpu_hour"]),
        currency=price["currency"],
        source=price.get("source") or "",
        seller=price.get("seller"),
        date=price.get("date"),
        url=f"/api/v1/gpu-offers/{offer}/" if offer else None,
    )


def bill_of(row: Mapping[str, Any], price: LinePrice | None, mode: WorkloadMode | None) -> SelfHostedCost | None:
    """The bill of a row's GPUs by the formulas of the cost estimate; None without a price or a speed."""
    rate = row["tokens_per_s_total_mid"]
    if price is None or not rate or row["price_per_hour"] is None:
        return None
    # A decode step reads no prompt: there is no request whose tokens could be counted together.
    lengths = mode is not WorkloadMode.DECODE_STEP
    made = Yield(
        tokens_per_s_output=rate,
        output_tokens_per_request=row["output_tokens"] if lengths else None,
        input_tokens_per_request=row["input_tokens"] if lengths else None,
    )
    machines = Machines(price_per_gpu_hour=price.per_gpu_hour, currency=price.currency, gpus=int(row["gpus"]))
    return self_hosted_cost(machines, made)


def _blended(row: Mapping[str, Any], bill: SelfHostedCost) -> CostBand | None:
    """The blended cost at each end of the speed's band: the cheap end is the fast one."""
    if bill.cost_per_mtok_blended is None or bill.made is None:
        return None
    ends: dict[str, Decimal | None] = {"mid": bill.cost_per_mtok_blended}
    for side, speed in (("low", "high"), ("high", "low")):
        rate = row[f"tokens_per_s_total_{speed}"]
        made = replace(bill.made, tokens_per_s_output=rate) if rate else None
        ends[side] = None if made is None else self_hosted_cost(bill.machines, made).cost_per_mtok_blended
    return CostBand(**ends)


def _setting(row: Mapping[str, Any], names: Names) -> LineSetting:
    return LineSetting(
        row_index=row["row_index"],
        gpus=int(row["gpus"]),
        engine=row["engine"],
        engine_name=names.engine(row["engine"]),
        precision=row["precision"],
        parallelism=row["parallelism"],
        batch_size=row["batch_size"],
        offered_requests_per_s=row["offered_requests_per_s"],
        refined=row["refined"],
    )


def _load_within(found: GpuRows, slo: Targets | None) -> LoadWithin | None:
    loads = found.loads
    if not loads or loads["own"] is None:
        return None
    safe, likely = loads["safe"], loads["likely"]
    if loads["opened"] and not loads["chances"] and slo is not None:
        # The row's own verdict is of the side that was asked for.
        safe, likely = (None, likely) if slo.band_side == "mid" else (safe, None)
    unit = "requests/s" if loads["opened"] else "users"
    asked = slo is not None and targets_of(slo)
    return LoadWithin(
        unit=unit,
        safe=safe,
        likely=likely,
        by=("chance" if loads["chances"] else "band") if asked else None,
        meets=loads["meets"],
        next_load=loads["next_load"],
    )


def _band(row: Mapping[str, Any], name: str) -> FigureBand | None:
    sides = {side: row[f"{name}_{side}"] for side in _SIDES}
    return None if all(value is None for value in sides.values()) else FigureBand(**sides)


def _costs(row: Mapping[str, Any]) -> CostBand | None:
    sides = {side: row[f"cost_per_mtok_output_{side}"] for side in _SIDES}
    if sides["mid"] is None:
        return None
    return CostBand(**{side: None if value is None else Decimal(value) for side, value in sides.items()})


def _why_none(found: GpuRows, slo: Targets | None) -> tuple[str, str]:
    """State and reason of a GPU without a setting in question."""
    counts, example = found.counts, found.example
    if not counts["ok"]:
        if counts["does_not_fit"]:
            return "does_not_fit", _does_not_fit(example)
        return "unsupported", example["reason"] or _("No setting can be computed.")
    if not counts["lasting"]:
        return "queue_grows", _("Requests arrive faster than any setting serves them.")
    if found.nearest is None or counts["missed"] < counts["lasting"]:
        return "not_known", _("Whether a setting meets the targets is not known: a figure that they need is missing.")
    return "misses_targets", " ".join(filter(None, (_missed(found.nearest, slo), _likely(found, slo))))


def _does_not_fit(row: Mapping[str, Any]) -> str:
    """The needs of the smallest try, in words."""
    held = [row[name] for name in ("memory_bytes", "slack_bytes", "gpus")]
    if None in held or row["slack_bytes"] >= 0:
        return row["reason"] or _("No setting fits into memory.")
    return _("No setting fits: at %(gpus)s GPUs one still lacks %(lacks)s of %(has)s.") % {
        "gpus": row["gpus"],
        "lacks": written.gib(-row["slack_bytes"]),
        "has": written.gib(row["memory_bytes"]),
    }


def _likely(found: GpuRows, slo: Targets | None) -> str:
    """Up to which load the targets are likely held, where the slow end of the band misses them at every load."""
    likely = found.loads.get("likely")
    if not likely or found.loads["opened"] or (slo is not None and slo.band_side == "mid"):
        return ""
    return _("Likely up to %(n)s users.") % {"n": written.count(likely)}


def _missed(row: Mapping[str, Any], slo: Targets | None) -> str:
    """Which target the nearest setting misses most, by what."""
    names = {"ttft_s": _("First token"), "tpot_s": _("Each further token"), "e2e_s": _("Whole answer")}
    side = "mid" if slo is not None and slo.band_side == "mid" else "high"
    end = _("in the middle") if side == "mid" else _("at the slow end")
    misses = [
        (row[f"{name}_{side}"] / target, name, target)
        for name, target in targets_of(slo).items()
        if row[f"{name}_{side}"] is not None
    ]
    worst = max(misses, default=(0.0, "", 0.0))
    if worst[0] <= 1:
        return _("No setting meets all targets.")
    return _("No setting meets the targets. %(what)s: at best %(best)s %(end)s, asked %(asked)s.") % {
        "what": names[worst[1]],
        "best": written.seconds(row[f"{worst[1]}_{side}"]),
        "end": end,
        "asked": written.seconds(worst[2]),
    }
