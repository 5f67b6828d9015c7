"""Our bills against genai-prices' own calculator, over every model and variant it ships; differences have rules.

Rules (docs/prices.md): (R1) the package bills a kind of token without a price of its own at its parent's price, we call
it unpriced; (R2) peak hours hold on the days and at the prices of their time (`catalog.peak_hours`), the package
knows no weekdays and applies today's peak prices at all dates; (R3) amounts with more than 12 decimals are rounded
there; (R4) Groq bills
ten seconds of audio at least, a rule of usage and not of the list; (R5) the package's count of cache writes holds the
one-hour writes, our five-minute meter does not. (R6) a flat price of tokens
beside tiered ones is no price of long prompts here. Usages are drawn so that R1 and R4 cannot arise,
and moments so that R2 is met on purpose in a test of its own.
"""

import random
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext

import genai_prices.data as bundled
import pytest
from genai_prices.data_units import unit_data
from genai_prices.types import ModelPrice, TieredPrices, TimeOfDateConstraint, Usage
from genai_prices.units import UnitRegistry

from catalog.importers import genai_prices
from catalog.models import PriceList, Provider
from catalog.services.price_import import row_of
from estimator.engine.cost.api import UsageConvention, api_cost
from estimator.engine.cost.meters import meter
from estimator.engine.cost.price_list import prices_in_force
from estimator.engine.errors import InvalidInputError, UnpricedMeterError

REGISTRY = UnitRegistry(unit_data)
MODELS = [(provider, model) for provider in bundled.providers for model in provider.models]


@pytest.fixture(scope="module")
def stated():
    by_model = defaultdict(list)
    for price in genai_prices.read_package().prices:
        by_model[price.provider, price.model].append(price)
    listed = PriceList(slug="genai-prices")
    return {
        key: tuple(row_of(price, Provider(slug=price.provider), listed).as_engine_row() for price in prices)
        for key, prices in by_model.items()
    }


def usage_for(prices, rng):
    """Random inclusive counts of the units a price set knows, every whole at least its parts."""
    units = [REGISTRY.unit_for_price_key(key) for key, value in vars(prices).items() if value is not None]
    units = [unit for unit in units if unit.usage_key != "requests"]
    leaves = {unit.usage_key: rng.choice((0, rng.randrange(1, 2_000), rng.randrange(1, 400_000))) for unit in units}
    counts = {}
    for unit in units:
        inside = [u for u in units if unit.dimensions.items() <= u.dimensions.items()]
        counts[unit.usage_key] = sum(leaves[u.usage_key] for u in inside)
    return units, counts


def ours(rows, model, units, counts, moment, channel, endpoint_class):
    usage = {}
    for unit in units:
        name, _unit = genai_prices.meter_of_price_key(unit.price_key, model.id)
        count = counts[unit.usage_key]
        if unit.usage_key == "cache_write_tokens":
            count -= counts.get("cache_write_1h_tokens", 0)  # R5
        usage[meter(name).usage_key] = Decimal(count)
    in_force = prices_in_force(
        rows, currency="USD", moment=moment, channel=channel or "standard", endpoint_class=endpoint_class
    )
    return api_cost(in_force, usage, convention=UsageConvention.INCLUSIVE).total


def theirs(model, provider, counts, moment, context):
    with localcontext() as context_of_decimals:
        context_of_decimals.prec = 60
        return model.calc_price(
            Usage(**counts), provider, genai_request_timestamp=moment, price_context=context
        ).total_price


def tolerance(counts):
    """R3: half a unit of the twelfth decimal on every counted million."""
    return Decimal(sum(counts.values())) * Decimal("5e-13")


def flat_beside_tiers(*price_sets):
    tokens = [price for prices in price_sets for key, price in vars(prices).items() if price and key.endswith("_mtok")]
    return len({isinstance(price, TieredPrices) for price in tokens}) == 2


def without_hours(model):
    if isinstance(model.prices, ModelPrice):
        return model
    dated = [each for each in model.prices if not isinstance(each.constraint, TimeOfDateConstraint)]
    return replace(model, prices=dated)


def test_every_model_and_variant_is_billed_as_the_package_bills_it(stated):
    rng = random.Random(20261129)
    compared, variants, unpriced = 0, 0, 0
    for provider, whole in MODELS:
        model = without_hours(whole)
        rows = [row for row in stated.get((provider.id, whole.id), ()) if row.window is None]
        contexts = [({}, "", ""), *genai_prices._contexts(provider.id, whole, None)]
        for context, channel, endpoint_class in contexts:
            first_day = datetime(2026, 10, 1, 12, tzinfo=UTC) if context else datetime(2025, 1, 1, 12, tzinfo=UTC)
            moment = first_day + timedelta(days=rng.randrange(0, 240 if context else 900))
            prices = model.get_prices(moment, context or None)
            units, counts = usage_for(prices, rng)
            if not units or (provider.id == "groq" and "whisper" in model.id):
                continue  # R4
            same_object = replace(provider, models=[model])
            expected = theirs(model, same_object, counts, moment, context or None)
            try:
                found = ours(rows, model, units, counts, moment, channel, endpoint_class)
            except UnpricedMeterError:
                assert flat_beside_tiers(prices, model.get_prices(moment)), (provider.id, model.id, context)  # R6
                unpriced += 1
                continue
            except InvalidInputError:
                # The variant has not begun at that moment: the package falls back to standard, we say so.
                assert channel or endpoint_class
                assert expected == theirs(model, same_object, counts, moment, None)
                continue
            assert abs(found - expected) <= tolerance(counts), (provider.id, model.id, context, moment, counts)
            compared += 1
            variants += bool(context)
    assert compared >= 2000
    assert variants >= 100
    assert unpriced >= 1


@pytest.mark.parametrize(
    ("moment", "explained"),
    [
        (datetime(2026, 11, 27, 2, tzinfo=UTC), False),  # Friday, peak
        (datetime(2026, 11, 27, 5, tzinfo=UTC), False),  # Friday, between the peaks
        (datetime(2026, 11, 28, 2, tzinfo=UTC), True),  # R2: Saturday has no peak
        (datetime(2026, 7, 1, 2, tzinfo=UTC), True),  # R2: before the dated price there was no peak
    ],
)
def test_peak_hours_differ_from_the_package_only_as_the_rules_say(stated, moment, explained):
    provider, model = next((p, m) for p, m in MODELS if (p.id, m.id) == ("deepseek", "deepseek-v4-pro"))
    counts = {"input_tokens": 10_000, "cache_read_tokens": 4_000, "output_tokens": 500}
    units = [REGISTRY.units[key] for key in counts]
    found = ours(stated[provider.id, model.id], model, units, counts, moment, "", "")
    expected = theirs(model, provider, counts, moment, None)
    assert (found != expected) == explained
    if explained:
        assert found == theirs(without_hours(model), replace(provider, models=[]), counts, moment, None)


def test_nothing_of_the_package_is_left_out():
    reading = genai_prices.read_package()
    assert reading.models == len(MODELS) >= 2330
    assert reading.skipped == ()
    assert {(price.provider, price.model) for price in reading.prices} == {
        (provider.id, model.id)
        for provider, model in MODELS
        if _has_prices(model) or genai_prices.says_free(provider.id, model)
    }


def _has_prices(model):
    sets = [model.prices] if isinstance(model.prices, ModelPrice) else [each.prices for each in model.prices]
    return any(value is not None for prices in sets for value in vars(prices).values())
