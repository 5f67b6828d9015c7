"""What a comparison shows: rows with their differences and the best of each, and one sentence over all columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from estimator.figures import written
from pages.columns import Answered
from pages.load_words import lengths_words, rate_words, users_words
from pages.question import CURRENCY

SIGNS = {
    "safe": ("good", "✓"), "likely": ("mid", "◐"), "fits": ("good", "✓"), "too_slow": ("bad", "◔"),
    "speed_unknown": ("mid", "?"), "does_not_fit": ("bad", "✕"),
}  # fmt: skip
_BEST_STATES = ("safe", "fits", "likely")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a row says of a column; `worth` is the figure by which the best is found."""

    text: str
    unit: str = ""
    small: str = ""
    tone: str = ""
    differs: bool = False
    best: bool = False
    worth: float | Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the table."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows under one heading."""

    label: str
    rows: tuple[Row, ...]


NOTHING = Cell(text=written.DASH)


def names_of(columns: Sequence[Answered]) -> list[str]:
    """A short name of each column: its machines or seller, and whatever else tells it from another one."""
    told: list[list[str]] = [[_machines(one)] for one in columns]
    for say in (_model, _weights, _cache, _engine, _load):
        words = [say(one) for one in columns]
        if len({word for word, one in zip(words, columns, strict=True) if one.own is not None}) > 1:
            for parts, word, one in zip(told, words, columns, strict=True):
                parts += [word] if one.own is not None and word else []
    return [", ".join(parts) for parts in told]


def parts_of(columns: Sequence[Answered]) -> tuple[Part, ...]:
    """The rows: the question where columns differ, the answer, the cost."""
    question = [_same_or_not(label, [say(one) for one in columns]) for label, say in _question_rows()]
    return (
        Part(label=_("Question"), rows=tuple(row for row, shown in question if shown)),
        Part(label=_("Answer"), rows=tuple(_answer_rows(columns))),
        Part(label=_("Cost"), rows=tuple(_cost_rows(columns))),
    )


def shared_of(columns: Sequence[Answered]) -> str:
    """What all columns of one's own share, in a line."""
    own = [one for one in columns if one.own is not None]
    said = [[say(one) for one in own] for say in (_model, _lengths, _load, _targets)]
    return "; ".join(words[0] for words in said if words and words[0] and len(set(words)) == 1)


def _question_rows() -> tuple[tuple[str, Callable[[Answered], str]], ...]:
    return (
        (_("Where"), _machines), (_("Model"), _model), (_("Weights"), _weights), (_("Cache"), _cache),
        (_("Engine"), _engine), (_("Lengths"), _lengths), (_("Load"), _load), (_("Targets"), _targets),
    )  # fmt: skip


def _same_or_not(label: str, words: list[str]) -> tuple[Row, bool]:
    """A row of the question, and whether it is shown: where columns differ from the first."""
    cells = tuple(Cell(text=word or written.DASH, differs=bool(word) and word != words[0]) for word in words)
    return Row(label=label, cells=cells), any(cell.differs for cell in cells)


def _machines(one: Answered) -> str:
    if one.own is not None:
        inputs = one.own.inputs
        return f"{inputs.parallelism.gpus} × {inputs.gpu.name.partition(' (')[0]}"
    return _("%(seller)s API") % {"seller": one.seller} if one.api is not None else one.column.price or "?"


def _model(one: Answered) -> str:
    return one.own.inputs.model.name if one.own is not None else one.model


def _weights(one: Answered) -> str:
    return one.own.inputs.precision.weights.upper() if one.own is not None else ""


def _cache(one: Answered) -> str:
    return one.own.inputs.precision.kv_cache.upper() if one.own is not None else ""


def _engine(one: Answered) -> str:
    return one.own.inputs.engine.slug if one.own is not None else ""


def _lengths(one: Answered) -> str:
    workload = one.own.inputs.workload if one.own is not None else None
    if workload is None:
        return ""
    return lengths_words(workload.input_tokens or 0, workload.output_tokens or 0)


def _load(one: Answered) -> str:
    workload = one.own.inputs.workload if one.own is not None else None
    if workload is None:
        return ""
    if workload.requests_per_s is not None:
        return rate_words(workload.requests_per_s)
    return users_words(int(workload.concurrency or 1))


def _targets(one: Answered) -> str:
    slo = one.own.inputs.slo if one.own is not None else None
    if slo is None:
        return ""
    said = [(_("first token within %(s)s"), slo.ttft_s), (_("each further token within %(s)s"), slo.tpot_s)]
    return ", ".join(text % {"s": written.seconds(value)} for text, value in said if value is not None)


