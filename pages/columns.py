"""Columns of a comparison: each one a question to the calculator, or the same requests sent to an API."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.urls import reverse

from catalog.price_families import PriceFamilies, price_families
from estimator.estimates.cost import answer as cost
from estimator.estimates.verdict.parts import VerdictAnswer
from estimator.resolvers.facts import Facts
from pages.asking import answered, ask, price_taken
from pages.question import FIRST, FormFault, Question, body_of, read

MOST = 4
_LONGEST = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as its part of the address states it: a question, or the slug of an API's prices."""

    query: str
    question: Question | None = None
    price: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A column with what the services said of it: the verdict on own GPUs, or the bill of one request by an API.

    `price` is the catalog's price of a GPU hour, where none was given.
    """

    column: Column
    own: VerdictAnswer | None = None
    price: dict[str, Any] | None = None
    api: Any = None
    seller: str = ""
    model: str = ""
    seen: str | None = None
    notes: tuple[str, ...] = ()
    faults: tuple[FormFault, ...] = ()


def address_of(queries: Sequence[str]) -> str:
    """The address of a comparison: a part for each column."""
    return f"{reverse('compare')}?{urlencode([('q', query) for query in queries])}"


def columns_of(parts: Sequence[str]) -> list[Column]:
    """The columns of an address, four at most."""
    return [_column(part) for part in parts[:MOST]]


def _column(part: str) -> Column:
    values = dict(parse_qsl(part[:_LONGEST]))
    if price := values.get("api", "").strip():
        return Column(query=api_query(price), price=price)
    question = read(values)
    return Column(query=question.query, question=question)


def api_query(price: str) -> str:
    """The part of an address that is an API's column."""
    return urlencode([("api", price)])


def families(facts: Facts) -> PriceFamilies:
    """Who sells which model, at the revision of the facts."""
    return facts.derived(("price families",), price_families)


def answer(columns: Sequence[Column], facts: Facts) -> list[Answered]:
    """What the services say of each column; an API gets the requests of the first column of one's own."""
    own = next((column.question for column in columns if column.question is not None), None) or Question(FIRST)
    return [_own(column, facts) if column.question is not None else _api(column, own, facts) for column in columns]


def _own(column: Column, facts: Facts) -> Answered:
    assert column.question is not None  # noqa: S101  told apart by the caller
    found = ask(column.question, facts, explain=False, changes=False)
    gpu = found.answer.inputs.gpu.slug if found.answer is not None else None
    price = None if column.question["price"] else price_taken(gpu, facts)
    return Answered(column=column, own=found.answer, price=price, faults=found.faults)


def _api(column: Column, asked: Question, facts: Facts) -> Answered:
    body = {"price": column.price, "usage": usage_of(asked), "usage_convention": "inclusive", "partial": True}
    found, faults = answered(cost.CostRequest, cost.answer_cost, {"api": body}, facts)
    if found is None or found.api is None:
        return Answered(column=column, faults=faults)
    seller = families(facts).seller(str(found.api.price))
    dates = [entry.date for entry in found.provenance if entry.date]
    return Answered(
        column=column,
        api=found.api,
        seller=seller.name,
        model=seller.model,
        seen=min(dates, default=None),
        notes=tuple(found.warnings),
    )


def usage_of(asked: Question) -> dict[str, Any]:
    """One request of a question, as a bill counts it; what cannot be read is a fault of the question's own column."""
    body, _faults = body_of(asked)
    load = body.get("workload", {})
    prompt, cached = load.get("input_tokens", 0), load.get("prefix_cache_hit_rate", 0)
    usage = {"input_tokens": prompt, "output_tokens": load.get("output_tokens", 0)}
    return usage | ({"cache_read_tokens": round(prompt * cached)} if 0 < cached <= 1 else {})
