"""Rules of a prompt cache for a request: stated, the seller's, or read off the meters of stated prices."""

from dataclasses import dataclass, replace
from decimal import Decimal

from django.utils.translation import gettext as _

from estimator.engine.cost.price_list import InForce
from estimator.engine.errors import InvalidInputError, MissingFigureError
from estimator.engine.prompt_cache.policy import CacheRules
from estimator.resolvers.facts import FactRow
from estimator.resolvers.plan import Provenance, Resolved
from estimator.resolvers.price_book import write_ttls
from estimator.resolvers.prices import ResolvedPrice


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
            policy = replace(policy, ttls_s=write_ttls(price.prices))
        return ResolvedPolicy(rules=policy)
    facts = _policy_facts(price, policy)
    if facts is None:
        return _unstated(price)
    found = price.kept.of(("policy", facts["slug"]), lambda: _of_facts(facts, price.prices))
    rules = found.rules
    if rules is not None and ttl_s is not None and ttl_s not in rules.ttls_s and not rules.ttl_settable:
        offered = ", ".join(str(ttl) for ttl in rules.ttls_s)
        raise InvalidInputError(
            _("%(policy)s offers times to live of %(offered)s s.") % {"policy": facts["name"], "offered": offered},
            field="ttl_s",
        )
    return found


def _of_facts(facts: FactRow, prices: InForce) -> ResolvedPolicy:
    return ResolvedPolicy(
        rules=_rules(facts, prices),
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
        kept_by_reading=facts["mode"] == "explicit" and facts["refresh_on_hit"],
        reads_explicit=facts["mode"] == "explicit",
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
        rules=CacheRules(ttls_s=write_ttls(price.prices), ttl_settable=True),
        assumptions=(
            _(
                "No cache policy is stated: no minimum, steps of one token, hits refresh, times to live of the write "
                "meters."
            ),
        ),
    )
