"""The timeline of one meter's price, as lines of text."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from catalog.models import ApiPrice
from catalog.price_words import amount_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of a timeline; `mark` is an arrow at the row looked at."""

    mark: str
    period: str
    price: str
    note: str


def timeline(row: ApiPrice) -> list[Line]:
    """Every price of the same meter, channel, class, tier and hours, oldest first, voided ones included."""
    same = ApiPrice.objects.filter(
        slug=row.slug,
        channel=row.channel,
        endpoint_class=row.endpoint_class,
        meter=row.meter,
        tier_above_tokens=row.tier_above_tokens,
        window_key=row.window_key,
    ).order_by("effective_from", "pk")
    # A start that is not known lies before all that are; databases disagree on where nulls sort.
    rows = sorted(same, key=lambda each: (each.effective_from is not None, str(each.effective_from or "")))
    return [
        Line(
            mark="→" if each.pk == row.pk else "",
            period=f"{each.effective_from or '…'} – {each.effective_to or '…'}",
            price=amount_words(each),
            note=_("voided: %(why)s") % {"why": each.void_reason} if each.voided_at else each.basis,
        )
        for each in rows
    ]
