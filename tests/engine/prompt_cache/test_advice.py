"""Advice on caching: reads that keep entries alive against a simulation, and the order of the ways."""

from decimal import Decimal

import numpy as np
import pytest

from estimator.engine.cost.price_list import inline_prices
from estimator.engine.prompt_cache.advice import Use, advice
from estimator.engine.prompt_cache.policy import ArrivalKind, Arrivals, CacheRules
from estimator.engine.prompt_cache.saving import Prompt, estimate

D = Decimal
PRICES = inline_prices(
    currency="USD",
    meters={name: D(amount) for name, amount in {
        "input": "4", "output": "20", "cache_read": "0.2", "cache_write_5m": "5", "cache_write_1h": "8",
    }.items()},
)  # fmt: skip
RULES = CacheRules(ttls_s=(300, 3600), writes_free=False, kept_by_reading=True)
PROMPT = Prompt(prefix_tokens=100_000, suffix_tokens=0, output_tokens=0)


def ways(arrivals, **options):
    found = estimate(PRICES, RULES, PROMPT, arrivals, **options)
    return advice(found.by_ttl, RULES, PROMPT, arrivals)


def cost(found, use, ttl_s):
    return next(option.cost for option in found.options if (option.use, option.ttl_s) == (use, ttl_s))


def test_reads_that_keep_an_entry_alive_agree_with_a_simulation():
    """One read for every whole life of an idle gap: a million random gaps at 6 requests an hour, lives of 5 minutes."""
    gaps = np.random.default_rng(20261130).exponential(600, 1_000_000)
    between = float(np.floor(gaps / 300).mean())
    found = cost(ways(Arrivals(requests_per_hour=6)), Use.KEPT_ALIVE, 300)
    assert float(found) == pytest.approx(100_000 * 0.2e-6 * (1 + between), rel=0.005)


def test_evenly_spaced_requests_need_one_read_for_each_whole_life_between_them():
    # A request every 25 minutes: reads after 5, 10, 15 and 20 minutes, so five reads of 0.02 for each request.
    found = ways(Arrivals(kind=ArrivalKind.REGULAR, requests_per_hour=2.4))
    assert cost(found, Use.KEPT_ALIVE, 300) == D("0.1")
    assert cost(found, Use.LIFETIME, 300) == D("0.5")
    assert (found.best.use, found.best.ttl_s) == (Use.LIFETIME, 3600)


def test_none_is_advised_where_every_way_costs_more():
    found = ways(Arrivals(requests_per_hour=0.02))
    assert found.best.use is Use.NONE
    assert {option.use for option in found.options} == {Use.NONE, Use.LIFETIME, Use.KEPT_ALIVE}
    assert all(option.cost >= found.best.cost for option in found.options)


def test_a_campaign_of_one_request_writes_and_never_reads():
    found = ways(Arrivals(requests_per_hour=1), horizon_s=60)
    # One write at 5 USD per million: dearer than the 0.4 without a cache.
    assert cost(found, Use.LIFETIME, 300) == D("0.5")
    assert found.best.use is Use.NONE
