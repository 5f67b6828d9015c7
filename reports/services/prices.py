"""Price of a GPU hour for each accelerator of a sweep: given, by offer, or the default price of every estimate."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from catalog.spelling import near_matches
from estimator.engine.cost.money import money_text
from estimator.engine.errors import InvalidInputError
from estimator.engine.faults import Fault, ResolutionError
from estimator.question.ownership import OwnedGpus
from estimator.question.sweep import without_nulls
from estimator.resolvers.facts import Facts, UnknownSlugError
from estimator.resolvers.gpu_prices import OFFERS_CURRENCY, default_price, owned_price


def prices_of(gpus: list[str], pricing: Mapping[str, Any] | None, facts: Facts) -> dict[str, Any]:
    """By accelerator {"price_per_gpu_hour": decimal text, "currency", "source"}; one without a price is left out.

    Raises:
        ResolutionError: A GPU that is not in the sweep, an unknown offer, or an offer of another GPU.
    """
    given = pricing or {}
    faults: list[Fault] = []
    found: dict[str, Any] = {}
    for slug, amount in (given.get("price_per_gpu_hour") or {}).items():
        if slug in gpus:
            found[slug] = {"price_per_gpu_hour": amount, "currency": given["currency"], "source": _("given")}
        else:
            faults.append(_not_in_sweep(("price_per_gpu_hour", slug), gpus))
    for slug, part in (given.get("owned") or {}).items():
        if slug not in gpus or slug in found:
            faults.append(_not_owned(slug, gpus))
            continue
        try:
            own = owned_price(OwnedGpus.model_validate(without_nulls(part), strict=False), given["currency"])
        except InvalidInputError as wrong:
            path = ("owned", slug, wrong.field or "capex")
            faults.append(Fault(path=path, code="invalid", detail=str(wrong)))
            continue
        found[slug] = {
            "price_per_gpu_hour": money_text(own.amount), "currency": own.currency, "source": own.source,
        }  # fmt: skip
    for slug, offer in (given.get("offers") or {}).items():
        if slug not in gpus:
            faults.append(_not_in_sweep(("offers", slug), gpus))
            continue
        priced = _offer(slug, offer, given.get("currency", OFFERS_CURRENCY), facts, faults)
        if priced:
            found[slug] = priced
    if faults:
        raise ResolutionError(faults)
    missing = [slug for slug in gpus if slug not in found]
    return found | _defaults(missing, given.get("currency", OFFERS_CURRENCY), facts)


def _not_owned(slug: str, gpus: list[str]) -> Fault:
    if slug not in gpus:
        return _not_in_sweep(("owned", slug), gpus)
    detail = _("Give one price of it: price_per_gpu_hour or owned.")
    return Fault(path=("owned", slug), code="ambiguous", detail=detail)


def _not_in_sweep(path: tuple[str | int, ...], gpus: list[str]) -> Fault:
    detail = _("This accelerator is not in the sweep; its accelerators are %(gpus)s.") % {"gpus": ", ".join(gpus)}
    return Fault(path=path, code="invalid", detail=detail)


def _offer(gpu: str, slug: str, currency: str, facts: Facts, faults: list[Fault]) -> dict[str, Any] | None:
    path = ("offers", gpu)
    try:
        row = facts.row("offer", slug)
    except UnknownSlugError:
        near = near_matches(slug, _offers(facts))
        detail = _("There is no offer “%(slug)s” in the catalog.") % {"slug": slug}
        faults.append(Fault(path=path, code="unknown_slug", detail=detail, near=near))
        return None
    if row["gpu"] != gpu:
        detail = _("This offer is for %(gpu)s.") % {"gpu": row["gpu"]}
        faults.append(Fault(path=path, code="invalid", detail=detail))
        return None
    if row["currency"] != currency:
        detail = _("This offer is in %(offer)s, the report in %(report)s: amounts could not be compared.")
        faults.append(Fault(path=path, code="invalid", detail=detail % {"offer": row["currency"], "report": currency}))
        return None
    return _priced(row)


def _offers(facts: Facts) -> list[str]:
    return list(facts.slugs("offer"))


def _defaults(gpus: list[str], currency: str, facts: Facts) -> dict[str, Any]:
    """For each accelerator the default price that the estimates take; one without any offer is left out."""
    prices = {gpu: default_price(gpu, facts, currency) for gpu in sorted(set(gpus))}
    return {
        gpu: {
            "price_per_gpu_hour": f"{price.amount.normalize():f}",
            "currency": price.currency,
            "source": price.source,
            "offer": price.offer,
            "date": price.date,
            "seller": facts.row("offer", price.offer)["provider"] if price.offer else None,
        }
        for gpu, price in prices.items()
        if price is not None
    }


def _priced(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "price_per_gpu_hour": str(row["price_per_gpu_hour"]),
        "currency": row["currency"],
        "source": f"{row['slug']}: {row.get('source', '')}",
        "offer": row["slug"],
        "date": row.get("date_seen"),
        "seller": row.get("provider"),
    }
