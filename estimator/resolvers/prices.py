"""Turns price facts, or the prices a request states, into the engine's prices in force and cache rules."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from estimator.engine.cost.meters import meter
from estimator.engine.cost.price_list import (
    STANDARD,
    DailyWindow,
    InForce,
    InlineTier,
    PriceRow,
    inline_prices,
    prices_in_force,
)
from estimator.engine.errors import InvalidInputError, MissingFigureError
from estimator.engine.prompt_cache.policy import CacheRules
from estimator.resolvers.facts import FactRow, Facts
from estimator.resolvers.plan import Provenance, Resolved

_KEPT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class InlinePrice:
    """Prices a request states: token meters per million, others per piece."""

    currency: str
    meters: Mapping[str, Decimal]
    tiers: tuple[InlineTier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChoice:
    """What a request asks to be billed by: a slug or stated prices, how it is sent, and when."""

    price: str | InlinePrice
    moment: datetime.date | datetime.datetime
    channel: str = STANDARD
    endpoint_class: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedPrice(Resolved):
    """The prices in force for a request; slug, provider and model are None for stated prices."""

    prices: InForce
    slug: str | None = None
    provider: str | None = None
    model: str | None = None
    policies: tuple[FactRow, ...] = ()
    day: datetime.date | None = None


@dataclass(slots=True, eq=False)
class PriceBook:
    """All prices of one model as the engine bills them; keeps the last choices so that a request finds them made."""

    rows: tuple[PriceRow, ...]
    facts: FactRow
    _kept: dict[tuple[Any, ...], InForce] = field(default_factory=dict)

    def in_force(self, choice: PriceChoice) -> InForce:
        """The prices in force for a choice."""
        key = (choice.moment, choice.channel, choice.endpoint_class)
        found = self._kept.get(key)
        if found is None:
            found = prices_in_force(
                self.rows,
                currency=self.facts["currency"],
                moment=choice.moment,
                channel=choice.channel,
                endpoint_class=choice.endpoint_class,
            )
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found


def price_book(facts: Facts, slug: str) -> PriceBook:
    """The price book of a slug, built once per catalog revision and process."""
    row = facts.row("price", slug)
    return facts.derived(("price_book", row["slug"]), lambda: PriceBook(rows=_engine_rows(row), facts=row))


def _engine_rows(facts: FactRow) -> tuple[PriceRow, ...]:
    return tuple(_engine_row(row) for row in facts["rows"])


def _engine_row(row: Mapping[str, Any]) -> PriceRow:
    window = None
    if row["daily_start"]:
        window = DailyWindow(
            start=datetime.time.fromisoformat(row["daily_start"]),
            end=datetime.time.fromisoformat(row["daily_end"]),
            zone=row["daily_zone"] or "UTC",
            weekdays=row["weekday_mask"],
        )
    return PriceRow(
        meter=row["meter"],
        unit=row["unit"],
        amount=Decimal(row["amount"]),
        channel=row["channel"],
        endpoint_class=row["endpoint_class"],
        tier_above_tokens=row["tier_above_tokens"],
        tier_operator=row["tier_operator"],
        window=window,
        effective_from=_day(row["effective_from"]),
        effective_to=_day(row["effective_to"]),
        reference=str(row["id"]),
    )


def _day(text: str | None) -> datetime.date | None:
    return datetime.date.fromisoformat(text) if text else None


def resolve_price(choice: PriceChoice, facts: Facts) -> ResolvedPrice:
    """The prices a request is billed by.

    Raises:
        InvalidInputError: A channel or endpoint class nobody sells then, or an unknown meter.
        MissingFigureError: The catalog has no price of this model at that date.
    """
    if isinstance(choice.price, InlinePrice):
        stated = choice.price
        prices = inline_prices(
            currency=stated.currency, meters=stated.meters, tiers=stated.tiers, channel=choice.channel
        )
        assumptions: tuple[str, ...] = ()
        if choice.channel != STANDARD or choice.endpoint_class:
            assumptions = (_("The stated prices are taken to be those of the channel and endpoint class asked for."),)
        return ResolvedPrice(prices=prices, assumptions=assumptions)
    book = price_book(facts, choice.price)
    prices = book.in_force(choice)
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
        day=choice.moment.date() if isinstance(choice.moment, datetime.datetime) else choice.moment,
        warnings=tuple(prices.notes),
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
    by_id = {str(row["id"]): row for row in facts.row("price", resolved.slug)["rows"]}
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
                confidence={"documented": "high", "assumption": "low"}.get(row["basis"], "medium"),
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


def _to_come(rows: Sequence[FactRow], day: datetime.date | None) -> Iterator[str]:
    """A warning where a day to come is billed at prices that nobody has promised for it."""
    open_ended = sorted({row["meter"] for row in rows if not row["effective_to"]})
    if day is not None and day > timezone.now().date() and open_ended:
        yield _("%(day)s is to come: %(meters)s are taken to cost then what is known today.") % {
            "day": day.isoformat(),
            "meters": ", ".join(open_ended),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedPolicy(Resolved):
    """Rules of a cache, and the slug of the policy they are from (None: stated, or taken from the write meters).

    `rules` is None where the seller's are not known: no minimum, no life and no saving can be said then.
    """

    rules: CacheRules | None
    slug: str | None = None
    best_effort: bool = False


def resolve_policy(price: ResolvedPrice, policy: str | CacheRules | None, ttl_s: int | None) -> ResolvedPolicy:
    """The cache rules of a request: stated, the provider's, or, for stated prices without either, read off the meters.

    Raises:
        InvalidInputError: A policy that does not fit the model, or a time to live that is not on offer.
    """
    if isinstance(policy, CacheRules):
        if ttl_s is None and not policy.ttls_s and policy.storage_price_per_mtok_hour is None:
            policy = replace(policy, ttls_s=_write_ttls(price.prices))
        return ResolvedPolicy(rules=policy)
    facts = _policy_facts(price, policy)
    if facts is None:
        return _unstated(price)
    rules = _rules(facts, price.prices)
    if ttl_s is not None and ttl_s not in rules.ttls_s and not rules.ttl_settable:
        offered = ", ".join(str(ttl) for ttl in rules.ttls_s)
        raise InvalidInputError(
            _("%(policy)s offers times to live of %(offered)s s.") % {"policy": facts["name"], "offered": offered},
            field="ttl_s",
        )
    return ResolvedPolicy(
        rules=rules,
        slug=facts["slug"],
        best_effort=facts["best_effort"],
        assumptions=_policy_assumptions(facts),
        warnings=(_("The provider promises no hits: the saving is an upper bound."),) if facts["best_effort"] else (),
        provenance=(
            Provenance(
                what="policy",
                value=facts["slug"],
                unit="1",
                source=f"{facts['source']} {facts['source_url']}".strip(),
                date=facts["source_date"],
                confidence="low" if facts["ttl_basis"] == "assumption" else "high",
            ),
        ),
    )


def _policy_facts(price: ResolvedPrice, slug: str | None) -> FactRow | None:
    if slug is None:
        return next((policy for policy in price.policies if policy["is_default"]), None)
    # A family's name (google-explicit) means its policy of this model (google-explicit-pro).
    found = next((policy for policy in price.policies if f"{policy['slug']}-".startswith(f"{slug}-")), None)
    if found is None:
        known = ", ".join(policy["slug"] for policy in price.policies) or _("none")
        raise InvalidInputError(
            _("No cache policy %(slug)s fits this model; those that do: %(known)s.") % {"slug": slug, "known": known},
            field="policy",
        )
    return found


def _rules(facts: FactRow, prices: InForce) -> CacheRules:
    storage = Decimal(facts["storage_price_per_mtok_hour"]) if facts["storage_price_per_mtok_hour"] else None
    if facts["mode"] == "explicit_stored" and storage is None:
        row = next((rows["cache_storage_hour"] for rows in prices.tiers.values() if "cache_storage_hour" in rows), None)
        if row is None:
            raise MissingFigureError(_("The price list has no price of cache storage."), field="policy")
        storage = row.amount
    return CacheRules(
        ttls_s=tuple(facts["ttls_s"]),
        refresh_on_hit=facts["refresh_on_hit"],
        min_tokens=facts["min_tokens"],
        granularity_tokens=facts["granularity_tokens"],
        storage_price_per_mtok_hour=storage,
        hit_quality=facts["hit_quality"],
        ttl_settable=facts["ttl_settable"],
        max_breakpoints=facts["max_breakpoints"],
        max_tokens=facts["max_tokens"],
        writes_free=facts["writes_free"],
    )


def _policy_assumptions(facts: FactRow) -> tuple[str, ...]:
    if facts["ttl_basis"] != "assumption":
        return ()
    return (
        _("The provider promises no time to live: %(ttl)s s are assumed. %(notes)s")
        % {"ttl": ", ".join(str(ttl) for ttl in facts["ttls_s"]), "notes": facts["notes"]},
    )


def _unstated(price: ResolvedPrice) -> ResolvedPolicy:
    """Nobody states rules: stated prices are taken at their word, of a seller's nothing is made up."""
    if price.slug is not None:
        warning = _("No rules of the prompt cache of %(slug)s are known: what it saves is not known.")
        return ResolvedPolicy(rules=None, warnings=(warning % {"slug": price.slug},))
    return ResolvedPolicy(
        rules=CacheRules(ttls_s=_write_ttls(price.prices), ttl_settable=True),
        assumptions=(
            _(
                "No cache policy is stated: no minimum, steps of one token, hits refresh, times to live of the write "
                "meters."
            ),
        ),
    )


def _write_ttls(prices: InForce) -> tuple[int, ...]:
    names = {name for rows in prices.tiers.values() for name in rows if name.startswith("cache_write")}
    return tuple(sorted(ttl for name in names if (ttl := meter(name).ttl_s) is not None))
