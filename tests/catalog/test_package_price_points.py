"""Every price point of the package, asked of its own resolver, is the catalog's; a person's word survives imports."""

import datetime
from collections import Counter, defaultdict
from decimal import Decimal

import genai_prices.data as bundled
import pytest
from genai_prices import types as package

from catalog.importers import genai_prices as importer
from catalog.models import ApiPrice
from catalog.models.pricing import STANDARD, price_slug
from catalog.price_ends import price_ends
from catalog.price_rows import worth_of
from catalog.services import price_sources
from catalog.services.prices import change_price, close_price, void_price
from estimator.engine.cost.price_list import prices_in_force
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db
TODAY = datetime.date(2026, 11, 30)
NOON = datetime.time(12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
AT_LEAST = 22_500


def moments(model):
    """Today, a year ago, half a year on, each day on which a price of the model changes and the day before it."""
    sets = [] if isinstance(model.prices, package.ModelPrice) else list(model.prices)
    starts = {start for each in [*sets, *(model.price_variants or [])] if (start := importer._start(each))}
    days = {TODAY, TODAY - 365 * DAY, TODAY + 183 * DAY, *starts, *(start - DAY for start in starts)}
    return [datetime.datetime.combine(day, NOON) for day in sorted(days)]


def named_by(model, moment, context):
    """Price keys that the variants of a context state on that day."""
    return {
        key
        for variant in (model.price_variants or [])
        if context.items() >= variant.when.items() and (not variant.constraint or variant.constraint.active(moment))
        for key in importer._worth(variant.prices)
    }


def points(provider, model):
    """(moment, channel, endpoint class, price key, tokens of the prompt, price) as the package resolves them."""
    contexts = [({}, STANDARD, "")]
    contexts += [
        (when, channel or STANDARD, place) for when, channel, place in importer._contexts(provider, model, None)
    ]
    for moment in moments(model):
        for context, channel, place in contexts:
            named = named_by(model, moment, context)
            for key, price in importer._worth(model.get_prices(moment, context)).items():
                if context and key not in named:
                    continue  # the standard price, which the channel does not name
                tiers = price.tiers if isinstance(price, package.TieredPrices) else []
                for prompt in (1, *(tier.start + 2 for tier in tiers)):
                    reached = [tier.price for tier in tiers if tier.start < prompt]
                    base = price.base if isinstance(price, package.TieredPrices) else price
                    yield moment, channel, place, key, prompt, (reached or [base])[-1]


def rows_of_the_catalog():
    rows = defaultdict(list)
    for row in ApiPrice.objects.filter(voided_at__isnull=True):
        rows[row.slug].append(row.as_engine_row())
    return rows


def dated_later(rows, thing, day):
    """Whether the first price of a meter over a channel is known by its day, and that is a later one."""
    same = [row for row in rows if (row.meter, row.channel, row.endpoint_class) == thing and not row.tier_above_tokens]
    starts = [row.effective_from for row in same]
    return bool(starts) and None not in starts and min(starts) > day


def test_all_price_points_of_the_package_are_those_of_the_catalog():
    load_shipped_catalog()
    rows = rows_of_the_catalog()
    found, others = Counter(), []
    for provider in bundled.providers:
        for model in provider.models:
            slug, cache = price_slug(provider.id, model.id), {}
            for moment, channel, place, key, prompt, price in points(provider.id, model):
                name, unit = importer.meter_of_price_key(key, model.id)
                asked = (moment, channel, place)
                if asked not in cache:
                    cache[asked] = prices_in_force(
                        rows[slug], currency="USD", moment=moment, channel=channel, endpoint_class=place
                    )
                prices = cache[asked]
                row = prices.row(prices.tier_for(Decimal(prompt)), name)
                end = price_ends().get((provider.id, model.id))
                if row is not None and (row.amount, row.unit) == (importer.without_noise(price), unit):
                    found["equal"] += 1
                elif row is None and dated_later(rows[slug], (name, channel, place), moment.date()):
                    found["before our own first dated price, of which the package's price of today says nothing"] += 1
                elif end and moment.date() >= end:
                    found["ended by its seller (price_ends.yaml)"] += 1
                else:
                    others.append((slug, str(moment), channel, place, key, prompt, price, row))
    print(  # noqa: T201  read by people: how many points were compared
        f"\n{sum(found.values()) + len(others)} price points of the package: {dict(found)}, {len(others)} others"
    )
    assert others == [], others[:5]
    assert found["equal"] >= AT_LEAST


def test_importing_again_changes_nothing_and_a_persons_word_survives_it():
    load_shipped_catalog()
    assert not price_sources.plan_genai_prices().writes
    open_rows = ApiPrice.objects.filter(
        price_list__source=importer.PACKAGE, channel=STANDARD, meter="input", effective_to=None, window_key=""
    ).exclude(effective_from__gt=TODAY)
    changed, ended, voided = open_rows.order_by("slug")[:3]
    ours = change_price(changed, amount=Decimal("0.01"), effective_from=TODAY, reason="our contract")
    close_price(ended, on=TODAY, reason="no longer sold to us")
    void_price(voided, reason="never right")
    price_sources.load_everything()
    assert not price_sources.plan_genai_prices().writes
    ours.refresh_from_db()
    assert worth_of(ours).amount == Decimal("0.01")
    for row in (changed, ended):
        row.refresh_from_db()
        assert row.effective_to == TODAY
    on_day = ApiPrice.objects.filter(channel=STANDARD, meter="input", voided_at=None, effective_to=None)
    assert [row.pk for row in on_day.filter(slug=changed.slug)] == [ours.pk]
    assert not on_day.filter(slug__in=(ended.slug, voided.slug)).exists()
