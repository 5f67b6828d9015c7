"""API bills against amounts worked by hand; every case is a mistake some tool makes."""

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.engine.cost.api import UsageConvention, api_cost
from estimator.engine.cost.money import money_text, priced, round_physics
from estimator.engine.cost.price_list import DailyWindow, InlineTier, PriceRow, inline_prices, prices_in_force
from estimator.engine.errors import InvalidInputError, UnpricedMeterError

D = Decimal


def prices(tiers=(), channel="standard", currency="USD", **meters):
    return inline_prices(
        currency=currency, meters={name: D(amount) for name, amount in meters.items()}, tiers=tiers, channel=channel
    )


def tier(above, operator="gt", **meters):
    return InlineTier(above_tokens=above, operator=operator, meters={k: D(v) for k, v in meters.items()})


def bill(price_list, inclusive=False, **usage):
    convention = UsageConvention.INCLUSIVE if inclusive else UsageConvention.DISJOINT
    return api_cost(price_list, {key: D(count) for key, count in usage.items()}, convention=convention)


GEMINI_25_PRO = prices(
    input="1.25", cache_read="0.3125", output="10", tiers=[tier(200_000, input="2.5", cache_read="0.625", output="15")]
)


class TestPublicCases:
    def test_c01_cached_and_written_tokens_of_an_inclusive_prompt_are_billed_once(self):
        result = bill(
            prices(input="3", cache_read="0.30", cache_write_5m="3.75", output="15"),
            inclusive=True,
            input_tokens=2000,
            cache_read_tokens=500,
            cache_write_5m_tokens=300,
        )
        # 1,200 × 3 + 500 × 0.30 + 300 × 3.75 = 3,600 + 150 + 1,125 = 4,875 per million
        assert result.total == D("0.004875")
        assert {line.meter: line.quantity for line in result.lines} == {
            "input": 1200,
            "cache_read": 500,
            "cache_write_5m": 300,
        }

    def test_c03_a_long_prompt_picks_the_long_tier_for_every_meter(self):
        result = bill(
            GEMINI_25_PRO, inclusive=True, input_tokens=262_960, cache_read_tokens=257_955, output_tokens=1744
        )
        # 5,005 × 2.5 + 257,955 × 0.625 + 1,744 × 15 = 12,512.5 + 161,221.875 + 26,160 = 199,894.375
        assert result.total == D("0.199894375")
        assert result.tier.label == "prompt > 200000 tokens"
        assert {line.tier for line in result.lines} == {"prompt > 200000 tokens"}

    def test_c05_writes_of_a_long_prompt_are_billed_in_its_tier(self):
        sonnet = prices(
            input="3",
            output="15",
            cache_write_5m="3.75",
            tiers=[tier(200_000, input="6", output="22.5", cache_write_5m="7.5")],
        )
        result = bill(sonnet, input_tokens=200_000, cache_write_5m_tokens=5000)
        line = next(line for line in result.lines if line.meter == "cache_write_5m")
        assert line.amount == D("0.0375")

    def test_c07_five_minute_and_one_hour_writes_are_two_meters(self):
        opus = prices(input="5", cache_write_5m="6.25", cache_write_1h="10")
        assert bill(opus, cache_write_5m_tokens=600_000, cache_write_1h_tokens=400_000).total == D("7.75")

    @pytest.mark.parametrize(
        ("operator", "tokens", "expected"),
        [
            ("gt", 271_999, "1.389995"),
            ("gt", 272_000, "1.39"),
            ("gt", 272_001, "2.76501"),
            ("ge", 271_999, "1.389995"),
            ("ge", 272_000, "2.765"),
        ],
    )
    def test_c09_the_stored_operator_decides_at_the_threshold(self, operator, tokens, expected):
        price = prices(
            input="5",
            cache_read="0.5",
            output="30",
            tiers=[tier(272_000, operator, input="10", cache_read="1", output="45")],
        )
        assert bill(price, input_tokens=tokens, output_tokens=1000).total == D(expected)

    def test_c11_reasoning_is_billed_as_output_when_it_has_no_price_of_its_own(self):
        result = bill(prices(input="1.25", output="10"), input_tokens=0, output_tokens=500, reasoning_tokens=1500)
        assert result.total == D("0.02")
        assert "reasoning has no price of its own and is billed as output" in result.notes

    def test_c14_an_endpoint_class_ten_percent_dearer_is_so_on_all_four_meters(self):
        rows = []
        for meter, amount in {"input": "3", "output": "15", "cache_read": "0.3", "cache_write_5m": "3.75"}.items():
            rows.append(PriceRow(meter=meter, unit="mtok", amount=D(amount)))
            rows.append(PriceRow(meter=meter, unit="mtok", amount=D(amount) * D("1.1"), endpoint_class="us"))
        usage = {
            "input_tokens": D(1000),
            "output_tokens": D(1000),
            "cache_read_tokens": D(1000),
            "cache_write_5m_tokens": D(1000),
        }
        day = date(2026, 10, 1)
        world = api_cost(prices_in_force(rows, currency="USD", moment=day), usage)
        regional = api_cost(prices_in_force(rows, currency="USD", moment=day, endpoint_class="us"), usage)
        assert world.total == D("0.02205")
        assert regional.total == D("0.024255")

    def test_c15_the_currency_of_the_row_is_kept(self):
        assert bill(prices(currency="EUR", input="1", output="3.2"), input_tokens=1).currency == "EUR"

    def test_the_blended_price_is_the_bill_over_its_tokens_each_counted_once(self):
        # (0.8 · 0.1 + 0.2 · 1 + 0.5 · 10) / 1.5 million tokens; the reads are a part of the inclusive prompt.
        found = bill(
            prices(input="1", cache_read="0.1", output="10"),
            inclusive=True,
            input_tokens=1_000_000,
            cache_read_tokens=800_000,
            output_tokens=500_000,
        )
        assert found.cost_per_mtok_blended == D("3.52")
        searched = bill(prices(input="2", web_search="0.01"), input_tokens=500_000, web_searches=100)
        assert searched.cost_per_mtok_blended == D("4")
        assert bill(prices(web_search="0.01"), web_searches=1).cost_per_mtok_blended is None

    def test_c16_an_unknown_meter_is_an_error_or_null_with_a_reason_and_never_zero(self):
        price = prices(input="1.25", output="10")
        with pytest.raises(UnpricedMeterError, match="cache_read has no price"):
            bill(price, input_tokens=1, cache_read_tokens=1)
        partial = api_cost(price, {"input_tokens": D(4), "cache_read_tokens": D(1)}, partial=True)
        assert partial.total is None
        assert partial.reason == "unpriced-meter: cache_read"
        assert partial.priced_total == D("0.000005")

    def test_c16_an_explicit_zero_is_a_price(self):
        result = bill(prices(input="0", output="0"), input_tokens=10**6, output_tokens=10**6)
        assert result.total == 0
        assert [line.amount for line in result.lines] == [0, 0]

    def test_c23_two_dated_rows_bill_each_request_at_the_price_of_its_day(self):
        rows = [
            PriceRow(meter="input", unit="mtok", amount=D(2), effective_to=date(2026, 9, 1)),
            PriceRow(meter="input", unit="mtok", amount=D(3), effective_from=date(2026, 9, 1)),
        ]
        usage = {"input_tokens": D(10**6)}

        def on(moment):
            return api_cost(prices_in_force(rows, currency="USD", moment=moment), usage).total

        assert on(date(2026, 8, 31)) == 2
        assert on(date(2026, 9, 1)) == 3
        assert on(datetime(2026, 8, 31, 23, 59, 59, tzinfo=UTC)) == 2
        assert on(datetime(2026, 9, 1, tzinfo=UTC)) == 3

    def test_c25_audio_has_its_own_price_and_is_not_billed_as_text(self):
        price = prices(input="2.5", output="10", input_audio="40", output_audio="80")
        result = bill(
            price,
            inclusive=True,
            input_tokens=1500,
            input_audio_tokens=1000,
            output_tokens=800,
            output_audio_tokens=800,
        )
        # 500 × 2.5 + 1,000 × 40 + 800 × 80 = 1,250 + 40,000 + 64,000
        assert result.total == D("0.10525")
        with pytest.raises(UnpricedMeterError, match="input_audio"):
            bill(prices(input="2.5", output="10"), input_tokens=5, input_audio_tokens=5)

    def test_c27_images_frames_and_seconds_are_units_of_their_own(self):
        price = prices(image="0.00012", video_frame="0.00079", audio_second="0.00016")
        result = bill(price, images=10, video_frames=20, audio_seconds=30)
        assert result.total == D("0.0012") + D("0.0158") + D("0.0048")