def _fits(one: Answered) -> bool:
    return one.own is not None and one.own.memory.feasible


def _answer_rows(columns: Sequence[Answered]) -> list[Row]:
    rates = any(one.own is not None and one.own.max_requests_per_s_within_slo is not None for one in columns)
    rows = [_best(Row(label=_("Verdict"), cells=tuple(_state(one) for one in columns)), least=True)]
    label = _("Requests/s, safe–likely") if rates else _("Users, safe–likely")
    rows.append(_best(Row(label=label, cells=tuple(_within(one) for one in columns)), least=False))
    for name, field, least in (
        (_("First token"), "ttft_s", True), (_("Each further token"), "tpot_s", True),
        (_("Tokens/s, all users"), "tokens_per_s_total", False),
    ):  # fmt: skip
        write = written.two_digits if field == "tokens_per_s_total" else written.seconds
        cells = tuple(_band(one, field, write) for one in columns)
        rows.append(_best(Row(label=name, cells=cells), least=least))
    rows.append(Row(label=_("Memory free per GPU"), cells=tuple(_free(one) for one in columns)))
    return rows


def _state(one: Answered) -> Cell:
    if one.own is None:
        return Cell(text=_("not known"), tone="soft") if one.api is not None else NOTHING
    state = one.own.verdict.state
    tone, sign = SIGNS[state]
    worth = list(SIGNS).index(state) if state in _BEST_STATES else None
    return Cell(text=f"{sign} {state.replace('_', ' ')}", tone=tone, worth=worth)


def _within(one: Answered) -> Cell:
    if one.own is None:
        return Cell(text=_("within its rate limits"), tone="plain") if one.api is not None else NOTHING
    users, rates = one.own.max_concurrency_within_slo, one.own.max_requests_per_s_within_slo
    found, write = (rates, written.two_digits) if rates is not None else (users, written.count)
    if found is None or not _fits(one):
        return NOTHING
    low, mid = write(found.low), write(found.mid)
    return Cell(text=mid if low == mid else f"{low}–{mid}", worth=found.mid)


def _band(one: Answered, field: str, write: Callable[[float | None], str]) -> Cell:
    if one.own is None:
        return Cell(text=_("not measured"), tone="plain") if one.api is not None else NOTHING
    band: Any = getattr(one.own.speed, field)
    if band is None or not _fits(one):
        return NOTHING
    text, _space, unit = write(band.mid).partition(" ")
    low, high = write(band.low), write(band.high)
    return Cell(text=text, unit=unit, small="" if low == high else f"{low} – {high}", worth=band.mid)


def _free(one: Answered) -> Cell:
    if one.own is None:
        return NOTHING
    slack = one.own.memory.per_gpu.slack_bytes
    lacking = _("%(gib)s too little") % {"gib": written.gib(-slack)}
    return Cell(text=written.gib(slack) if slack >= 0 else lacking)


def _cost_rows(columns: Sequence[Answered]) -> list[Row]:
    blended = Row(label=_("USD per million, blended"), cells=tuple(_blended(one) for one in columns))
    request = Row(label=_("USD per request"), cells=tuple(_request(one) for one in columns))
    return [
        _best(blended, least=True),
        Row(label=_("USD per million output"), cells=tuple(_output(one) for one in columns)),
        _best(request, least=True),
        Row(label=_("USD per month"), cells=tuple(_month(one) for one in columns)),
        Row(label=_("Price and its age"), cells=tuple(_price(one) for one in columns)),
    ]


def _money(amount: Decimal | None, currency: str, small: str = "") -> Cell:
    """An amount; one in another currency is shown with its code and is no match for the others."""
    if amount is None:
        return NOTHING
    if currency != CURRENCY:
        return Cell(text=written.money(amount), unit=currency, small=small)
    return Cell(text=written.money(amount), small=small, worth=amount)


def _blended(one: Answered) -> Cell:
    bill = _bill(one)
    return NOTHING if bill is None else _money(bill.cost_per_mtok_blended, bill.currency)


