"""The decision as templates show it: sentences, one line per GPU with figures in words, and bands to draw."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from estimator.figures import written
from reports.artifacts.words import split_words
from reports.decision.parts import (
    CostBand,
    Decision,
    DecisionApi,
    DecisionGroup,
    DecisionLine,
    LinePrice,
    LineSetting,
    LoadWithin,
)
from reports.decision.sentences import percent

OLD_AFTER_DAYS = 30
COLOURS = 8
# Cards at the top; the table below them has every pair of model and workload.
MOST_CARDS = 6
# The band's drawing ends where the winner's dear end stands four times.
_SPAN = Decimal(4)
# From here on "times as much" says more than percent.
_DOUBLE = 1.95
_PARTS = ("engine_name", "precision", "parallelism")


def decided(found: Decision, colours: Mapping[str, int], ordered: date) -> dict[str, Any]:
    """Everything of a decision that a page or file shows.

    Args:
        found: the decision.
        colours: number of the colour of each GPU.
        ordered: day of the order, against which prices are old.
    """
    lines = [line for group in found.groups for line in group.lines]
    settings = [line.setting for line in lines if line.setting is not None]
    same = [name for name in _PARTS if len({getattr(one, name) for one in settings}) == 1]
    groups = [_group(group, colours, ordered, same) for group in found.groups]
    return {
        "groups": groups,
        "cards": groups[:MOST_CARDS],
        "more_cards": max(0, len(groups) - MOST_CARDS),
        "left_out": found.groups_in_all - len(found.groups),
        "with_targets": found.with_targets,
        "by_chance": any(line.load_within and line.load_within.by == "chance" for line in lines),
        "hours_per_month": found.hours_per_month,
        "same": [_part(name, getattr(settings[0], name)) for name in same] if settings else [],
        "settings": found.settings,
        "within": found.settings_within_targets,
    }


def group_title(group: DecisionGroup, several_models: bool) -> str:
    """What a group is called: its workload, and its model where there are several."""
    return f"{group.model_name} · {group.workload_name}" if several_models else group.workload_name


def _group(group: DecisionGroup, colours: Mapping[str, int], ordered: date, same: Sequence[str]) -> dict[str, Any]:
    first = next((line for line in group.lines if line.place == 1), None)
    end = first.cost_per_mtok_output.high if first is not None and first.cost_per_mtok_output is not None else None
    span = None if not end else end * _SPAN / 2
    lines = [_line(line, colours, ordered, same, span) for line in group.lines]
    return {
        "model": group.model_name,
        "workload": group.workload_name,
        "sentence": group.sentence,
        "certainty": group.certainty,
        "overlap": group.winner.bands_overlap if group.winner is not None else None,
        "changes": group.changes,
        "old": _old_prices(group.lines[:2], ordered),
        "measure": _measure(group),
        "currency": group.currency,
        "lines": lines,
        "apis": [_api(one) for one in group.apis],
        "apis_more": max(0, (group.api_sellers or 0) - len(group.apis)),
        "apis_reason": group.apis_reason,
    }


def _measure(group: DecisionGroup) -> dict[str, Any] | None:
    """The benchmark that would tell most, in a sentence, with its command."""
    found = group.next_measurement
    if found is None or found.command is None or found.chance is None:
        return None
    words = {"gpu": found.gpu_name, "chance": percent(found.chance)}
    said = _("A benchmark of %(gpu)s would tell most: it meets the targets with a chance of %(chance)s.") % words
    return {"said": said, "command": found.command, "note": found.note}


def _line(
    line: DecisionLine, colours: Mapping[str, int], ordered: date, same: Sequence[str], span: Decimal | None
) -> dict[str, Any]:
    setting, total = line.setting, line.tokens_per_s_total
    shown: dict[str, Any] = {
        "gpu": line.gpu_name if setting is None else f"{setting.gpus} × {line.gpu_name}",
        "colour": colours.get(line.gpu, 0) % COLOURS,
        "wins": line.place == 1,
        "reason": line.reason,
        "price": _price(line.price, ordered),
        "price_reason": line.price_reason,
    }
    if setting is None:
        return shown
    parts = [_part(name, getattr(setting, name)) for name in _PARTS if name not in same]
    return shown | {
        "setting": " · ".join(parts),
        "row": setting.row_index,
        "load": _load(line.load_within, setting),
        "tokens": "–" if total is None else rate_words(total.mid),
        "output": None if line.cost_per_mtok_output is None else written.money(line.cost_per_mtok_output.mid),
        "band": _band(line.cost_per_mtok_output, span),
        "blended": None if line.cost_per_mtok_blended is None else written.money(line.cost_per_mtok_blended.mid),
        "month": written.money(line.cost_per_month),
        "against": _against(line.place, line.cost_over_winner),
        "basis": line.basis,
    }


def _part(name: str, value: str) -> str:
    return split_words(value) if name == "parallelism" else value.upper() if name == "precision" else value


def rate_words(value: float | None) -> str:
    """Tokens per second: whole from a hundred, two digits below."""
    return written.DASH if value is None else written.count(value) if value >= 100 else written.two_digits(value)


def _load(load: LoadWithin | None, setting: LineSetting) -> str:
    """Safe to likely loads: 64–96; arrivals with their unit. Where none is likely, the load of the setting says so."""
    if load is None:
        return written.DASH
    users = load.unit == "users"
    words = [written.count(one) if users else f"{one:g}" for one in (load.safe, load.likely) if one]
    own = setting.batch_size if users else setting.offered_requests_per_s
    alone = not words and own is not None and (load.by == "chance" or not users)
    told = f"{own:g}" if alone else "–".join(dict.fromkeys(words)) or written.DASH
    told = told if users else _("%(rate)s req/s") % {"rate": told}
    return _("%(load)s, not likely") % {"load": told} if alone and load.by == "chance" else told


def _against(place: int | None, over: float | None) -> str:
    if place == 1:
        return _("cheapest") if over is not None else _("fastest")
    if over is None:
        return ""
    return f"× {written.two_digits(over)}" if over >= _DOUBLE else f"+{percent(over - 1)}"


def _band(cost: CostBand | None, span: Decimal | None) -> dict[str, Any] | None:
    """Places of a band in percent of its drawing; `beyond` where it does not end in it."""
    if cost is None or not span or cost.low is None or cost.mid is None or cost.high is None:
        return None
    low, mid, high = (float(min(one / span, Decimal(1)) * 100) for one in (cost.low, cost.mid, cost.high))
    label = _("band from %(low)s to %(high)s") % {"low": written.money(cost.low), "high": written.money(cost.high)}
    return {
        "x": f"{low:.1f}", "width": f"{max(high - low, 0.5):.1f}", "mid": f"{mid:.1f}", "label": label,
        "off": cost.mid > span, "words": f"{written.money(cost.low)}–{written.money(cost.high)}",
    }  # fmt: skip


def _price(price: LinePrice | None, ordered: date) -> dict[str, Any] | None:
    if price is None:
        return None
    days = None if price.date is None else (ordered - date.fromisoformat(price.date)).days
    who = price.seller or (_("given") if price.url is None else _("offer"))
    return {
        "amount": f"{price.per_gpu_hour.normalize():f}", "currency": price.currency, "who": who, "url": price.url,
        "source": price.source, "day": None if price.date is None else written.day(price.date), "days": days,
        "old": days is not None and days > OLD_AFTER_DAYS,
    }  # fmt: skip


def _old_prices(lines: Sequence[DecisionLine], ordered: date) -> str | None:
    """Which of the first two prices were old on the day of the order."""
    told = []
    for line in lines:
        price = _price(line.price, ordered)
        if price is not None and price["old"]:
            words = {"gpu": line.gpu_name, "days": price["days"], "who": price["who"]}
            told.append(_("%(gpu)s %(days)s days (%(who)s)") % words)
    return _("Prices are old: %(prices)s.") % {"prices": ", ".join(told)} if told else None


def _api(api: DecisionApi) -> dict[str, Any]:
    over = api.cost_over_winner
    return {
        "name": api.provider.replace("_", " "),
        "model": api.model,
        "output": written.money(api.cost_per_mtok_output),
        "blended": written.money(api.cost_per_mtok_blended),
        "list": _("in %(input)s, out %(output)s") % {
            "input": written.money(api.input_per_mtok), "output": written.money(api.output_per_mtok),
        },
        "day": None if api.date is None else written.day(api.date),
        "url": api.url,
        "against": "" if over is None else f"× {written.two_digits(over)}" if over >= _DOUBLE
        else f"{'+' if over >= 1 else '−'}{percent(abs(over - 1))}",
    }  # fmt: skip
