"""Notes what loads and imports left alone, for the review queue; each reading of a source replaces its last."""

from collections.abc import Iterable

from catalog.models import LeftAlone
from catalog.models.pricing import price_slug
from catalog.price_rows import PriceKey
from catalog.price_words import meter_words


def note_rows(source: str, kind: str, left: Iterable[tuple[str, str]]) -> None:
    """Rows with slugs, each with the reason."""
    _replace(
        source,
        [LeftAlone(source=source, kind=kind, slug=slug, name=slug, reason=reason) for slug, reason in left],
    )


def note_prices(source: str, left: Iterable[tuple[PriceKey, str]]) -> None:
    """Prices on which a person's word stands, each with the reason."""
    _replace(source, [_price(source, key, reason) for key, reason in left])


def _price(source: str, key: PriceKey, reason: str) -> LeftAlone:
    tier = str(key.tier_above_tokens) if key.tier_above_tokens else ""
    parts = (meter_words(key.meter), key.channel, key.endpoint_class, tier, key.window_key)
    return LeftAlone(
        source=source,
        kind="apiprice",
        slug=price_slug(key.provider, key.model),
        name=f"{key.provider}, {key.model}: {', '.join(filter(None, parts))}",
        reason=reason,
    )


def _replace(source: str, rows: list[LeftAlone]) -> None:
    LeftAlone.objects.filter(source=source).delete()
    LeftAlone.objects.bulk_create(rows)
