"""estimates/cost over REST: the public cases, what is refused, and the time it takes."""

import csv
from decimal import Decimal

import orjson
import pytest

from catalog.models import ApiPrice, Provider
from catalog.services.prices import open_price

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
SONNET_45 = {
    "currency": "USD",
    "meters": {"input": "3", "output": "15", "cache_read": "0.3", "cache_write_5m": "3.75"},
    "tiers": [
        {
            "above_tokens": 200000,
            "operator": "gt",
            "meters": {"input": "6", "output": "22.5", "cache_read": "0.6", "cache_write_5m": "7.5"},
        }
    ],
}


@pytest.fixture
def ask(client):
    def send(status=200, query="", **body):
        path = f"/api/v1/estimates/cost/{query}"
        response = client.post(path, orjson.dumps(body), content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()

    return send


def total(ask, price, usage, **more):
    return ask(api={"price": price, "usage": usage, "on": "2026-11-29", **more})["api"]["total"]


def usd(**meters):
    return {"currency": "USD", "meters": meters}


def test_c01(ask):
    usage = {"input_tokens": 2000, "cache_read_tokens": 500, "cache_write_5m_tokens": 300}
    price = usd(input="3", cache_read="0.30", cache_write_5m="3.75")
    assert total(ask, price, usage, usage_convention="inclusive") == "0.004875"


def test_the_bill_as_csv_has_one_line_per_meter_that_add_up(ask):
    usage = {"input_tokens": 1000, "cache_read_tokens": 20000, "output_tokens": 500, "web_searches": 2}
    api = ask(api={"price": "anthropic-claude-opus-5-5", "usage": usage, "on": "2026-11-29"})["api"]
    rows = list(csv.DictReader(api["lines_csv"].splitlines()))
    assert [row["meter"] for row in rows] == ["input", "cache_read", "output", "web_search"]
    assert sum(Decimal(row["amount"]) for row in rows) == Decimal(api["total"])


def test_c03_names_the_tier(ask):
    price = usd(input="1.25", cache_read="0.3125", output="10") | {
        "tiers": [{"above_tokens": 200000, "meters": {"input": "2.5", "cache_read": "0.625", "output": "15"}}]
    }
    usage = {"input_tokens": 262960, "cache_read_tokens": 257955, "output_tokens": 1744}
    api = ask(api={"price": price, "usage": usage, "usage_convention": "inclusive"})["api"]
    assert api["total"] == "0.199894375"
    assert api["tier"] == "prompt > 200000 tokens"
    assert api["prompt_tokens_per_request"] == 262960


def test_c05_with_the_catalog_of_the_retired_long_tier(ask):
    usage = {"input_tokens": 210000, "cache_write_5m_tokens": 5000}
    api = ask(api={"price": "anthropic-claude-sonnet-4-5", "usage": usage, "on": "2026-11-29"})["api"]
    lines = {line["meter"]: line for line in api["lines"]}
    assert lines["cache_write_5m"]["amount"] == "0.0375"
    stated = ask(api={"price": SONNET_45, "usage": usage})["api"]
    assert stated["total"] == api["total"] == str(Decimal("0.0375") + Decimal(210000) * 6 / 10**6)


def test_c07(ask):
    usage = {"cache_write_5m_tokens": 600000, "cache_write_1h_tokens": 400000}
    assert total(ask, "anthropic-claude-opus-4-8", usage) == "7.75"


@pytest.mark.parametrize(("tokens", "expected"), [(272000, "1.39"), (272001, "2.76501")])
def test_c09(ask, tokens, expected):
    assert total(ask, "openai-gpt-5.5", {"input_tokens": tokens, "output_tokens": 1000}) == expected


def test_c14_regional_endpoints_are_ten_percent_dearer(ask):
    seller = Provider.objects.create(slug="cloud", name="Cloud")
    for meter, amount in {"input": "3", "output": "15", "cache_read": "0.3", "cache_write_5m": "3.75"}.items():
        for endpoint_class, factor in (("", Decimal(1)), ("us", Decimal("1.1"))):
            row = ApiPrice(provider=seller, model="m", meter=meter, unit="mtok", amount=Decimal(amount) * factor)
            row.endpoint_class = endpoint_class
            open_price(row)
    usage = {"input_tokens": 1000, "output_tokens": 1000, "cache_read_tokens": 1000, "cache_write_5m_tokens": 1000}
    assert total(ask, "cloud/m", usage) == "0.02205"
    assert total(ask, "cloud/m", usage, endpoint_class="us") == "0.024255"


def test_c16_unknown_is_an_error_or_null_and_never_zero(ask):
    usage = {"input_tokens": 10, "cache_read_tokens": 5}
    problem = ask(422, api={"price": usd(input="1"), "usage": usage})
    assert problem["type"].endswith("unpriced-meter")
    api = ask(api={"price": usd(input="1"), "usage": usage, "partial": True})["api"]
    assert api["total"] is None
    assert api["reason"] == "unpriced-meter: cache_read"
    assert ask(api={"price": usd(input="0"), "usage": {"input_tokens": 10}})["api"]["total"] == "0"


def test_c19_c20_idle_time_is_paid_on_held_machines(ask):
    base = {"price_per_gpu_hour": "2.50", "currency": "USD", "tokens_per_s_output": 700}
    full = ask(self_hosted=base)["self_hosted"]
    idle = ask(self_hosted=base | {"load_fraction": 0.1})["self_hosted"]
    assert round(float(full["cost_per_mtok_output"]), 2) == 0.99
    assert round(float(idle["cost_per_mtok_output"]), 2) == 9.92
    assert full["cost_per_month"] == idle["cost_per_month"] == "1825"
    zero = ask(self_hosted=base | {"load_fraction": 0.1, "billing": "scale_to_zero"})["self_hosted"]
    assert zero["cost_per_month"] == "182.5"
    assert zero["cost_per_mtok_output"] == full["cost_per_mtok_output"]
    assert (zero["cost_basis"], idle["cost_basis"]) == ("usage", "reservation")
    assert idle["usage_cost_per_mtok_output"] == full["cost_per_mtok_output"]  # C31: labelled, beside the other


def test_c23_the_price_of_the_day(ask):
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    argon = "google-gemini-4-argon"
    assert ask(api={"price": argon, "usage": usage, "on": "2026-11-30"})["api"]["total"] == "2"
    assert ask(api={"price": argon, "usage": usage, "on": "2026-12-01"})["api"]["total"] == "4"


def test_c25_c27_modalities_and_other_units(ask):
    audio = usd(input="2.50", output="10", input_audio="40", output_audio="80")
    usage = {"input_tokens": 1000, "input_audio_tokens": 1000, "output_audio_tokens": 1000}
    assert total(ask, audio, usage) == "0.1225"
    pieces = usd(image="0.00012", video_frame="0.00079", audio_second="0.00016")
    assert total(ask, pieces, {"images": 100, "video_frames": 10, "audio_seconds": 2.5}) == "0.0203"


def test_c28_the_split_of_writes_as_a_fixture(ask):
    # The session's effect: one-hour writes billed as such cost 16.5 % more. The split that gives it, by hand:
    # w million tokens of 1 h writes at 10 instead of 6.25 add 3.75 w = 355.66 − 305.30 = 50.36 → w = 13.42933…
    price = usd(cache_write_5m="6.25", cache_write_1h="10")
    moved = 13_429_333
    wrong = Decimal(total(ask, price, {"cache_write_5m_tokens": moved}))
    right = Decimal(total(ask, price, {"cache_write_1h_tokens": moved}))
    assert round(right - wrong, 2) == Decimal("50.36")


def test_peak_hours_hold_on_weekdays(ask):
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}

    def at(moment):
        return ask(api={"price": "deepseek-deepseek-v4-pro", "usage": usage, "at": moment})["api"]["total"]

    assert at("2026-11-27T02:00:00Z") == "1.32"
    assert at("2026-11-28T02:00:00Z") == "0.66"
    assert at("2026-11-27T04:00:00+02:00") == "1.32"
    answer = ask(api={"price": "deepseek-deepseek-v4-pro", "usage": usage, "on": "2026-11-27"})
    assert answer["api"]["total"] == "0.66"
    assert any("Some hours" in text for text in answer["warnings"])


