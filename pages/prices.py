"""Prices of APIs: an index of models by any name, and a page a model with all who sell it."""

import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from catalog.price_facts import FIRST_PARTY
from catalog.price_families import PriceFamily, Seller
from catalog.price_words import meter_words
from catalog.selectors import channels_on, least_prices
from estimator.figures import written
from estimator.resolvers.facts import Facts
from estimator.resolvers.live import current_facts
from pages.access import for_readers
from pages.columns import address_of, api_query, families
from pages.drawing.steps import steps
from pages.price_rows import changes, in_force, plain_history
from pages.question import CURRENCY, FIRST, Question
from pages.traffic import MonthBill, Traffic, cache_advice, labels, month_bills, read_traffic

_MOST_FOUND = 60
_MOST_BILLS = 60
_DRAWN = ("input", "cache_read", "output")
_BESIDE = ("batch",)
"""Channels that a month is billed over beside the standard one."""


@require_safe
@for_readers
def index(request: HttpRequest) -> HttpResponse:
    """Models that somebody sells, found by any name; those sold by most where none is asked for."""
    facts, asked = current_facts(), request.GET.get("q", "").strip()
    known = families(facts)
    found = known.search(asked, _MOST_FOUND)
    if asked and len(found) == 1:
        return HttpResponseRedirect(reverse("prices", args=[found[0].slug]))
    today = timezone.now().date()
    least = least_prices([seller.slug for family in found for seller in family.sellers], today)
    context = {
        "here": "prices",
        "asked": asked,
        "rows": [_row(family, least) for family in found],
        "models": len(known.by_slug),
    }
    return render(request, "pages/prices_index.html", context)


def _row(family: PriceFamily, least: dict[Any, Any]) -> dict[str, Any]:
    def lowest(meter: str) -> Any:
        amounts = [least.get((seller.slug, meter, CURRENCY)) for seller in family.sellers]
        return min((amount for amount in amounts if amount is not None), default=None)

    return {"family": family, "input": lowest("input"), "output": lowest("output")}


@require_safe
@for_readers
def prices(request: HttpRequest, model: str) -> HttpResponse:
    """The prices of one model at every seller."""
    facts = current_facts()
    family = families(facts).find(model)
    if family is None:
        raise Http404
    if family.slug != model:
        return HttpResponseRedirect(f"{reverse('prices', args=[family.slug])}?{request.GET.urlencode()}".rstrip("?"))
    return render(request, "pages/prices.html", _context(request, family, facts))


def _context(request: HttpRequest, family: PriceFamily, facts: Facts) -> dict[str, Any]:
    today, traffic = timezone.now().date(), read_traffic(request.GET)
    bills = [] if traffic.faults else month_bills(_sold(family, today, facts)[:_MOST_BILLS], traffic, facts)
    seller = _chosen(request.GET.get("seller", ""), family, bills)
    row = facts.row("price", seller.slug)
    history = plain_history(row["rows"], _DRAWN)
    advice, no_advice = ([], "") if traffic.faults else cache_advice(seller.slug, traffic, facts)
    known = labels()
    return {
        "here": "prices",
        "family": family,
        "said": _said(family, bills),
        "traffic": traffic,
        "wrong": {fault.name: fault.text for fault in traffic.faults},
        "faults": [(known.get(fault.name), fault) for fault in traffic.faults],
        "bills": bills,
        "retired": [one for one in family.sellers if _retired(one, today, facts)],
        "seller": seller,
        "row": row,
        "today": in_force(row["rows"], today),
        "fees": [rule for rule in row["rules"] if rule["amount"] is not None or rule["multiplier"] is not None],
        "changes": changes(row["rows"], today),
        "drawn": steps(history, {name: meter_words(name) for name in _DRAWN}, today),
        "advice": advice,
        "no_advice": no_advice,
        "policies": row["policies"],
        "own": _own(family, traffic, seller),
        "address": request.get_full_path(),
        "link": request.build_absolute_uri(),
    }


def _own(family: PriceFamily, traffic: Traffic, seller: Seller) -> str:
    """The address that compares the seller with one's own GPUs; empty where the weights are not open."""
    if family.weights is None:
        return ""
    lengths = {name: traffic.values.get(name, "") for name in ("input", "output", "cached")}
    own = Question(FIRST).changed(model=family.weights, weights="", **lengths)
    return address_of([own.query, api_query(seller.slug)])


def _sold(family: PriceFamily, today: datetime.date, facts: Facts) -> list[tuple[Seller, str]]:
    """Who sells the model today, over which channels; who has retired it is left out."""
    channels = facts.derived(("channels on", today.isoformat()), lambda: channels_on(today))
    sold = [(seller, channels.get(seller.slug, [])) for seller in family.sellers if not _retired(seller, today, facts)]
    return [(seller, channel) for seller, known in sold for channel in ("standard", *_BESIDE) if channel in known]


def _retired(seller: Seller, today: datetime.date, facts: Facts) -> bool:
    retired = (facts.row("price", seller.slug).get("life") or {}).get("retired_on")
    return retired is not None and retired <= today.isoformat()


def _chosen(asked: str, family: PriceFamily, bills: list[MonthBill]) -> Seller:
    """Whose prices are shown in full: the seller asked for, else its maker, else the cheapest that is not free."""
    named = next((seller for seller in family.sellers if seller.slug == asked), None)
    paid = [one.seller for one in bills if one.bill is not None and one.bill.total]
    makers = [seller for seller in paid if seller.provider in FIRST_PARTY]
    return named or next(iter([*makers, *paid, *family.sellers]))


def _said(family: PriceFamily, bills: list[MonthBill]) -> str:
    """The cheapest month in a sentence."""
    known = [one for one in bills if one.bill is not None and one.bill.total and one.bill.currency == CURRENCY]
    if not known:
        return _("Nobody is known to sell %(model)s for this month.") % {"model": family.name}
    least, most = known[0], known[-1]
    words = {
        "model": family.name, "seller": _sold_by(least), "least": written.money(least.bill.total),
        "most": written.money(most.bill.total), "other": _sold_by(most),
    }  # fmt: skip
    if len(known) == 1:
        return _("A month of %(model)s costs %(least)s USD at %(seller)s.") % words
    text = _("A month of %(model)s costs from %(least)s USD at %(seller)s to %(most)s USD at %(other)s.")
    return text % words


def _sold_by(one: MonthBill) -> str:
    """The seller, with the channel or the variant that its name there says: OpenRouter (batch)."""
    kind = one.seller.model.rpartition(":")[2] if ":" in one.seller.model else ""
    kind = kind if one.channel == "standard" else one.channel
    return f"{one.seller.name} ({kind})" if kind else one.seller.name
