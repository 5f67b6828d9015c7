"""Owned machines, nodes, overheads and the months ahead over REST; every amount worked by hand."""

from decimal import Decimal

import orjson
import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
POWER = {"pue": 1.4, "price_per_kwh": "0.12", "currency": "USD"}
# Eight GPUs of 35,000 USD and 40 % of servers and network: 392,000.
OWNED = {
    "currency": "USD", "capex": "392000", "years": 4, "gpus": 8, "watts_per_gpu": 700, "power": POWER,
    "hours_per_month": 400, "overhead_per_month": "3000", "tokens_per_s_output": 10_000,
}  # fmt: skip
RENT = {"currency": "USD", "price_per_gpu_hour": "2.5", "tokens_per_s_output": 1500}
API = {"price": {"currency": "USD", "meters": {"input": "3", "output": "15"}}}
MONTH = {"requests": 1000, "input_tokens": 1500, "output_tokens": 500}


@pytest.fixture
def ask(client):
    def send(endpoint, status=200, query="", **body):
        path = f"/api/v1/estimates/{endpoint}/{query}"
        response = client.post(path, orjson.dumps(body), content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()

    return send


@pytest.fixture
def compare(ask):
    return lambda status=200, **body: ask(
        "break-even", status=status, **({"self_hosted": RENT, "api": API, "monthly": MONTH} | body)
    )


def test_owned_hardware_to_the_cent(ask):
    """392,000 / 48 = 8,166.67; 5.6 kW · 1.4 · 400 h · 0.12 = 376.32; 3,000: 11,542.99, over 3,200 GPU hours 3.607."""
    bill = ask("cost", query="?explain=true", self_hosted=OWNED)
    hosted = bill["self_hosted"]
    assert f"{Decimal(hosted['cost_per_month']):.2f}" == "11542.99"
    assert f"{Decimal(hosted['price_per_gpu_hour']):.3f}" == "3.607"
    assert f"{Decimal(hosted['owned']['capital']):.2f}" == "8166.67"
    assert hosted["owned"]["electricity"] == "376.32"
    # 11,542.9867 over 10,000 tokens/s · 400 h · 3,600 s = 14,400 Mtok
    assert hosted["cost_per_mtok_output"] == "0.801596299"
    assert {step["name"] for step in bill["explanation"]} >= {"capital", "electricity", "price_per_gpu_hour"}


def test_interest_is_that_of_a_loan(ask):
    """12 % a year over one year of 12,000: 0.01 a month, 12,000 · 0.01 / (1 − 1.01^−12) = 1,066.19."""
    bill = ask("cost", self_hosted={"currency": "USD", "capex": "12000", "years": 1, "interest_rate": 0.12,
                                    "tokens_per_s_output": 1})  # fmt: skip
    assert f"{Decimal(bill['self_hosted']['cost_per_month']):.2f}" == "1066.19"


def test_what_is_left_is_not_paid_off(ask):
    """(40,000 − 4,000) / 36 = 1,000; two kilowatts at 150 each are 300, two licences' 200."""
    bill = ask("cost", self_hosted={"currency": "USD", "capex": "40000", "residual_value": "4000", "years": 3,
                                    "watts_per_gpu": 1000, "host_watts": 800, "network_watts": 200,
                                    "power": {"pue": 1, "price_per_kwh": "0", "currency": "USD"},
                                    "colocation_per_kw_month": "150", "licence_per_month": "200",
                                    "tokens_per_s_output": 1})  # fmt: skip
    assert bill["self_hosted"]["cost_per_month"] == "1500"


def test_a_monthly_overhead_is_paid_beside_a_rent(ask):
    """B14: 2 · 730 + 5,000 = 6,460; a million tokens of 100/s: 6,460 / 262.8 = 24.58."""
    bill = ask("cost", self_hosted={"currency": "USD", "price_per_gpu_hour": "2", "tokens_per_s_output": 100,
                                    "overhead_per_month": "5000"})["self_hosted"]  # fmt: skip
    assert (bill["cost_per_month"], bill["cost_per_mtok_output"]) == ("6460", "24.5814307")


def test_nodes_are_paid_whole(ask):
    """Ten GPUs where nodes of eight are sold: two nodes at 20 an hour."""
    bill = ask("cost", self_hosted={"currency": "USD", "price_per_node_hour": "20", "gpus_per_node": 8, "gpus": 10,
                                    "tokens_per_s_output": 1})["self_hosted"]  # fmt: skip
    assert (bill["cost_per_hour"], bill["cost_per_month"], bill["price_per_gpu_hour"]) == ("40", "29200", "2.5")


def test_an_upfront_payment_is_spread_over_its_commitment(ask):
    """1,200 at once for a year and 1 an hour: 730 + 100."""
    bill = ask("cost", self_hosted={"currency": "USD", "price_per_gpu_hour": "1", "upfront": "1200",
                                    "commitment_months": 12, "tokens_per_s_output": 1})["self_hosted"]  # fmt: skip
    assert bill["cost_per_month"] == "830"


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"price_per_gpu_hour": "2"}, "#/self_hosted/capex"),
        ({"power": POWER | {"currency": "EUR"}}, "#/self_hosted/power/currency"),
        ({"years": 0}, "#/self_hosted/years"),
        ({"residual_value": "500000"}, "#/self_hosted/residual_value"),
    ],
)
def test_what_contradicts_itself_is_refused(ask, change, pointer):
    assert ask("cost", status=400, self_hosted=OWNED | change)["errors"][0]["pointer"] == pointer


