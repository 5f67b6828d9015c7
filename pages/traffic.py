"""A month of one's own traffic on a price page: its fields, what every seller bills for it, and what a cache saves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from catalog.price_families import Seller
from estimator.estimates.cost import answer as cost
from estimator.estimates.prompt_cache import answer as prompt_cache
from estimator.figures import written
from estimator.resolvers.facts import Facts
from pages.asking import answered
from pages.question import CURRENCY, FormFault, Question, Reading

FIELDS = ("requests", "input", "output", "cached", "shared")
FIRST = {"requests": "100000", "input": "8000", "output": "500", "cached": "0", "shared": "6000"}
# Requests per hour for which the advice on the cache is asked.
RATES = (1, 6, 30, 120, 600, 3600)
_LONGEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The fields as they were written, and the counts that were read from them."""

    values: Mapping[str, str]
    counts: Mapping[str, float]
    faults: tuple[FormFault, ...]

    @property
    def query(self) -> str:
        """The traffic as the query of an address."""
        return urlencode([(name, self.values.get(name, "")) for name in FIELDS])


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthBill:
    """What one seller bills for the month over one channel; `rank` orders them, other currencies last."""

    seller: Seller
    channel: str
    bill: Any
    dates: tuple[str, ...]
    notes: tuple[str, ...]
    faults: tuple[FormFault, ...]

    @property
    def rank(self) -> tuple[Any, ...]:
        """Known amounts of our currency first, then those of others, then unknown ones."""
        total = None if self.bill is None else self.bill.total
        return (total is None, self.bill is None or self.bill.currency != CURRENCY, total or Decimal(0))

    @property
    def input(self) -> Decimal | None:
        """The price of fresh input that bills it."""
        return self._price("input")

    @property
    def output(self) -> Decimal | None:
        """The price of output that bills it."""
        return self._price("output")

    def _price(self, meter: str) -> Decimal | None:
        lines = [] if self.bill is None else self.bill.lines
        return next((line.unit_price for line in lines if line.meter == meter), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to do with a shared prefix at one rate: every way with its cost of a request, the cheapest marked."""

    rate: str
    best: str
    options: tuple[tuple[str, Decimal | None, bool], ...]


def labels() -> dict[str, str]:
    """The words beside the fields."""
    return {
        "requests": _("Requests a month"), "input": _("Prompt"), "output": _("Answer"),
        "cached": _("Prompt read from a cache"), "shared": _("Shared start of the prompt"),
    }  # fmt: skip


def read_traffic(given: Mapping[str, str]) -> Traffic:
    """The traffic of an address; a month of the first page where it names nothing."""
    values = {name: given.get(name, "").strip()[:_LONGEST] for name in FIELDS}
    values = values if any(values.values()) else dict(FIRST)
    reading = Reading(Question(values))
    counts = {name: reading.number(name) for name in FIELDS}
    faults = list(reading.faults)
    for name, value in counts.items():
        if value is not None and not 0 <= value <= 1e12:
            faults.append(FormFault(name=name, text=_("Give a number from 0 to a million millions.")))
    if (counts["cached"] or 0) > 100:
        faults.append(FormFault(name="cached", text=_("Give at most 100 percent.")))
    if (counts["shared"] or 0) > (counts["input"] or 0):
        faults.append(FormFault(name="shared", text=_("No more of the prompt is shared than it has.")))
    return Traffic(values=values, counts={name: value or 0 for name, value in counts.items()}, faults=tuple(faults))


def month_bills(sellers: Sequence[tuple[Seller, str]], traffic: Traffic, facts: Facts) -> list[MonthBill]:
    """What each seller bills for the month, the cheapest first; sellers come with the channel asked for."""
    return sorted((_bill(seller, channel, traffic, facts) for seller, channel in sellers), key=lambda one: one.rank)


def _bill(seller: Seller, channel: str, traffic: Traffic, facts: Facts) -> MonthBill:
    counts = traffic.counts
    usage = {"input_tokens": counts["input"], "output_tokens": counts["output"]}
    if counts["cached"]:
        usage["cache_read_tokens"] = round(counts["input"] * counts["cached"] / 100)
    body = {
        "price": seller.slug, "channel": channel, "usage": usage, "usage_convention": "inclusive",
        "requests": int(counts["requests"]), "whole_month": True, "partial": True,
    }  # fmt: skip
    found, faults = answered(cost.CostRequest, cost.answer_cost, {"api": body}, facts)
    if found is None:
        return MonthBill(seller=seller, channel=channel, bill=None, dates=(), notes=(), faults=faults)
    return MonthBill(
        seller=seller,
        channel=channel,
        bill=found.api,
        dates=tuple(sorted({entry.date for entry in found.provenance if entry.date})),
        notes=tuple(found.warnings),
        faults=(),
    )


def cache_advice(price: str, traffic: Traffic, facts: Facts) -> tuple[list[Advice], str]:
    """The advice at each rate, and why there is none; the prompt begins with what requests share."""
    if not any(row["meter"] == "cache_read" for row in facts.row("price", price)["rows"]):
        return [], _("Not known: this seller has no price for tokens that are read from a cache.")
    found = []
    for rate in RATES:
        body = {
            "api": {"price": price},
            "prefix_tokens": int(traffic.counts["shared"]),
            "suffix_tokens": max(int(traffic.counts["input"]) - int(traffic.counts["shared"]), 0),
            "output_tokens": int(traffic.counts["output"]),
            "arrivals": {"requests_per_hour": rate},
        }
        answer, faults = answered(prompt_cache.PromptCacheRequest, prompt_cache.answer_prompt_cache, body, facts)
        if answer is None or answer.advice is None:
            unknown = _("The rules of this seller's cache are not known.")
            return [], _("Not known: %(why)s.") % {"why": faults[0].text.rstrip(".")} if faults else unknown
        if len(answer.advice.options) < 2:
            return [], _("The cache takes nothing of a prompt whose shared start is this short.")
        found.append(_advice(rate, answer.advice))
    return found, ""


def _advice(rate: int, advice: Any) -> Advice:
    best = (advice.use, advice.ttl_s)
    options = tuple((_way(one.use, one.ttl_s), one.cost, (one.use, one.ttl_s) == best) for one in advice.options)
    return Advice(rate=written.count(rate), best=_way(*best), options=options)


def _way(use: str, ttl_s: int | None) -> str:
    """A way to use a cache in words."""
    life = "" if ttl_s is None else _life(ttl_s)
    return {
        "none": _("no cache"),
        "lifetime": _("entries of %(life)s"),
        "lapsing": _("stored for %(life)s, left to lapse"),
        "kept_alive": _("%(life)s, kept alive"),
    }[use] % {"life": life}


def _life(ttl_s: int) -> str:
    if ttl_s % 3600 == 0:
        return _("%(n)s h") % {"n": ttl_s // 3600}
    return _("%(n)s min") % {"n": ttl_s // 60} if ttl_s % 60 == 0 else _("%(n)s s") % {"n": ttl_s}