class TestChoosingRows:
    def test_batch_overrides_meter_by_meter_and_the_rest_stays_standard(self):
        rows = [
            PriceRow(meter="input", unit="mtok", amount=D(4)),
            PriceRow(meter="web_search", unit="ksearch", amount=D(10)),
            PriceRow(meter="input", unit="mtok", amount=D(2), channel="batch"),
        ]
        in_force = prices_in_force(rows, currency="USD", moment=date(2026, 11, 1), channel="batch")
        result = api_cost(in_force, {"input_tokens": D(1_000_000), "web_searches": D(3)})
        assert {line.meter: (line.amount, line.channel) for line in result.lines} == {
            "input": (D(2), "batch"),
            "web_search": (D("0.03"), "standard"),
        }
        assert result.notes == ("the batch channel has no price of its own for web_search: billed as standard",)

    def test_a_channel_nobody_sells_is_refused(self):
        rows = [PriceRow(meter="input", unit="mtok", amount=D(4))]
        with pytest.raises(InvalidInputError, match="no prices of channel 'batch'"):
            prices_in_force(rows, currency="USD", moment=date(2026, 11, 1), channel="batch")

    @pytest.mark.parametrize(
        ("moment", "expected"),
        [
            (datetime(2026, 11, 27, 0, 59, tzinfo=UTC), 1),  # a Friday
            (datetime(2026, 11, 27, 1, 0, tzinfo=UTC), 2),
            (datetime(2026, 11, 27, 3, 59, 59, tzinfo=UTC), 2),
            (datetime(2026, 11, 27, 4, 0, tzinfo=UTC), 1),
            (datetime(2026, 11, 28, 2, 0, tzinfo=UTC), 1),  # Saturday is not peak
            (date(2026, 11, 27), 1),
        ],
    )
    def test_peak_hours_hold_on_their_weekdays_only(self, moment, expected):
        peak = DailyWindow(start=time(1), end=time(4), weekdays=0b0011111)
        rows = [
            PriceRow(meter="input", unit="mtok", amount=D(1)),
            PriceRow(meter="input", unit="mtok", amount=D(2), window=peak),
        ]
        in_force = prices_in_force(rows, currency="USD", moment=moment)
        assert api_cost(in_force, {"input_tokens": D(10**6)}).total == expected
        assert bool(in_force.notes) == (not isinstance(moment, datetime))

    def test_a_window_follows_the_zone_through_summer_time(self):
        window = DailyWindow(start=time(9), end=time(17), zone="Europe/Madrid")
        assert window.holds(datetime(2026, 7, 1, 7, 30, tzinfo=UTC))  # 09:30 in Madrid
        assert not window.holds(datetime(2026, 12, 1, 7, 30, tzinfo=UTC))  # 08:30 in Madrid

    def test_a_window_past_midnight_belongs_to_the_day_it_starts_on(self):
        window = DailyWindow(start=time(22), end=time(2), weekdays=0b0010000)  # Fridays
        assert window.holds(datetime(2026, 11, 28, 1, 0, tzinfo=UTC))  # Saturday, one at night
        assert not window.holds(datetime(2026, 11, 27, 1, 0, tzinfo=UTC))

    def test_a_tier_never_borrows_a_token_price_of_another_tier(self):
        price = prices(input="3", output="15", cache_read="0.3", tiers=[tier(200_000, input="6", output="22.5")])
        with pytest.raises(UnpricedMeterError, match="prompt > 200000 tokens"):
            bill(price, input_tokens=200_001, cache_read_tokens=1)

    def test_searches_know_no_tiers(self):
        price = prices(input="3", web_search="0.01", tiers=[tier(10, input="6")])
        result = bill(price, input_tokens=11, web_searches=2)
        assert {line.meter: line.tier for line in result.lines} == {
            "input": "prompt > 10 tokens",
            "web_search": "base",
        }

    def test_a_price_per_request_is_billed_for_each_request(self):
        price = prices(input="1", request="0.005")
        result = api_cost(price, {"input_tokens": D(1000)}, requests=D(3))
        assert result.total == D("0.003") + D("0.015")

    def test_the_tier_is_chosen_from_one_request_not_from_all_of_them(self):
        result = api_cost(GEMINI_25_PRO, {"input_tokens": D(150_000)}, requests=D(10))
        assert result.total == D("1.875")