def test_electricity_is_counted_where_it_is_asked_for(compare):
    """B15: 2 · 730 + 0.7 kW · 1.3 · 730 h · 0.12 = 1,460 + 79.716."""
    hosted = {"currency": "USD", "price_per_gpu_hour": "2", "tokens_per_s_output": 3000, "watts_per_gpu": 700,
              "power": {"pue": 1.3, "price_per_kwh": "0.12", "currency": "USD"}}  # fmt: skip
    answer = compare(self_hosted=hosted)
    assert answer["self_hosted"]["cost_per_month"] == "1539.716"


def test_growth_meets_the_rent_in_its_month(compare):
    """B16: 0.012 a request and 10 % a month: 12 a month at first, 1,825 of rent are met when 12 · 1.1^(m − 1) is,
    m = 1 + ln(152.083) / ln(1.1) = 53.72, so in month 54."""
    growing = MONTH | {"growth_per_month": 0.1}
    answer = compare(monthly=growing)
    curve = answer["over_time"]["curve"]
    assert [point["month"] for point in curve] == list(range(1, 13))
    assert curve[0]["api"] == "12"
    assert curve[11]["api"] == "34.2374005"  # 12 · 1.1^11
    assert answer["over_time"]["crossing_month"] is None
    turns = {turn["what"]: turn["turns_at"] for turn in answer["what_would_change"]}
    assert turns["month_at_this_growth"] == 54
    assert turns["requests_per_month"] == pytest.approx(1825 / 0.012)
    assert compare(monthly=growing, months=60)["over_time"]["crossing_month"] == 54


def test_a_mix_of_kinds_is_summed(compare):
    """B17: 1,000 · 0.012 + 10 · (90,000 · 3 + 2,000 · 15) / 10^6 = 12 + 3."""
    answer = compare(monthly=[MONTH, {"requests": 10, "input_tokens": 90_000, "output_tokens": 2000}])
    assert answer["api"]["cost_per_month"] == "15"
    # 1,000 · 500 + 10 · 2,000 tokens of 1,500/s
    assert answer["self_hosted"]["load_fraction"] == pytest.approx(520_000 / 1500 / 2_628_000)


def test_reasoning_and_cache_writes_are_billed(compare):
    """B18: 1,500 · 3 + 1,000 · 15 = 19,500 per million: 19.5; with 500 written at 3.75 and 500 read at 0.3:
    500 · 3 + 500 · 3.75 + 500 · 0.3 + 500 · 15 = 11,025."""
    assert compare(monthly=MONTH | {"reasoning_tokens": 500})["api"]["cost_per_month"] == "19.5"
    meters = {"input": "3", "output": "15", "cache_read": "0.3", "cache_write": "3.75"}
    answer = compare(
        api={"price": {"currency": "USD", "meters": meters}},
        monthly={"requests": 1000, "input_tokens": 1500, "output_tokens": 500, "cache_write_tokens": 500,
                 "cached_fraction": 0.33333333333333},
    )  # fmt: skip
    assert Decimal(answer["api"]["cost_per_month"]) == pytest.approx(Decimal("11.025"))


def test_half_of_the_requests_over_batch(compare):
    """Claude Opus 5.5: (1,500 · 4 + 500 · 20) = 16,000 per million, half of them at half price: 12 a thousand."""
    answer = compare(api={"price": "anthropic-claude-opus-5-5", "on": "2026-11-29"},
                     monthly=MONTH | {"batch_fraction": 0.5})  # fmt: skip
    assert answer["api"]["cost_per_month"] == "12"


