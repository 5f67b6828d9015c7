"""Price of a GPU for an hour: the one a request states, else the median of the catalog's on-demand offers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from django.utils.translation import gettext as _

from estimator.resolvers.facts import Facts
from estimator.resolvers.issues import Issue, ResolutionError
from estimator.resolvers.plan import Provenance

OFFERS_CURRENCY = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPrice:
    """Price of one GPU for an hour and where it is from."""

    amount: Decimal
    currency: str
    source: str

    def provenance(self, gpu: str) -> Provenance:
        """The price as an entry of an answer."""
        unit = f"{self.currency}/GPU/h"
        return Provenance(what=f"prices.{gpu}", value=str(self.amount), unit=unit, source=self.source)


def gpu_price(gpu: str, stated: Mapping[str, GpuPrice], facts: Facts) -> GpuPrice | None:
    """The stated price of a GPU, else the median of its on-demand offers in USD; None when there is none."""
    if gpu in stated:
        return stated[gpu]
    offers = facts.derived(("on_demand_offers",), lambda: _offers(facts)).get(gpu, ())
    if not offers:
        return None
    source = _("median of %(n)s on-demand offers in the catalog") % {"n": len(offers)}
    return GpuPrice(amount=median(offers), currency=OFFERS_CURRENCY, source=source)


def _offers(facts: Facts) -> dict[str, tuple[Decimal, ...]]:
    by_gpu: dict[str, list[Decimal]] = {}
    for slug in facts.slugs("offer"):
        offer = facts.row("offer", slug)
        if offer["market"] == "on-demand" and offer["currency"] == OFFERS_CURRENCY and offer["gpu"]:
            by_gpu.setdefault(offer["gpu"], []).append(Decimal(offer["price_per_gpu_hour"]))
    return {gpu: tuple(amounts) for gpu, amounts in by_gpu.items()}


def check_one_currency(prices: Iterable[GpuPrice | None], *, ranked_by_cost: bool, budget: str | None) -> None:
    """Amounts are held against each other in one currency; nothing is converted.

    Raises:
        ResolutionError: Prices in several currencies to rank by, or a budget in another than a price.
    """
    currencies = sorted({price.currency for price in prices if price is not None})
    names = ", ".join(currencies)
    if ranked_by_cost and len(currencies) > 1:
        detail = _("Bills in %(currencies)s cannot be ranked: give all prices in one.") % {"currencies": names}
        raise ResolutionError([Issue(path=("prices",), code="invalid", detail=detail)])
    if budget is not None and any(currency != budget for currency in currencies):
        detail = _("The budget is in %(budget)s, prices are in %(currencies)s: give both in one currency.")
        words = {"budget": budget, "currencies": names}
        raise ResolutionError([Issue(path=("budget", "currency"), code="invalid", detail=detail % words)])