class TestCounting:
    def test_parts_above_their_whole_are_refused(self):
        with pytest.raises(InvalidInputError, match="less than its parts"):
            bill(prices(input="3", cache_read="0.3"), inclusive=True, input_tokens=10, cache_read_tokens=11)

    def test_a_part_without_its_whole_is_refused(self):
        with pytest.raises(InvalidInputError, match="part of input_tokens"):
            bill(prices(input="3", cache_read="0.3"), inclusive=True, cache_read_tokens=11)

    def test_cached_audio_is_part_of_audio_and_of_reads_and_is_counted_once(self):
        price = prices(input="1", cache_read="0.1", input_audio="10", cache_read_audio="2")
        result = bill(
            price,
            inclusive=True,
            input_tokens=100,
            cache_read_tokens=40,
            input_audio_tokens=30,
            cache_read_audio_tokens=10,
        )
        assert {line.meter: int(line.quantity) for line in result.lines} == {
            "input": 40,
            "cache_read": 30,
            "input_audio": 20,
            "cache_read_audio": 10,
        }

    def test_an_unknown_usage_key_is_named(self):
        with pytest.raises(InvalidInputError, match="no meter"):
            bill(prices(input="1"), inptu_tokens=3)


class TestRounding:
    def test_amounts_are_exact_beyond_float(self):
        result = bill(prices(input="0.000000000001"), input_tokens=1)
        assert money_text(result.total) == "0.000000000000000001"

    def test_a_third_of_an_hour_has_28_digits(self):
        assert priced(D(1), D(1), 3600) == D("0.0002777777777777777777777777778")

    def test_physics_is_rounded_half_even_to_nine_digits(self):
        assert round_physics(D("1.2345678850")) == D("1.23456788")
        assert round_physics(D("1.23456789501")) == D("1.23456790")
        assert round_physics(D("1.234567895")) == D("1.23456790")
        assert round_physics(D("1.234567885")) == D("1.23456788")

    @pytest.mark.parametrize(
        ("amount", "text"), [("1E+3", "1000"), ("0.30", "0.3"), ("-0.0", "0"), ("5E-7", "0.0000005")]
    )
    def test_money_is_written_plainly(self, amount, text):
        assert money_text(D(amount)) == text