def test_provisioned_units_with_their_weights(compare):
    """B19: a million requests of 1,000 + 200 tokens a month, output weight 4, 2,500 input tokens a minute and unit:
    1.8 · 10^9 / 43,800 min / 2,500 = 16.4, in steps of 5 from 15 on: 20 units at 1 an hour: 14,600."""
    answer = compare(
        monthly={"requests": 1_000_000, "input_tokens": 1000, "output_tokens": 200},
        provisioned={"price_per_unit_hour": "1", "input_tokens_per_minute_per_unit": 2500, "output_weight": 4,
                     "minimum_units": 15, "unit_step": 5},
    )  # fmt: skip
    first = answer["over_time"]["curve"][0]
    assert (first["units"], first["provisioned"]) == (20, "14600")
    # ten units carry 10 of 20: the other half is billed by the API, 6,000 / 2 beside 7,300
    held = compare(
        monthly={"requests": 1_000_000, "input_tokens": 1000, "output_tokens": 200},
        provisioned={"price_per_unit_hour": "1", "input_tokens_per_minute_per_unit": 2500, "output_weight": 4,
                     "minimum_units": 15, "unit_step": 5, "units": 10},
    )["over_time"]["curve"][0]  # fmt: skip
    assert held["provisioned"] == "10300"


def test_commitments_and_volume_tiers(compare):
    """12,000 a month at list price: 5,000 + 5,000 · 0.9 + 2,000 · 0.8 = 11,100; 12 with 100 committed are 100."""
    tiers = [{"above_spend_per_month": "5000", "discount": 0.1}, {"above_spend_per_month": "10000", "discount": 0.2}]
    answer = compare(api=API | {"volume_tiers": tiers}, monthly=MONTH | {"requests": 1_000_000})
    assert answer["api"]["cost_per_month"] == "11100"
    assert compare(api=API | {"minimum_spend_per_month": "100"})["api"]["cost_per_month"] == "100"
    assert compare(api=API | {"discount": "0.25"})["api"]["cost_per_month"] == "9"


def test_owning_against_renting_against_the_api(compare):
    """Bought for 24,000 over 4 years (500 a month) and 100 of overhead; rent 1,825; the API 12,000 a month.

    Against the API: 24,000 + 100 m ≤ 12,000 m from m = 2.02, so month 3; against rent 24,000 + 100 m ≤ 1,825 m from
    m = 13.9, so month 14.
    """
    owned = {"currency": "USD", "capex": "24000", "years": 4, "overhead_per_month": "100", "tokens_per_s_output": 1500}
    answer = compare(owned=owned, months=24, monthly=MONTH | {"requests": 1_000_000})
    ahead = answer["over_time"]
    assert (ahead["payback_month_against_api"], ahead["payback_month_against_rent"]) == (3, 14)
    assert ahead["curve"][0]["owned"] == "600"
    assert ahead["totals"] == {"api": "288000", "self_hosted": "43800", "owned": "14400", "provisioned": None}
    assert ahead["cheapest"] == "owned"


def test_prices_that_the_catalog_knows_to_change_are_those_of_each_month(compare):
    """Gemini 3.8 Flash doubles on 2027-01-01: 0.75 and 3.75 until then, 1.5 and 7.5 after."""
    answer = compare(api={"price": "google-gemini-3.8-flash", "on": "2026-11-30"}, months=3)
    assert [point["api"] for point in answer["over_time"]["curve"]] == ["3", "3", "6"]


def test_overhead_of_a_fleet_moves_the_crossing(compare):
    """1,825 and 5,000 whatever the replicas: 6,825 / 0.012 requests."""
    answer = compare(self_hosted=RENT | {"staff_per_month": "5000"})
    assert answer["self_hosted"]["fixed_cost_per_month"] == "5000"
    assert answer["crossing_requests_per_month"] == pytest.approx(6825 / 0.012)
    # a second replica adds its own rent only
    assert [stair["cost_per_month"] for stair in answer["staircase"]] == ["6825", "8650"]


def test_what_is_read_and_written_is_at_most_the_prompt(compare):
    problem = compare(400, monthly=MONTH | {"cache_write_tokens": 1000, "cached_fraction": 0.5})
    assert problem["errors"][0]["pointer"] == "#/monthly/cache_write_tokens"
    compare(400, owned={"currency": "USD", "price_per_gpu_hour": "1", "tokens_per_s_output": 1500})