def test_prices_that_sources_dispute_are_named(ask):
    answer = ask(api={"price": "mistral-mistral-large-4", "usage": {"input_tokens": 10}, "on": "2026-11-29"})
    assert any("disputed" in text and "1.36" in text for text in answer["warnings"])


def test_s12_s13_s15_the_seed_costs_from_the_model_itself(ask):
    def cost_at(batch):
        return ask(
            self_hosted={
                "price_per_gpu_hour": "2",
                "currency": "USD",
                "model": "llama-3-8b",
                "gpu": "h100-sxm5-80gb",
                "engine": "ideal",
                "precision": {"weights": "fp16", "kv_cache": "fp16"},
                "workload": {
                    "mode": "decode_step", "context_tokens": 8000, "concurrency": batch, "output_tokens": 1,
                    "input_tokens": 8000,
                },
            }
        )["self_hosted"]  # fmt: skip

    one, sixty = cost_at(1), cost_at(60)
    assert round(float(one["cost_per_mtok_output"]), 3) == 2.837
    assert round(float(sixty["cost_per_mtok_output"]), 3) == 0.218
    ratio = float(one["cost_per_mtok_output"]) / float(sixty["cost_per_mtok_output"])
    assert ratio == pytest.approx(13, rel=0.01)
    assert one["basis"] == "assumption"


