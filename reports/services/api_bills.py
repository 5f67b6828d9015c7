"""What sellers of a report's models bill by API for one request of each workload, as the catalog is at the order."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.utils import timezone

from estimator.engine.cost.api import UsageConvention
from estimator.engine.cost.money import from_physics, money_text
from estimator.engine.errors import EngineError, UnpricedMeterError
from estimator.engine.specs import WorkloadMode
from estimator.estimates.cost.api_bill import Bill, bill_usage
from estimator.question.sweep import Sweep, SweptWorkload
from estimator.resolvers.facts import FactRow, Facts
from estimator.resolvers.price_book import PriceChoice
from estimator.resolvers.prices import resolve_price
from estimator.resolvers.sellers import sellers_of
from reports.rows.findings import MAX_GROUPS

KEPT = 3


def api_bills_of(sweep: Mapping[str, Any], currency: str, facts: Facts) -> list[dict[str, Any]]:
    """For each model and workload the cheapest sellers with their bill of one request; JSON-able, at most MAX_GROUPS.

    Models given by figures or with overrides have no seller: nobody sells them.
    """
    asked = Sweep.stored(sweep)
    found: list[dict[str, Any]] = []
    for model in asked.models:
        if not isinstance(model, str):
            continue
        for workload in asked.workloads:
            if workload.mode is WorkloadMode.DECODE_STEP or len(found) >= MAX_GROUPS:
                continue
            bills = sorted(_bills(model, workload, currency, facts), key=_cheapest_first)
            found.append({"model": model, "workload": workload.label, "sellers": len(bills), "bills": bills[:KEPT]})
    return found


def _cheapest_first(bill: Mapping[str, Any]) -> tuple[Decimal, int, str]:
    """Of equal bills the shorter slug comes first: a seller before those who pass it on."""
    return Decimal(bill["cost_per_request"]), len(bill["price"]), bill["price"]


def _bills(model: str, workload: SweptWorkload, currency: str, facts: Facts) -> Iterator[dict[str, Any]]:
    for row in sellers_of(model, facts):
        if row["currency"] != currency:
            continue
        try:
            bill = _bill(row, workload)(facts)
        except EngineError:  # not sold today, or a meter without a price: nothing is known of this bill
            continue
        yield _kept(row, bill)


def _bill(row: FactRow, workload: SweptWorkload) -> Any:
    asked = workload.resolved()
    prompt, answer = from_physics(asked.input_tokens), from_physics(asked.output_tokens)
    cached = prompt * from_physics(asked.prefix_cache_hit_rate or 0.0)

    def made(facts: Facts) -> Bill:
        price = resolve_price(PriceChoice(price=row["slug"], moment=timezone.now().date()), facts)
        usage = {"input_tokens": prompt - cached, "cache_read_tokens": cached, "output_tokens": answer}
        try:
            return _billed(price, {name: count for name, count in usage.items() if count})
        except UnpricedMeterError:
            # A seller without a price of cached tokens bills them as any others.
            return _billed(price, {"input_tokens": prompt, "output_tokens": answer})

    return made


def _billed(price: Any, usage: Mapping[str, Decimal]) -> Bill:
    return bill_usage(price, usage, convention=UsageConvention.DISJOINT, requests=Decimal(1), partial=False)


def _kept(row: FactRow, bill: Bill) -> dict[str, Any]:
    by_meter = {line.meter: line for line in bill.cost.lines}
    used = [one for one in row["rows"] if str(one["id"]) in bill.references]
    return {
        "price": row["slug"],
        "provider": row["provider"],
        "model": row["model"],
        "currency": bill.cost.currency,
        "cost_per_request": money_text(bill.cost.priced_total),
        "input_per_mtok": _per_mtok(by_meter.get("input")),
        "output_per_mtok": _per_mtok(by_meter.get("output")),
        "date": min((one["date_seen"] for one in used if one["date_seen"]), default=None),
        "url": next((one["source_url"] for one in used if one["source_url"]), None),
    }


def _per_mtok(line: Any) -> str | None:
    return None if line is None or line.unit != "mtok" or line.unit_price is None else money_text(line.unit_price)
