"""The comparison: up to four columns of the same question, answered by the services that the API calls."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from estimator.resolvers.facts import Facts
from estimator.resolvers.live import current_facts
from pages.access import for_readers
from pages.asking import ask
from pages.choices import CACHES, WEIGHTS, choices
from pages.columns import MOST, Answered, address_of, answer, api_query, columns_of, families
from pages.comparison import names_of, parts_of, sentence_of, shared_of
from pages.drawing.curve import speed_figures
from pages.drawing.lines import Drawn, lines
from pages.question import FIRST, Question, changed_query, labels

# What is compared where the address names nothing: the first question of the calculator on other GPUs.
_EXAMPLE = ("h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb")
_CHANGED = ("model", "gpu", "gpus", "weights", "kv", "engine", "n")


@require_safe
@for_readers
def compare(request: HttpRequest) -> HttpResponse:
    """The page of a comparison; a form that adds a column leads to the address that holds it."""
    facts = current_facts()
    columns = columns_of(request.GET.getlist("q"))
    if added := _added(request, columns[0].question if columns else None):
        return HttpResponseRedirect(address_of([*(column.query for column in columns), added][:MOST]))
    if not columns:
        columns = columns_of([Question(FIRST).changed(gpu=gpu).query for gpu in _EXAMPLE])
    return render(request, "pages/compare.html", _context(request, answer(columns, facts), facts))


def _added(request: HttpRequest, first: Question | None) -> str:
    """The part of the address for the column that the form asks for; empty where it asks for none."""
    if price := request.GET.get("api", "").strip():
        return api_query(price)
    changed = {name: value for name in _CHANGED if (value := request.GET.get(name, "").strip())}
    return (first or Question(FIRST)).changed(**changed).query if changed else ""


def _context(request: HttpRequest, columns: list[Answered], facts: Facts) -> dict[str, Any]:
    queries, names = [one.column.query for one in columns], names_of(columns)
    own = next((one for one in columns if one.own is not None), None)
    address = address_of(queries)
    return {
        "here": "compare",
        "said": sentence_of(columns, names),
        "asked": shared_of(columns),
        "heads": [_head(place, columns, names, queries) for place in range(len(columns))],
        "parts": parts_of(columns),
        "span": len(columns) + 1,
        "curves": _curves(columns, names),
        "queries": queries,
        "address": address,
        "link": request.build_absolute_uri(address),
        "room": len(columns) < MOST,
        "lists": choices(facts),
        "weights": WEIGHTS,
        "caches": CACHES,
        "nearby": _nearby(own, queries, facts) if own is not None and len(columns) < MOST else [],
        "sellers": _sellers(own, facts),
        "notes": list(dict.fromkeys(text for one in columns for text in _notes(one))),
    }


def _notes(one: Answered) -> tuple[str, ...]:
    return (*(one.own.warnings if one.own is not None else ()), *one.notes)


def _head(place: int, columns: list[Answered], names: list[str], queries: list[str]) -> dict[str, Any]:
    one = columns[place]
    known = labels()
    return {
        "name": names[place],
        "kind": f"c{place}",
        "change": "" if one.column.question is None else one.column.query,
        "prices": one.api is not None and one.api.price,
        "remove": address_of([*queries[:place], *queries[place + 1 :]]) if len(queries) > 1 else "",
        "faults": [(known.get(fault.name, ""), fault.text) for fault in one.faults],
    }


def _curves(columns: list[Answered], names: list[str]) -> list[Any]:
    """A drawing for each figure of the speed; targets and load are drawn where all columns have the same."""
    own = [one.own for one in columns if one.own is not None]
    if not own:
        return []
    slos = [found.inputs.slo for found in own]
    loads = {int(found.inputs.workload.concurrency or 0) for found in own if found.inputs.workload is not None}
    drawn = [
        Drawn(kind=f"c{place}", name=names[place], points=one.own.curve if one.own.memory.feasible else [])
        for place, one in enumerate(columns)
        if one.own is not None
    ]
    found = []
    for figure in speed_figures():
        targets = {getattr(slo, figure.field, None) for slo in slos}
        target = targets.pop() if len(targets) == 1 else None
        asked = next(iter(loads)) if len(loads) == 1 else None
        found.append(lines(figure, drawn, asked=asked, target=target))
    return [one for one in found if one is not None]


def _nearby(own: Answered, queries: list[str], facts: Facts) -> list[dict[str, str]]:
    """The changes of the first question as columns to add."""
    assert own.column.question is not None  # noqa: S101  an own column has its question
    found = ask(own.column.question, facts, explain=False)
    changes = found.answer.changes if found.answer is not None else ()
    adds = [(one.label, changed_query(own.column.question, one)) for one in changes]
    return [{"label": label, "href": address_of([*queries, query])} for label, query in adds if query not in queries]


def _sellers(own: Answered | None, facts: Facts) -> list[tuple[str, str]]:
    """Who sells the model of the first column, for the list of APIs."""
    slug = own.own.inputs.model.slug if own is not None and own.own is not None else None
    family = families(facts).find(slug or "")
    return [] if family is None else [(one.slug, f"{one.name}: {one.model}") for one in family.sellers]