def test_allocations_share_one_hour(ask):
    base = {
        "price_per_gpu_hour": "3.6", "currency": "USD", "tokens_per_s_output": 100,
        "workload": {"input_tokens": 1000, "output_tokens": 100, "prefix_cache_hit_rate": 0.5},
    }  # fmt: skip
    # An hour costs 3.6: 0.001 per second. Per second 1 request: 500 fresh + 500 cached in, 100 out.
    ratio = ask(self_hosted=base | {"allocation": "ratio", "output_input_cost_ratio": 5})["self_hosted"]
    assert ratio["cost_per_mtok_input"] == "1"  # 0.001 / (500 + 5 · 100) per token
    assert ratio["cost_per_mtok_output"] == "5"
    assert ratio["cost_per_mtok_cached_input"] == "0"
    assert ratio["cost_per_request"] == "0.001"
    assert ratio["cost_per_mtok_blended"] == "0.909090909"
    whole = ask(self_hosted=base)["self_hosted"]
    assert whole["cost_per_mtok_output"] == "10"
    assert whole["reasons"]["cost_per_mtok_input"] == "allocated_to_output"
    problem = ask(422, self_hosted=base | {"allocation": "by_time"})
    assert problem["type"].endswith("missing-figure")


def test_owned_hardware_shows_its_electricity_beside_the_price(ask):
    hosted = ask(
        self_hosted={
            "price_per_gpu_hour": "2", "currency": "USD", "tokens_per_s_output": 1000, "gpus": 8,
            "model": "llama-3-8b", "gpu": "h100-sxm5-80gb",
            "power": {"pue": 1.5, "price_per_kwh": "0.10", "currency": "EUR"},
        }
    )["self_hosted"]  # fmt: skip
    # Nothing is known of the work behind a given rate: between busy without traffic and the design power of 700 W.
    watts = hosted["electricity"]["watts_per_gpu"]
    assert watts["high"] == 700.0
    assert watts["mid"] == pytest.approx((watts["low"] + 700.0) / 2)
    cost = 8 * watts["mid"] / 1000 * 1.5 * 0.10
    assert float(hosted["electricity"]["cost_per_hour"]) == pytest.approx(cost, rel=1e-8)
    assert hosted["electricity"]["basis"] == "assumption"
    assert hosted["electricity"]["currency"] == "EUR"
    assert hosted["cost_per_hour"] == "16"


def test_the_plan_behind_the_speed_is_echoed_resolved_and_null_where_the_speed_was_given(ask):
    money = {"price_per_gpu_hour": "2", "currency": "USD"}
    planned = ask(
        self_hosted=money | {
            "model": "llama-3-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm",
            "workload": {"input_tokens": 900, "output_tokens": 300, "concurrency": 8},
        }
    )  # fmt: skip
    assert planned["inputs"]["engine"]["engine"] == "vllm"
    assert planned["inputs"]["engine"]["slug"] != "vllm"
    assert planned["inputs"]["workload"]["concurrency"] == 8
    given = ask(self_hosted=money | {"tokens_per_s_output": 100.0})
    assert given["inputs"] is None