COUNT = st.integers(0, 10**9)
AMOUNT = st.decimals(min_value=0, max_value=1000, places=6, allow_nan=False)
METERS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


@given(amounts=st.lists(AMOUNT, min_size=5, max_size=5), counts=st.lists(COUNT, min_size=5, max_size=5))
def test_the_lines_add_up_to_the_total(amounts, counts):
    price = inline_prices(currency="USD", meters=dict(zip(METERS, amounts, strict=True)))
    usage = {f"{name}_tokens": D(count) for name, count in zip(METERS, counts, strict=True)}
    result = api_cost(price, usage)
    by_hand = sum((a * c for a, c in zip(amounts, counts, strict=True)), start=D(0)) / 10**6
    assert result.total == sum((line.amount for line in result.lines), start=D(0)) == by_hand


@given(
    amounts=st.lists(AMOUNT, min_size=5, max_size=5),
    counts=st.lists(COUNT, min_size=5, max_size=5),
    more=st.integers(1, 10**6),
    grown=st.sampled_from(METERS),
)
def test_more_tokens_never_cost_less_within_a_tier(amounts, counts, more, grown):
    price = inline_prices(currency="USD", meters=dict(zip(METERS, amounts, strict=True)))
    usage = {f"{name}_tokens": D(count) for name, count in zip(METERS, counts, strict=True)}
    before = api_cost(price, usage).total
    usage[f"{grown}_tokens"] += more
    assert api_cost(price, usage).total >= before


@given(parts=st.lists(st.integers(0, 10**6), min_size=3, max_size=3))
def test_inclusive_and_disjoint_counts_of_one_request_cost_the_same(parts):
    fresh, read, written = (D(part) for part in parts)
    price = prices(input="3", cache_read="0.3", cache_write_5m="3.75")
    disjoint = {"input_tokens": fresh, "cache_read_tokens": read, "cache_write_5m_tokens": written}
    inclusive = {**disjoint, "input_tokens": fresh + read + written}
    assert api_cost(price, inclusive, convention=UsageConvention.INCLUSIVE).total == api_cost(price, disjoint).total
