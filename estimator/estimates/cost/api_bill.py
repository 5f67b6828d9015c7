"""The bill of an API usage, with its working."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from estimator.engine.cost.api import ApiCost, CostLine, UsageConvention, api_cost
from estimator.engine.cost.money import money_text
from estimator.engine.explain import Step
from estimator.resolvers.prices import ResolvedPrice


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A bill and where its prices are from."""

    cost: ApiCost
    price: ResolvedPrice

    @property
    def references(self) -> dict[str, str]:
        """Reference of each price row used → its name in the answer."""
        return {line.reference: f"api.lines.{line.meter}" for line in self.cost.lines if line.reference}

    def as_csv(self) -> str:
        """The bill as CSV, one line per meter; amounts are exact decimals, an unpriced one is empty."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(("meter", "quantity", "unit", "unit_price", "amount", "currency", "tier", "channel", "reason"))
        for line in self.cost.lines:
            prices = ["" if value is None else money_text(value) for value in (line.unit_price, line.amount)]
            table.writerow(
                (line.meter, money_text(line.quantity), line.unit or "", *prices, self.cost.currency, line.tier,
                 line.channel or "", line.reason or "")
            )  # fmt: skip
        return text.getvalue()

    def explain(self) -> list[Step]:
        """Each line as quantity · unit_price / unit_size, then their sum."""
        steps = [self._line(line) for line in self.cost.lines if line.amount is not None]
        if self.cost.total is not None and steps:
            names = [f"line_{number}" for number in range(1, len(steps) + 1)]
            amounts = [line.amount for line in self.cost.lines if line.amount is not None]
            steps.append(
                Step.worked(
                    name="total",
                    formula=" + ".join(names),
                    values=dict(zip(names, amounts, strict=True)),
                    value=self.cost.total,
                    unit=self.cost.currency,
                    source="sum of disjoint meters: every token is billed by one of them",
                )
            )
        return steps

    def _line(self, line: CostLine) -> Step:
        source = f"catalog: {self.price.slug}, {line.tier}" if self.price.slug else f"request, {line.tier}"
        return Step.worked(
            name=f"amount_{line.meter}",
            formula="(quantity − free) · unit_price / unit_size"
            if line.free_quantity
            else "quantity · unit_price / unit_size",
            values=({"free": line.free_quantity} if line.free_quantity else {})
            | {
                "quantity": line.quantity,
                "unit_price": line.unit_price or Decimal(0),
                "unit_size": line.unit_size or 1,
            },
            value=line.amount or Decimal(0),
            unit=self.cost.currency,
            source=source,
        )


def bill_usage(
    price: ResolvedPrice,
    usage: Mapping[str, Decimal],
    *,
    convention: UsageConvention,
    requests: Decimal,
    partial: bool,
    whole_month: bool = False,
) -> Bill:
    """The bill of `requests` requests of one usage.

    Raises:
        UnpricedMeterError: A used meter has no price and `partial` is off.
        InvalidInputError: The counts contradict one another.
    """
    cost = api_cost(
        price.prices, usage, convention=convention, requests=requests, partial=partial, whole_month=whole_month
    )
    return Bill(cost=cost, price=price)