def test_an_offer_brings_price_market_and_source(ask):
    answer = ask(self_hosted={"offer": "aws-h100-sxm5-80gb-8x-on-demand-us-east-1-2026-11-09", "gpus": 8,
                              "tokens_per_s_output": 1000})  # fmt: skip
    assert answer["self_hosted"]["cost_per_hour"] == "55.04"
    assert answer["self_hosted"]["billing"] == "on_demand"
    assert answer["provenance"][0]["date"] == "2026-11-09"


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "#", "required"),
        ({"api": {"price": "anthropic-claude-opus-55", "usage": {"input_tokens": 1}}}, "#/api/price", "unknown_slug"),
        ({"api": {"price": usd(inptu="1"), "usage": {"input_tokens": 1}}}, "#/api/price/meters/inptu", "unknown_field"),
        ({"api": {"price": usd(input=1), "usage": {"input_tokens": 1}}}, "#/api/price/meters/input", "invalid_type"),
        ({"api": {"price": usd(input="1"), "usage": {"inptu_tokens": 1}}}, "#/api/usage/inptu_tokens", "unknown_field"),
        ({"api": {"price": usd(input="1"), "usage": {"input_tokens": -1}}}, "#/api/usage/input_tokens", "out_of_range"),
        (
            {"api": {"price": usd(input="1", cache_read="1"), "usage_convention": "inclusive",
                     "usage": {"input_tokens": 1, "cache_read_tokens": 2}}},
            "#/api/usage/input_tokens", "invalid",
        ),
        ({"self_hosted": {"tokens_per_s_output": 1}}, "#/self_hosted/price_per_gpu_hour", "required"),
        (
            {"self_hosted": {"price_per_gpu_hour": "1", "currency": "USD"}},
            "#/self_hosted/tokens_per_s_output", "required",
        ),
        (
            {"self_hosted": {"price_per_gpu_hour": "1", "currency": "USD", "model": "llama-3-8b"}},
            "#/self_hosted/gpu", "required",
        ),
        (
            {"self_hosted": {"price_per_gpu_hour": "1", "currency": "USD", "tokens_per_s_output": 0}},
            "#/self_hosted/tokens_per_s_output", "out_of_range",
        ),
    ],
)  # fmt: skip
def test_faults_are_named_where_they_are(ask, body, pointer, code):
    problem = ask(400, **body)
    assert (pointer, code) in {(error["pointer"], error["code"]) for error in problem["errors"]}, problem


def test_an_unknown_channel_is_refused(ask):
    body = {"price": "deepseek-deepseek-v4-pro", "channel": "batch", "usage": {"input_tokens": 1}, "on": "2026-11-29"}
    assert ask(400, api=body)["errors"][0]["pointer"] == "#/api/channel"


def test_the_arrivals_of_an_open_loop_are_a_load_not_the_yield(client):
    hosted = {
        "price_per_gpu_hour": "2", "currency": "USD", "model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb",
        "workload": {"mode": "open_loop", "input_tokens": 2000, "output_tokens": 500, "requests_per_s": 0.1},
    }  # fmt: skip

    def ask(body):
        path = "/api/v1/estimates/cost/"
        return client.post(path, orjson.dumps({"self_hosted": body}), content_type="application/json")

    bill = ask(hosted).json()["self_hosted"]
    # 2 USD buy 0.1 · 500 · 3,600 tokens, whatever the GPU could do; busy time alone is far cheaper.
    assert Decimal(bill["cost_per_mtok_output"]) == pytest.approx(Decimal(2) / (Decimal("0.1") * 500 * 3600) * 10**6)
    assert bill["load_fraction"] < 0.05
    assert Decimal(bill["usage_cost_per_mtok_output"]) < Decimal(bill["cost_per_mtok_output"]) / 20
    refused = ask(hosted | {"load_fraction": 0.5})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"] == "#/self_hosted/load_fraction"


TOO_LARGE = {"model": "llama-3.1-70b", "gpu": "l40s", "workload": {"input_tokens": 100, "output_tokens": 100}}
HELD = {"price_per_gpu_hour": "2", "currency": "USD"}


@pytest.mark.parametrize("more", [{}, {"allocation": "by_time"}, {"engine": "ideal"}])
@pytest.mark.parametrize("mode", ["closed_loop", "offline", "static_batch", "single_stream"])
def test_a_plan_that_does_not_fit_is_a_result_its_hours_are_billed_and_no_token_has_a_cost(ask, more, mode):
    hosted = TOO_LARGE | HELD | more | {"workload": TOO_LARGE["workload"] | {"mode": mode}}
    bill = ask(query="?explain=true", self_hosted=hosted)["self_hosted"]
    assert (bill["feasible"], bill["cost_per_hour"], bill["cost_per_month"]) == (False, "2", "1460")
    for name in ("tokens_per_s_output", "cost_per_mtok_output", "cost_per_request", "usage_cost_per_mtok_output"):
        assert (bill[name], bill["reasons"][name]) == (None, "does_not_fit")


