"""Prompt caching against checked figures, a simulation and hand-worked amounts."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.engine.cost.price_list import InlineTier, inline_prices
from estimator.engine.errors import MissingFigureError, UnpricedMeterError
from estimator.engine.prompt_cache.cached_prices import cache_prices
from estimator.engine.prompt_cache.conversation import Turn, conversation_cost
from estimator.engine.prompt_cache.pays_from import break_even
from estimator.engine.prompt_cache.policy import (
    ArrivalKind,
    Arrivals,
    CacheRules,
    hit_probability,
    poisson_hit_probability,
    recorded_hits,
    regular_hit_probability,
)
from estimator.engine.prompt_cache.saving import Prompt, estimate, saving_with_ttl

D = Decimal


def prices(tiers=(), **meters):
    return inline_prices(currency="USD", meters={k: D(v) for k, v in meters.items()}, tiers=tiers)


OPUS = prices(input="4", output="20", cache_read="0.2", cache_write_5m="5", cache_write_1h="8")
CLASSIC = prices(input="3", output="15", cache_read="0.3", cache_write_5m="3.75", cache_write_1h="6")
RULES = CacheRules(ttls_s=(300, 3600), min_tokens=512)
PROMPT = Prompt(prefix_tokens=20_000, suffix_tokens=1000, output_tokens=500)


def per_hour(rate, kind=ArrivalKind.POISSON):
    return Arrivals(kind=kind, requests_per_hour=rate)


class TestHitProbability:
    @pytest.mark.parametrize("refresh", [True, False])
    @pytest.mark.parametrize(("rate", "ttl"), [(1, 300), (5, 300), (30, 300), (1, 3600), (5, 3600), (30, 3600)])
    def test_formulas_agree_with_a_simulation_of_a_million_arrivals(self, rate, ttl, refresh):
        gaps = np.random.default_rng(20261129).exponential(3600 / rate, 1_000_000)
        simulated = float(np.mean(gaps[1:] < ttl)) if refresh else _simulate_fixed_expiry(np.cumsum(gaps), ttl)
        formula = float(poisson_hit_probability(rate / 3600, ttl, refresh_on_hit=refresh))
        assert formula == pytest.approx(simulated, abs=0.002)

    @pytest.mark.parametrize("refresh", [True, False])
    def test_random_routing_over_shards_agrees_with_a_simulation(self, refresh):
        rng = np.random.default_rng(7)
        times = np.cumsum(rng.exponential(3600 / 40, 1_000_000))
        shard = rng.integers(0, 4, times.size)
        hits = 0
        for number in range(4):
            own = times[shard == number]
            if refresh:
                hits += int(np.sum(np.diff(own) < 300))
            else:
                hits += round(_simulate_fixed_expiry(own, 300) * own.size)
        formula = float(poisson_hit_probability(40 / 3600, 300, refresh_on_hit=refresh, shards=4))
        assert formula == pytest.approx(hits / times.size, abs=0.002)

    @pytest.mark.parametrize(("refresh", "shards"), [(True, 1), (False, 1), (True, 3), (False, 3)])
    def test_a_long_record_comes_to_the_poisson_formula(self, refresh, shards):
        times = np.cumsum(np.random.default_rng(3).exponential(3600 / 10, 60_000))
        found = np.mean(recorded_hits(times.tolist(), 300, refresh_on_hit=refresh, shards=shards))
        expected = poisson_hit_probability(10 / 3600, 300, refresh_on_hit=refresh, shards=shards)
        assert found == pytest.approx(float(expected), abs=0.005)

    def test_a_record_is_followed_exactly(self):
        times = (0, 200, 400, 600, 1000)
        assert recorded_hits(times, 300) == [0, 1, 1, 1, 0]
        # fixed expiry: written at 0, hit at 200, lapsed at 300; written at 400, hit at 600, lapsed at 700
        assert recorded_hits(times, 300, refresh_on_hit=False) == [0, 1, 0, 1, 0]

    def test_regular_gaps_hit_always_or_never_when_a_hit_refreshes(self):
        assert regular_hit_probability(299, 300) == 1
        assert regular_hit_probability(300, 300) == 0
        assert regular_hit_probability(301, 300) == 0

    def test_regular_gaps_under_fixed_expiry_alternate_writes_and_hits(self):
        # gap 100, life 300: written at 0, hits at 100 and 200, lapsed at 300
        assert regular_hit_probability(100, 300, refresh_on_hit=False) == pytest.approx(2 / 3)

    def test_best_effort_and_shards_lower_the_share(self):
        plain = hit_probability(per_hour(30), 300)
        assert hit_probability(per_hour(30), 300, hit_quality=0.8) == pytest.approx(0.8 * plain)
        assert hit_probability(per_hour(30), 300, shards=3) == pytest.approx(hit_probability(per_hour(10), 300))


def _simulate_fixed_expiry(times, ttl):
    written, hits = float("-inf"), 0
    for now in times.tolist():
        if now - written < ttl:
            hits += 1
        else:
            written = now
    return hits / len(times)


class TestSteadyState:
    # Design 08, the worked line for P = 20k, S = 1k, O = 500.
    @pytest.mark.parametrize(
        ("ttl", "rate", "cost", "percent"),
        [
            (300, 1, "0.1063", -13),
            (300, 6, "0.0762", 19),
            (300, 30, "0.0259", 72),
            (3600, 1, "0.0754", 20),
            (3600, 6, "0.0184", 80),
        ],
    )
    def test_worked_examples_of_opus(self, ttl, rate, cost, percent):
        found = saving_with_ttl(OPUS, RULES, PROMPT, per_hour(rate), ttl_s=ttl)
        assert found.cost_without == D("0.094")
        assert found.cost_with.quantize(D("0.0001")) == D(cost)
        assert abs(found.saving_fraction * 100 - percent) < 0.6

    def test_cost_by_hand(self):
        found = saving_with_ttl(OPUS, RULES, PROMPT, per_hour(6), ttl_s=300)
        hit = 1 - np.exp(-0.5)
        by_hand = (20_000 * (hit * 0.2 + (1 - hit) * 5) + 1000 * 4 + 500 * 20) / 1e6
        assert float(found.cost_with) == pytest.approx(by_hand, rel=1e-9)
        assert len(found.cost_with.as_tuple().digits) <= 9

    def test_a_horizon_of_n_requests_pays_the_cold_start(self):
        steady = saving_with_ttl(OPUS, RULES, PROMPT, per_hour(6), ttl_s=300)
        finite = saving_with_ttl(OPUS, RULES, PROMPT, per_hour(6), ttl_s=300, horizon_s=2 * 3600)
        hit = 1 - np.exp(-0.5)
        extra = (5 - hit * 0.2 - (1 - hit) * 5) * 20_000 / 12 / 1e6
        assert float(finite.cost_with - steady.cost_with) == pytest.approx(extra, rel=1e-6)

    def test_one_hour_beats_five_minutes_only_after_97_requests_at_60_per_hour(self):
        prompt = Prompt(prefix_tokens=20_000, suffix_tokens=0, output_tokens=0)

        def best(requests):
            return estimate(CLASSIC, RULES, prompt, per_hour(60), horizon_s=requests * 60).best.ttl_s

        assert best(97) == 300
        assert best(98) == 3600

    def test_for_regular_gaps_below_five_minutes_the_short_life_is_the_cheaper(self):
        found = estimate(CLASSIC, RULES, PROMPT, per_hour(20, ArrivalKind.REGULAR), horizon_s=3600)
        assert found.best.ttl_s == 300

    def test_the_crossing_of_the_two_lives_for_poisson_traffic(self):
        assert estimate(CLASSIC, RULES, PROMPT, per_hour(0.54)).best.ttl_s == 300
        assert estimate(CLASSIC, RULES, PROMPT, per_hour(0.56)).best.ttl_s == 3600

    def test_storage_by_the_hour_is_paid_whatever_the_traffic(self):
        rules = CacheRules(ttls_s=(3600,), refresh_on_hit=False, storage_price_per_mtok_hour=D("4.5"))
        pro = prices(input="1.25", output="10", cache_read="0.125")
        found = saving_with_ttl(pro, rules, PROMPT, per_hour(10), ttl_s=3600)
        # 20,000 × (0.125 + 4.5 / 10) + 1,000 × 1.25 + 500 × 10 = 11,500 + 1,250 + 5,000
        assert found.cost_with == D("0.01775")
        assert found.break_even.requests_per_hour == pytest.approx(4.0)
        once = saving_with_ttl(pro, rules, PROMPT, per_hour(10), ttl_s=3600, horizon_s=3600)
        assert once.cost_with == D("0.02025")  # + one write of 20,000 × 1.25 over 10 requests

    def test_a_missing_write_meter_bills_writes_as_input(self):
        gpt4o = prices(input="2.5", output="10", cache_read="1.25")
        found = saving_with_ttl(gpt4o, CacheRules(ttls_s=(600,)), PROMPT, per_hour(30), ttl_s=600)
        assert found.prices.write == D("0.0000025")
        assert found.break_even.requests_per_hour == 0

    def test_unpriced_reads_are_an_error(self):
        with pytest.raises(UnpricedMeterError):
            saving_with_ttl(prices(input="1", output="2"), RULES, PROMPT, per_hour(1), ttl_s=300)

    def test_without_any_known_life_one_must_be_given(self):
        with pytest.raises(MissingFigureError):
            estimate(CLASSIC, CacheRules(), PROMPT, per_hour(1))

    def test_cached_tokens_count_towards_the_tier(self):
        long = InlineTier(above_tokens=20_500, meters={"input": D(2), "output": D(2), "cache_read": D("0.2")})
        price = prices(input="1", output="1", cache_read="0.1", tiers=[long])
        found = saving_with_ttl(price, CacheRules(ttls_s=(300,)), PROMPT, per_hour(60), ttl_s=300)
        assert found.prices.input == D("0.000002")


class TestReasons:
    def test_below_the_minimum_nothing_is_cached(self):
        found = estimate(OPUS, RULES, Prompt(prefix_tokens=511, suffix_tokens=9, output_tokens=1), per_hour(60))
        assert found.reasons == ("below_minimum",)
        assert found.best.saving == 0
        assert found.best.cost_with == found.best.cost_without

    def test_only_whole_steps_are_cached(self):
        rules = CacheRules(ttls_s=(600,), min_tokens=1024, granularity_tokens=128)
        found = saving_with_ttl(
            CLASSIC, rules, Prompt(prefix_tokens=1500, suffix_tokens=0, output_tokens=0), per_hour(1e9), ttl_s=600
        )
        assert found.cached_tokens == 1408

    def test_s43_the_variable_part_first_saves_nothing_and_names_what_reordering_is_worth(self):
        found = estimate(OPUS, RULES, PROMPT, per_hour(30), variable_part_first=True)
        straight = estimate(OPUS, RULES, PROMPT, per_hour(30))
        assert found.reasons == ("variable_part_first",)
        assert found.best.saving == 0
        assert found.best.cached_tokens == 0
        assert found.reordering_worth == straight.best.saving > 0

    def test_rare_traffic_costs_more_with_billed_writes(self):
        found = estimate(OPUS, CacheRules(ttls_s=(300,)), PROMPT, per_hour(1))
        assert found.reasons == ("costs_more_than_it_saves",)
        assert found.best.saving < 0


class TestBreakEven:
    # Design 08: w, ρ, T → h*, r* per hour, whole reads.
    @pytest.mark.parametrize(
        ("read", "write", "ttl", "hit", "rate", "reads"),
        [
            ("0.1", "1.25", 300, 0.2174, 2.94, 1),
            ("0.1", "2", 3600, 0.5263, 0.747, 2),
            ("0.05", "1.25", 300, 0.2083, 2.80, 1),
            ("0.05", "2", 3600, 0.5128, 0.719, 2),
            ("0.05", "2.5", 43200, 0.6122, 0.079, 2),
        ],
    )
    def test_published_points(self, read, write, ttl, hit, rate, reads):
        meters = {"input": "1", "output": "5", "cache_read": read, "cache_write": write}
        price = cache_prices(prices(**meters), ttl, 1000)
        found = break_even(price, CacheRules(ttls_s=(ttl,)), ttl, kind=ArrivalKind.POISSON)
        assert round(found.hit_rate, 4) == hit
        assert found.requests_per_hour == pytest.approx(rate, rel=0.005)
        assert found.reads_per_write_whole == reads

    @given(
        read=st.floats(0.01, 0.9),
        write=st.floats(1.01, 3),
        ttl=st.integers(60, 86_400),
        refresh=st.booleans(),
        quality=st.floats(0.5, 1),
    )
    def test_at_the_break_even_rate_the_saving_is_nothing(self, read, write, ttl, refresh, quality):
        meters = {"input": "1", "output": "0", "cache_read": f"{read:.6f}", "cache_write": f"{write:.6f}"}
        rules = CacheRules(ttls_s=(ttl,), refresh_on_hit=refresh, hit_quality=quality)
        price_list = prices(**meters)
        found = break_even(cache_prices(price_list, ttl, 1000), rules, ttl, kind=ArrivalKind.POISSON)
        if found.requests_per_hour is None:
            assert found.hit_rate >= quality * 0.999
            return
        if not 0 < found.requests_per_hour < 1e9:
            return
        prompt = Prompt(prefix_tokens=10_000, suffix_tokens=0, output_tokens=0)
        there = saving_with_ttl(price_list, rules, prompt, per_hour(found.requests_per_hour), ttl_s=ttl)
        assert abs(there.saving_fraction) < 1e-7


class TestConversation:
    TURNS = [Turn(input_tokens=300, output_tokens=400)] * 20

    @pytest.mark.parametrize(("hit", "expected"), [(1.0, "0.3235"), (0.8, "0.590")])
    def test_twenty_turns_of_opus(self, hit, expected):
        found = conversation_cost(
            OPUS, CacheRules(), self.TURNS, fixed_tokens=8000, ttl_s=300, hit_probabilities=[hit] * 20
        )
        assert found.cost_without == D("1.356")
        assert float(found.cost_with) == pytest.approx(float(expected), rel=5e-4)

    def test_two_turns_by_hand(self):
        found = conversation_cost(
            OPUS, CacheRules(), self.TURNS[:2], fixed_tokens=8000, ttl_s=300, hit_probabilities=[1, 1]
        )
        # turn 1: 8,300 × 5 + 400 × 20 = 49,500; turn 2: 8,300 × 0.2 + 700 × 5 + 400 × 20 = 13,160
        assert [turn.cost_with for turn in found.turns] == [D("0.0495"), D("0.01316")]
        assert [turn.new_tokens for turn in found.turns] == [8300, 700]

    def test_the_minimum_holds_for_each_prompt(self):
        found = conversation_cost(
            OPUS, CacheRules(min_tokens=1024), self.TURNS[:3], fixed_tokens=100, ttl_s=300, hit_probabilities=[1] * 3
        )
        # prompts of 400, 1,100 and 1,800 tokens: the first is not cached, so the second finds nothing
        assert [turn.cached_tokens for turn in found.turns] == [0, 0, 1100]
