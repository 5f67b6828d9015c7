"""Own machines and both sides of a choice asked over REST, each answer worked out by hand beside the question."""

import pytest

from tests.estimator.api.money.bodies import FLAT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
HOURLY = {"price_per_gpu_hour": "3.60", "currency": "USD", "tokens_per_s_output": 1000}
MIX = HOURLY | {"workload": {"input_tokens": 1000, "output_tokens": 200}}
HOSTED = {
    # 2.50 / (700·3,600) · 10^6
    "full": ({"price_per_gpu_hour": "2.50", "currency": "USD", "tokens_per_s_output": 700}, "cost_per_mtok_output",
             "0.992063492"),
    "a tenth busy": ({"price_per_gpu_hour": "2.50", "currency": "USD", "tokens_per_s_output": 700,
                      "load_fraction": 0.1}, "cost_per_mtok_output", "9.92063492"),
    # held all month whatever the load: 2.50·730
    "the month of an idle GPU": ({"price_per_gpu_hour": "2.50", "currency": "USD", "tokens_per_s_output": 700,
                                  "load_fraction": 0.1}, "cost_per_month", "1825"),
    # 8 · 3 = 24 an hour; 24 / (5,000·3,600·0.5) · 10^6
    "a node half busy": ({"price_per_gpu_hour": "3", "currency": "USD", "gpus": 8, "tokens_per_s_output": 5000,
                          "load_fraction": 0.5}, "cost_per_mtok_output", "2.66666667"),
    # billed a quarter of 730 h at 4
    "scaled to zero": ({"price_per_gpu_hour": "4", "currency": "USD", "billing": "scale_to_zero",
                        "tokens_per_s_output": 1000, "load_fraction": 0.25}, "cost_per_month", "730"),
    "scaled to zero, a million tokens": ({"price_per_gpu_hour": "4", "currency": "USD", "billing": "scale_to_zero",
                                          "tokens_per_s_output": 1000, "load_fraction": 0.25},
                                         "cost_per_mtok_output", "1.11111111"),
    # 5 requests a second: 0.001 USD a second over 5,000 + 1,000 tokens
    "blended": (MIX, "cost_per_mtok_blended", "0.166666667"),
    "a request": (MIX, "cost_per_request", "0.0002"),
    # an answer token costs four prompt tokens: 0.001 / (5,000 + 4·1,000)
    "prompt tokens by ratio": (MIX | {"allocation": "ratio", "output_input_cost_ratio": 4}, "cost_per_mtok_input",
                               "0.111111111"),
    "answer tokens by ratio": (MIX | {"allocation": "ratio", "output_input_cost_ratio": 4}, "cost_per_mtok_output",
                               "0.444444444"),
    # six tenths of the prompts are found: 0.001 / (2,000 + 4,000)
    "prompt tokens beside a prefix cache": (
        HOURLY | {"workload": {"input_tokens": 1000, "output_tokens": 200, "prefix_cache_hit_rate": 0.6},
                  "allocation": "ratio", "output_input_cost_ratio": 4}, "cost_per_mtok_input", "0.166666667"),
    # yen have no cents and need none: 300·8·730
    "another currency": ({"price_per_gpu_hour": "300", "currency": "JPY", "gpus": 8, "tokens_per_s_output": 1000},
                         "cost_per_month", "1752000"),
    "GPUs that cost nothing": ({"price_per_gpu_hour": "0", "currency": "USD", "tokens_per_s_output": 1000},
                               "cost_per_mtok_output", "0"),
}  # fmt: skip


@pytest.mark.parametrize("question", HOSTED)
def test_tokens_of_own_machines_cost_their_hours(ask, question):
    part, name, amount = HOSTED[question]
    assert ask("cost", {"self_hosted": part})["self_hosted"][name] == amount


MONTH = {"requests": 100_000, "input_tokens": 1000, "output_tokens": 500}
REPLICA = {"price_per_gpu_hour": "2", "currency": "USD", "tokens_per_s_output": 1000}


def compared(ask, requests=100_000, price=FLAT, **hosted):
    body = {"self_hosted": REPLICA | hosted, "api": {"price": price}, "monthly": MONTH | {"requests": requests}}
    return ask("break-even", body)


def test_the_last_request_a_replica_serves_takes_no_second_one(ask):
    # 1,000 tokens/s over 500 a request, 2,628,000 s a month: 5,256,000
    assert compared(ask, 5_256_000)["self_hosted"]["replicas"] == 1
    assert compared(ask, 5_256_001)["self_hosted"]["replicas"] == 2


def test_equal_bills_are_called_equal(ask):
    # 1,000·14.6 per million = 0.0146 a request, 1,460 a month: the price of the GPU
    answer = compared(ask, price={"currency": "USD", "meters": {"input": "14.6", "output": "0"}})
    assert (answer["api"]["cost_per_month"], answer["self_hosted"]["cost_per_month"]) == ("1460", "1460")
    assert answer["cheaper"] == "equal"


def test_a_replica_of_eight_gpus_is_billed_as_eight(ask):
    answer = compared(ask, gpus=8)
    assert (answer["self_hosted"]["gpus"], answer["self_hosted"]["cost_per_month"]) == (8, "11680")
    assert [stair["gpus"] for stair in answer["staircase"]] == [8, 16]


def test_a_trillion_tokens_take_whole_gpus_and_exact_bills(ask):
    # 10^9 requests of 1,000 + 500: the API 10^9 · (1,000·3 + 500·15)/10^6, the fleet ⌈10^9 / 5,256,000⌉ = 191 GPUs
    answer = compared(ask, 10**9)
    assert answer["api"]["cost_per_month"] == "10500000"
    assert (answer["self_hosted"]["gpus"], answer["self_hosted"]["cost_per_month"]) == (191, "278860")


def test_an_offer_is_never_converted(ask):
    offer = {"offer": "aws-h100-sxm5-80gb-8x-on-demand-us-east-1-2026-11-09", "tokens_per_s_output": 1000}
    assert ask("cost", {"self_hosted": offer | {"currency": "USD"}})["self_hosted"]["currency"] == "USD"
    problem = ask("cost", {"self_hosted": offer | {"currency": "EUR"}}, 400)
    assert problem["errors"][0]["pointer"] == "#/self_hosted/currency"


def test_electricity_says_which_effectiveness_it_took(ask):
    power = {"price_per_kwh": "0.10", "currency": "USD"}
    hosted = REPLICA | {"watts_per_gpu": 700, "gpus": 8, "power": power}
    answer = ask("cost", {"self_hosted": hosted})
    # 8 · 0.7 kW · 1.3 · 730 h = 5,314.4 kWh
    assert answer["self_hosted"]["electricity"]["kwh_per_month"] == pytest.approx(5314.4)
    assert answer["self_hosted"]["electricity"]["cost_per_month"] == "531.44"
    assert any("effectiveness not given: 1.3" in text for text in answer["assumptions"])
