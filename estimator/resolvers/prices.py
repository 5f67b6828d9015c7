"""The prices a request is billed by, with their sources, disputes and what is not known of their days."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils import timezone
from django.utils.translation import gettext as _

from estimator.engine.cost.price_list import STANDARD, InForce, inline_prices
from estimator.engine.cost.price_rules import PriceRule, RuleKind, multiplied
from estimator.engine.errors import MissingFigureError
from estimator.engine.recent import Recent
from estimator.resolvers.facts import FactRow, Facts
from estimator.resolvers.plan import Provenance, Resolved
from estimator.resolvers.price_book import Chosen, InlinePrice, PriceBook, PriceChoice, day_of, price_book

_CONFIDENCE = {"documented": "high", "assumption": "low"}
_PLACES_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedPrice(Resolved):
    """The prices in force for a request; slug, provider and model are None for stated prices."""

    prices: InForce
    slug: str | None = None
    provider: str | None = None
    model: str | None = None
    policies: tuple[FactRow, ...] = ()
    day: datetime.date | None = None
    context_window_tokens: int | None = None
    max_input_tokens: int | None = None
    # What was made of prices of the catalog for one choice; never shared between choices.
    kept: Recent = field(default_factory=Recent, repr=False, compare=False)


def resolve_price(choice: PriceChoice, facts: Facts) -> ResolvedPrice:
    """The prices a request is billed by.

    Raises:
        InvalidInputError: A channel or endpoint class nobody sells then, or an unknown meter.
        MissingFigureError: The catalog has no price of this model at that date.
    """
    if isinstance(choice.price, InlinePrice):
        stated = choice.price
        key = (choice.channel, choice.endpoint_class, str(choice.discount))
        return stated.kept.of(key, lambda: _of_stated(stated, choice))
    book = price_book(facts, choice.price)
    chosen = book.in_force(choice)
    return chosen.kept.of("price", lambda: _of_book(book, chosen, choice))


def _of_stated(stated: InlinePrice, choice: PriceChoice) -> ResolvedPrice:
    prices = inline_prices(currency=stated.currency, meters=stated.meters, tiers=stated.tiers, channel=choice.channel)
    assumptions: tuple[str, ...] = ()
    if choice.channel != STANDARD or choice.endpoint_class:
        assumptions = (_("The stated prices are taken to be those of the channel and endpoint class asked for."),)
    prices = multiplied(prices, 1 - choice.discount, tokens_only=False)
    return ResolvedPrice(prices=prices, assumptions=(*assumptions, *_discounted(choice)))


def _of_book(book: PriceBook, chosen: Chosen, choice: PriceChoice) -> ResolvedPrice:
    prices, life = chosen.prices, book.facts.get("life") or {}
    if not any(prices.tiers.values()):
        raise MissingFigureError(
            _("The catalog has no price of %(slug)s at that date.") % {"slug": book.facts["slug"]}, field="on"
        )
    return ResolvedPrice(
        prices=prices,
        slug=book.facts["slug"],
        provider=book.facts["provider"],
        model=book.facts["model"],
        policies=tuple(book.facts["policies"]),
        day=day_of(choice.moment),
        warnings=(*prices.notes, *_life_warnings(book.facts, day_of(choice.moment))),
        context_window_tokens=life.get("context_window_tokens"),
        max_input_tokens=life.get("max_input_tokens"),
        assumptions=(*_dearer_places(book, choice), *_discounted(choice)),
        provenance=() if chosen.place is None else (_place_entry(chosen.place, book.facts),),
        kept=chosen.kept,
    )


def _life_warnings(facts: FactRow, day: datetime.date) -> tuple[str, ...]:
    """What the seller says of the model's life on the day of the bill."""
    life = facts.get("life") or {}
    words = {"model": facts["model"], "retired": life.get("retired_on"), "since": life.get("deprecated_on")}
    if life.get("retired_on") and day.isoformat() >= life["retired_on"]:
        return (
            _("%(model)s was retired on %(retired)s: no request of this day is taken; billed are its last prices.")
            % words,
        )
    if life.get("retired_on"):
        return (_("%(model)s retires on %(retired)s.") % words,)
    if life.get("deprecated_on") and day.isoformat() >= life["deprecated_on"]:
        return (_("%(model)s is deprecated since %(since)s.") % words,)
    return (_("%(model)s is deprecated by its seller.") % words,) if life.get("deprecated") else ()


def _discounted(choice: PriceChoice) -> tuple[str, ...]:
    if not choice.discount:
        return ()
    return (_("A discount of %(share)s is taken off every price.") % {"share": f"{choice.discount:%}"},)