def test_a_speed_nobody_measured_is_missing_and_not_infeasible(ask):
    ask(422, self_hosted=TOO_LARGE | HELD | {"model": "llama-3.1-8b", "gpu": "trainium2"})


@pytest.mark.parametrize("code", ["ABC", "XXX", "XTS", "XAU", "BTC"])
def test_only_currencies_of_iso_4217_are_taken(ask, code):
    body = {"price": {"currency": code, "meters": {"input": "3"}}, "usage": {"input_tokens": 1}}
    assert ask(400, api=body)["errors"][0]["pointer"] == "#/api/price/currency"


@pytest.mark.parametrize(
    ("part", "pointer"),
    [
        ({"load_fraction": 1e-300}, "load_fraction"),
        ({"tokens_per_s_output": 1e-300}, "tokens_per_s_output"),
        ({"allocation": "ratio", "output_input_cost_ratio": 1e-300}, "output_input_cost_ratio"),
    ],
)
def test_figures_that_would_make_an_absurd_cost_are_refused(ask, part, pointer):
    hosted = HELD | {"tokens_per_s_output": 700} | part
    assert ask(400, self_hosted=hosted)["errors"][0]["pointer"] == f"#/self_hosted/{pointer}"
    counts = ask(400, api={"price": usd(input="3"), "usage": {"input_tokens": 1e-300}})
    assert counts["errors"][0]["pointer"] == "#/api/usage/input_tokens"


def test_electricity_of_a_given_rate_takes_the_power_of_a_gpu_or_asks_for_it(ask):
    power = {"price_per_kwh": "0.30", "currency": "EUR", "pue": 1.2}
    hosted = HELD | {"tokens_per_s_output": 700, "power": power}
    # 700 W · 1.2 · 730 h = 613.2 kWh, 183.96 EUR; 0.252 EUR an hour over 2.52 million tokens.
    bill = ask(self_hosted=hosted | {"watts_per_gpu": 700})["self_hosted"]["electricity"]
    assert (bill["kwh_per_month"], bill["cost_per_month"], bill["cost_per_mtok_output"]) == (613.2, "183.96", "0.1")
    assert ask(400, self_hosted=hosted)["errors"][0]["pointer"] == "#/self_hosted/gpu"


def test_idle_time_draws_idle_power_and_a_cap_bounds_what_is_paid_for(ask):
    plan = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb",
            "workload": {"input_tokens": 1000, "output_tokens": 300, "concurrency": 64},
            "power": {"price_per_kwh": "0.30", "currency": "EUR", "pue": 1.2}}  # fmt: skip
    busy = ask(self_hosted=HELD | plan)["self_hosted"]["electricity"]
    half = ask(self_hosted=HELD | plan | {"load_fraction": 0.5})["self_hosted"]["electricity"]
    assert half["watts_per_gpu"]["mid"] == pytest.approx((busy["watts_per_gpu"]["mid"] + 70.0) / 2)
    assert busy["basis"] == "calibrated"
    capped = ask(self_hosted=HELD | plan | {"power_cap_w": 400})["self_hosted"]
    assert capped["electricity"]["watts_per_gpu"] == {"low": pytest.approx(400, rel=0.2), "mid": 400.0, "high": 400.0}
    free = ask(self_hosted=HELD | plan)["self_hosted"]
    assert capped["tokens_per_s_output"] < free["tokens_per_s_output"]


def test_an_answer_of_no_token_is_counted_as_the_one_the_prompt_yields(ask):
    load = {"input_tokens": 1000, "output_tokens": 0, "mode": "single_stream"}
    plan = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb"}
    answer = ask(self_hosted=HELD | plan | {"workload": load})
    bill = answer["self_hosted"]
    per_request = Decimal(bill["cost_per_mtok_output"]) / 10**6
    assert Decimal(bill["cost_per_request"]) == pytest.approx(per_request, rel=Decimal("1e-8"))
    assert any("no token is counted as the one" in text for text in answer["assumptions"])