def _output(one: Answered) -> Cell:
    bill = _bill(one)
    if bill is None:
        return NOTHING
    if one.api is not None:
        prices = {line.meter: line for line in one.api.lines}
        line, prompt = prices.get("output"), prices.get("input")
        text = _("and %(price)s for a million of input")
        small = text % {"price": written.money(prompt.unit_price)} if prompt else ""
        return NOTHING if line is None else _money(line.unit_price, bill.currency, small)
    low, high = bill.cost_per_mtok_output_low, bill.cost_per_mtok_output_high
    ends = "" if low is None else f"{written.money(low)}–{written.money(high)}; "
    return _money(bill.cost_per_mtok_output, bill.currency, ends + _("answers carry the whole cost"))


def _request(one: Answered) -> Cell:
    bill = _bill(one)
    if bill is None:
        return NOTHING
    return _money(bill.total if one.api is not None else bill.cost_per_request, bill.currency)


def _month(one: Answered) -> Cell:
    if one.api is not None:
        return Cell(text=_("by use"), tone="plain")
    bill = one.own.cost if one.own is not None else None
    return NOTHING if bill is None else _money(bill.cost_per_month, bill.currency, _("always on"))


def _price(one: Answered) -> Cell:
    if one.api is not None:
        seen = _("seen %(day)s") % {"day": written.day(one.seen)} if one.seen else _("undated")
        return Cell(text=_("list price"), small=seen)
    bill = one.own.cost if one.own is not None else None
    if bill is None:
        return NOTHING
    text = _("%(price)s per GPU hour") % {"price": written.money(bill.price_per_gpu_hour)}
    if one.price is None:
        return Cell(text=text, small=_("the price you gave"))
    seen = _("seen %(day)s") % {"day": written.day(one.price["date"])} if one.price["date"] else _("undated")
    return Cell(text=text, small=f"{one.price['seller']}, {seen}")


def _bill(one: Answered) -> Any:
    if one.api is not None:
        return one.api
    return one.own.cost if one.own is not None and _fits(one) else None


def _best(row: Row, *, least: bool) -> Row:
    """The row with its best cells marked, where they are not all as good."""
    worths = [cell.worth for cell in row.cells if cell.worth is not None]
    if len(worths) < 2 or len(set(worths)) == 1:
        return row
    best = min(worths) if least else max(worths)
    return replace(row, cells=tuple(replace(cell, best=cell.worth == best) for cell in row.cells))


def sentence_of(columns: Sequence[Answered], names: Sequence[str]) -> str:
    """Who meets the targets, and who is cheapest: the subject first."""
    held, words = _who_meets(columns, names)
    return " ".join(filter(None, (words, _who_is_cheapest(columns, names, told=held))))


def _who_meets(columns: Sequence[Answered], names: Sequence[str]) -> tuple[list[str], str]:
    """The columns with the best verdict, and the sentence on them."""
    own = [(name, one.own.verdict.state) for one, name in zip(columns, names, strict=True) if one.own is not None]
    said = (
        ("safe", _("%(names)s keeps the targets safely."), _("%(names)s keep the targets safely.")),
        ("fits", _("%(names)s fits."), _("%(names)s fit.")),
        ("likely", _("%(names)s likely keeps the targets, not safely."),
         _("%(names)s likely keep the targets, not safely.")),
        ("too_slow", _("%(names)s fits, but is too slow."), _("%(names)s fit, but are too slow.")),
        ("speed_unknown", _("%(names)s fits; no measurement tells how fast."),
         _("%(names)s fit; no measurement tells how fast.")),
        ("does_not_fit", _("%(names)s does not fit."), _("%(names)s do not fit.")),
    )  # fmt: skip
    for state, one, many in said:
        held = [name for name, found in own if found == state]
        if held:
            return held, (one if len(held) == 1 else many) % {"names": _listed(held)}
    return [], ""


def _who_is_cheapest(columns: Sequence[Answered], names: Sequence[str], *, told: list[str]) -> str:
    cells = [(_blended(one), name) for one, name in zip(columns, names, strict=True)]
    priced = sorted(((cell.worth, name) for cell, name in cells if cell.worth is not None), key=lambda one: one[0])
    if len(priced) < 2 or priced[0][0] == priced[1][0]:
        return ""
    text = _("%(name)s costs least: %(least)s USD per million tokens, against %(next)s of %(other)s.")
    (least, name), (after, other) = priced[0], priced[1]
    if told == [name]:
        text = _("It costs least too: %(least)s USD per million tokens, against %(next)s of %(other)s.")
    return text % {"name": name, "least": written.money(least), "next": written.money(after), "other": other}


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return _("%(first)s and %(last)s") % {"first": ", ".join(names[:-1]), "last": names[-1]}