def _dearer_places(book: PriceBook, choice: PriceChoice) -> tuple[str, ...]:
    """A line where the seller bills other prices at places that the request does not rule out."""
    if choice.endpoint_class:
        return ()
    rules = [
        rule
        for rule in book.rules
        if rule.kind is RuleKind.PLACE
        and rule.multiplier not in (None, 1)
        and rule.holds(day_of(choice.moment), choice.channel)
    ]
    return tuple(
        _("No endpoint_class given: prices of the general endpoint; %(places)s … cost %(times)s times as much.")
        % {"places": ", ".join(rule.places[:_PLACES_NAMED]), "times": f"{rule.multiplier:f}"}
        for rule in rules
    )


def _place_entry(place: PriceRule, facts: FactRow) -> Provenance:
    rule = next(rule for rule in facts["rules"] if rule["slug"] == place.slug)
    return Provenance(
        what="api.endpoint_class",
        value=rule["multiplier"],
        unit="1",
        source=f"{rule['source']} {rule['source_url']}".strip(),
        date=rule["date_seen"],
        confidence=_CONFIDENCE.get(rule["basis"], "medium"),
    )


def price_provenance(resolved: ResolvedPrice, facts: Facts, references: Mapping[str, str]) -> Resolved:
    """Sources and disputes of the rows a bill used.

    Args:
        resolved: The prices billed by.
        facts: Facts they came from.
        references: Reference of each used row → its dotted name in the answer.
    """
    if resolved.slug is None:
        stated = Provenance(what="api.price", value=None, unit=resolved.prices.currency, source="request")
        return Resolved(provenance=(stated,))
    key = ("provenance", timezone.now().date(), *references.items())
    return resolved.kept.of(key, lambda: _provenance_of_rows(resolved, facts, references))


def _provenance_of_rows(resolved: ResolvedPrice, facts: Facts, references: Mapping[str, str]) -> Resolved:
    row_of = facts.row("price", resolved.slug or "")
    by_id = {str(row["id"]): row for row in (*row_of["rows"], *row_of["rules"])}
    entries, warnings = [], list(_undated([by_id[reference] for reference in references], resolved.day))
    for reference, name in references.items():
        row = by_id[reference]
        entries.append(
            Provenance(
                what=name,
                value=row["amount"],
                unit=f"{resolved.prices.currency}/{row['unit']}",
                source=f"{row['source']} {row['source_url']}".strip(),
                date=row["date_seen"],
                confidence=_CONFIDENCE.get(row["basis"], "medium"),
            )
        )
        if row["dispute"]:
            warnings.append(
                _("%(meter)s is disputed: %(dispute)s.") % {"meter": row["meter"], "dispute": row["dispute"]}
            )
    used = [by_id[reference] for reference in references]
    warnings += _to_come(used, resolved.day)
    return Resolved(provenance=tuple(entries), warnings=tuple(warnings), assumptions=_ending(used))


def _ending(rows: Sequence[FactRow]) -> tuple[str, ...]:
    """A line for each day on which prices used here are known to change."""
    days = sorted({row["effective_to"] for row in rows if row["effective_to"]})
    return tuple(
        _("In force until %(day)s, other prices follow: %(meters)s.")
        % {"day": day, "meters": ", ".join(sorted({row["meter"] for row in rows if row["effective_to"] == day}))}
        for day in days
    )


def _undated(rows: Sequence[FactRow], day: datetime.date | None) -> Iterator[str]:
    """A warning where an earlier day is billed at prices of which only is known when they were seen."""
    seen = [row["date_seen"] for row in rows if row["effective_from"] is None and row["date_seen"]]
    if day is not None and seen and day < datetime.date.fromisoformat(min(seen)):
        names = ", ".join(sorted({row["meter"] for row in rows if row["effective_from"] is None}))
        text = _(
            "It is not known since when these prices hold: %(meters)s were seen on %(seen)s, and may have been others "
            "on %(day)s. State the prices of that day to be sure."
        )
        yield text % {"meters": names, "seen": min(seen), "day": day.isoformat()}
    unseen = sorted({row["meter"] for row in rows if row["effective_from"] is None and not row["date_seen"]})
    if unseen:
        yield _("It is not known since when these prices hold, nor when they were seen: %(meters)s.") % {
            "meters": ", ".join(unseen)
        }


def _to_come(rows: Sequence[FactRow], day: datetime.date | None) -> Iterator[str]:
    """A warning where a day to come is billed at prices that nobody has promised for it."""
    open_ended = sorted({row["meter"] for row in rows if not row["effective_to"]})
    if day is not None and day > timezone.now().date() and open_ended:
        yield _("%(day)s is to come: %(meters)s are taken to cost then what is known today.") % {
            "day": day.isoformat(),
            "meters": ", ".join(open_ended),
        }
