"""Who wins and what would change it, by numbers worked out by hand."""

from decimal import Decimal

import pytest

from reports.decision.winner import Standing, outcome


def standing(
    gpu: str, rate: float, price: str | None, cost: str | None, band: tuple[str, str] | None = None
) -> Standing:
    low, high = (None, None) if band is None else map(Decimal, band)
    return Standing(
        gpu=gpu,
        tokens_per_s_per_gpu=rate,
        price=None if price is None else Decimal(price),
        cost=None if cost is None else Decimal(cost),
        cost_low=low,
        cost_high=high,
        currency=None if price is None else "USD",
    )


# 3.60 USD an hour at 1,000 tokens/s: 3.6 / (1,000 · 3,600) · 10^6 = 1.00 a million.
FAST = standing("fast", 1000.0, "3.60", "1.00", ("0.80", "1.20"))
# 2.25 USD an hour at 500 tokens/s: 2.25 / (500 · 3,600) · 10^6 = 1.25 a million.
SLOW = standing("slow", 500.0, "2.25", "1.25", ("1.10", "1.60"))


def test_the_second_wins_below_the_price_at_which_both_cost_the_same() -> None:
    found = outcome([SLOW, FAST])
    assert found is not None
    assert [one.gpu for one in found.order] == ["fast", "slow"]
    assert found.margin == pytest.approx(0.25)
    # By hand: 1.00 a million at 500 tokens/s is 1.00 · 500 · 3,600 / 10^6 = 1.80 an hour.
    assert found.runner_up_wins_below == Decimal("1.8")
    # And 1.25 a million at 1,000 tokens/s is 1.25 · 1,000 · 3,600 / 10^6 = 4.50 an hour.
    assert found.winner_loses_above == Decimal("4.5")
    assert found.bands_overlap is True  # 0.80–1.20 and 1.10–1.60


@pytest.mark.parametrize("price", ["1.7999", "1.8001"])
def test_on_either_side_of_that_price_the_other_wins(price: str) -> None:
    cost = Decimal(price) / (500 * 3600) * 10**6
    found = outcome([FAST, standing("slow", 500.0, price, str(cost))])
    assert found is not None
    assert found.first.gpu == ("slow" if price < "1.8" else "fast")


def test_bands_that_do_not_touch_are_told_apart() -> None:
    found = outcome([FAST, standing("slow", 500.0, "2.25", "1.25", ("1.21", "1.60"))])
    assert found is not None
    assert found.bands_overlap is False


def test_without_prices_the_speed_of_a_gpu_decides() -> None:
    found = outcome([standing("a", 100.0, None, None), standing("b", 150.0, None, None)])
    assert found is not None
    assert (found.first.gpu, found.by) == ("b", "speed")
    assert found.margin == pytest.approx(0.5)
    assert found.runner_up_wins_below is None


def test_a_gpu_without_a_price_is_not_placed_among_those_with_one() -> None:
    found = outcome([standing("free?", 9000.0, None, None), FAST])
    assert found is not None
    assert [one.gpu for one in found.order] == ["fast"]
    assert found.margin is None


def test_amounts_of_two_currencies_are_not_compared() -> None:
    euros = Standing(gpu="e", tokens_per_s_per_gpu=1.0, cost=Decimal(1), price=Decimal(1), currency="EUR")
    assert outcome([FAST, euros]) is None


def test_what_is_given_for_nothing_costs_nothing_and_has_no_margin() -> None:
    given = standing("given", 10.0, "0", "0")
    found = outcome([FAST, given])
    assert found is not None
    assert (found.first.gpu, found.margin) == ("given", None)
    assert found.runner_up_wins_below == 0


def test_nobody_stands_where_there_is_nobody() -> None:
    assert outcome([]) is None
