"""Price of a GPU for an hour where a question states none: one rule for every estimate and report (ADR 0015)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from estimator.engine.cost.money import money_text
from estimator.engine.cost.ownership import Ownership, owned_month
from estimator.engine.errors import InvalidInputError
from estimator.engine.faults import Fault, ResolutionError
from estimator.question.ownership import OwnedGpus
from estimator.resolvers.facts import FactRow, Facts
from estimator.resolvers.plan import Provenance

OFFERS_CURRENCY = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPrice:
    """Price of one GPU for an hour and where it is from; `offer` is the catalog's row that it can be bought by."""

    amount: Decimal
    currency: str
    source: str
    offer: str | None = None
    date: str | None = None

    def provenance(self, what: str) -> Provenance:
        """The price as an entry of an answer."""
        unit = f"{self.currency}/GPU/h"
        return Provenance(what=what, value=str(self.amount), unit=unit, source=self.source, date=self.date)


def owned_price(part: OwnedGpus, currency: str) -> GpuPrice:
    """The GPU hour of owned GPUs: what they cost a month over the hours of a month, in which all of them run.

    Raises:
        InvalidInputError: The parts contradict one another.
    """
    if not part.watts and (Decimal(part.price_per_kwh) or Decimal(part.colocation_per_kw_month)):
        raise InvalidInputError("needed with a price of electricity or of a kW: their power", field="watts")
    if part.pue != 1 and not Decimal(part.price_per_kwh):
        raise InvalidInputError("needed with pue: it raises the bill of electricity", field="price_per_kwh")
    owned = Ownership(
        capex=Decimal(part.capex),
        years=_exact(part.years),
        gpus=part.gpus,
        interest_rate=_exact(part.interest_rate),
        residual_value=Decimal(part.residual_value),
        gpu_watts=_exact(part.watts),
        pue=_exact(part.pue),
        price_per_kwh=Decimal(part.price_per_kwh),
        colocation_per_kw_month=Decimal(part.colocation_per_kw_month),
        overhead_per_month=Decimal(part.overhead_per_month),
        staff_per_month=Decimal(part.staff_per_month),
        licence_per_month=Decimal(part.licence_per_month),
    )
    month = owned_month(owned)
    parts = [f"{name} {money_text(amount)}" for name, amount in month.parts.items() if amount]
    source = _("owned: %(parts)s a month for %(gpus)s GPUs over %(hours)s h each") % {
        "parts": ", ".join(parts) or "0",
        "gpus": part.gpus,
        "hours": owned.hours_per_month,
    }
    return GpuPrice(amount=month.per_gpu_hour, currency=currency, source=source)


def _exact(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def gpu_price(gpu: str, stated: Mapping[str, GpuPrice], facts: Facts) -> GpuPrice | None:
    """The stated price of a GPU, else its default price; None when there is none."""
    return stated.get(gpu) or default_price(gpu, facts)


def default_price(gpu: str, facts: Facts, currency: str = OFFERS_CURRENCY) -> GpuPrice | None:
    """The middle of what the sellers of a GPU ask on demand, each seller once by its newest sighting.

    It is an offer that can be bought: of two in the middle the cheaper. None where nobody offers the GPU.

    Args:
        gpu: slug of the catalog.
        facts: where the offers are from.
        currency: ISO 4217; offers in another are left out, for nothing is converted.
    """
    newest = facts.derived(("newest_offers",), lambda: _newest(facts)).get((gpu, currency), ())
    if not newest:
        return None
    middle = newest[(len(newest) - 1) // 2]
    said = [f"{one['provider']} {one['price_per_gpu_hour']} ({one['date_seen'] or _('undated')})" for one in newest]
    source = _("the middle of %(n)s sellers' newest on-demand offers per GPU hour, each seller once: %(offers)s")
    return GpuPrice(
        amount=Decimal(middle["price_per_gpu_hour"]),
        currency=currency,
        source=source % {"n": len(newest), "offers": ", ".join(said)},
        offer=middle["slug"],
        date=middle["date_seen"],
    )


def offered_gpus(facts: Facts, currency: str = OFFERS_CURRENCY) -> list[str]:
    """GPUs that somebody offers on demand, those of most sellers first.

    Args:
        facts: where the offers are from.
        currency: ISO 4217 of the offers.
    """
    newest = facts.derived(("newest_offers",), lambda: _newest(facts))
    sellers = {gpu: len(offers) for (gpu, paid), offers in newest.items() if paid == currency}
    return sorted(sellers, key=lambda gpu: (-sellers[gpu], gpu))


def _newest(facts: Facts) -> dict[tuple[str, str], tuple[FactRow, ...]]:
    """By GPU and currency the newest on-demand offer of each seller, the cheapest first; undated is oldest."""
    found: dict[tuple[str, str], dict[str, FactRow]] = {}
    offers = [facts.row("offer", slug) for slug in sorted(facts.slugs("offer"))]
    offers = [offer for offer in offers if offer["market"] == "on-demand" and offer["gpu"]]
    # Of one day's offers of a seller (regions, sizes of machines) the cheapest counts: it comes last.
    for offer in sorted(offers, key=lambda one: (one["date_seen"] or "", -Decimal(one["price_per_gpu_hour"]))):
        found.setdefault((offer["gpu"], offer["currency"]), {})[offer["provider"]] = offer
    return {
        key: tuple(sorted(by_seller.values(), key=lambda one: (Decimal(one["price_per_gpu_hour"]), one["slug"])))
        for key, by_seller in found.items()
    }


def check_one_currency(prices: Iterable[GpuPrice | None], *, ranked_by_cost: bool, budget: str | None) -> None:
    """Amounts are held against each other in one currency; nothing is converted.

    Raises:
        ResolutionError: Prices in several currencies to rank by, or a budget in another than a price.
    """
    currencies = sorted({price.currency for price in prices if price is not None})
    names = ", ".join(currencies)
    if ranked_by_cost and len(currencies) > 1:
        detail = _("Bills in %(currencies)s cannot be ranked: give all prices in one.") % {"currencies": names}
        raise ResolutionError([Fault(path=("prices",), code="invalid", detail=detail)])
    if budget is not None and any(currency != budget for currency in currencies):
        detail = _("The budget is in %(budget)s, prices are in %(currencies)s: give both in one currency.")
        words = {"budget": budget, "currencies": names}
        raise ResolutionError([Fault(path=("budget", "currency"), code="invalid", detail=detail % words)])
