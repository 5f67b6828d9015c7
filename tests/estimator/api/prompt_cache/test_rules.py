"""estimates/prompt-cache over REST: arrivals, providers' rules and what is refused."""

from decimal import Decimal

import pytest

from catalog.models import ApiPrice, Provider
from tests.estimator.api.prompt_cache.bodies import LENGTHS, OPUS, usd

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]


def test_best_effort_caches_are_labelled(ask):
    answer = ask(api={"price": "openai/gpt-4o", "on": "2026-11-29"}, arrivals={"requests_per_hour": 30}, **LENGTHS)
    assert any("upper bound" in text for text in answer["warnings"])
    assert any("600 s are assumed" in text for text in answer["assumptions"])
    assert answer["cached_tokens"] == 19968  # whole steps of 128 tokens


def test_a_conversation_turn_by_turn(ask):
    turns = [{"input_tokens": 300, "output_tokens": 400}] * 20
    body = {"api": {"price": OPUS}, "prefix_tokens": 8000, "turns": turns, "ttl_s": 300}
    answer = ask(arrivals={"kind": "regular", "requests_per_hour": 60}, **body)
    assert answer["per"] == "conversation"
    assert answer["cost_without"] == "1.356"
    assert float(answer["cost_with"]) == pytest.approx(0.3235, abs=5e-5)
    assert answer["saving_fraction"] == pytest.approx(0.76, abs=0.005)
    assert len(answer["turns"]) == 20
    recorded = ask(arrivals={"kind": "recorded", "times_s": [60 * n for n in range(19)] + [99999]}, **body)
    assert recorded["turns"][-1]["hit_probability"] == 0
    assert Decimal(recorded["cost_with"]) > Decimal(answer["cost_with"])


def test_recorded_arrivals_hold_their_cold_start(ask):
    answer = ask(api={"price": OPUS}, ttl_s=300, arrivals={"kind": "recorded", "times_s": [0, 60, 120, 600]}, **LENGTHS)
    assert answer["hit_probability"] == 0.5
    assert answer["requests"] == 4
    # 20,000 × (0.5 × 0.2 + 0.5 × 5) + 1,000 × 4 + 500 × 20 = 52,000 + 4,000 + 10,000
    assert answer["cost_with"] == "0.066"


def test_shards_thin_the_traffic(ask):
    body = {"api": {"price": OPUS}, "ttl_s": 300, **LENGTHS}
    one = ask(arrivals={"requests_per_hour": 10}, **body)
    three = ask(arrivals={"requests_per_hour": 30}, shards=3, **body)
    assert three["hit_probability"] == pytest.approx(one["hit_probability"])
    assert three["break_even"]["requests_per_hour"] == pytest.approx(3 * one["break_even"]["requests_per_hour"])


def test_a_life_whose_writes_have_no_price_is_null_with_a_reason_and_never_best(ask):
    price = usd(input="3", output="15", cache_read="0.3", cache_write_5m="3.75")
    body = {"api": {"price": price}, "arrivals": {"requests_per_hour": 1}, "prefix_tokens": 20000}
    answer = ask(**body, policy={"ttls_s": [300, 3600]})
    known, unknown = answer["by_ttl"]
    assert (known["write_billed_as"], known["reason"]) == ("cache_write_5m", None)
    assert unknown["cost_with"] is unknown["saving"] is unknown["write_billed_as"] is None
    assert unknown["reason"] == "unpriced-meter: cache_write_1h"
    assert answer["ttl_s"] == 300
    # 20,000 tokens at 3 USD: 0.06; with writes of five minutes at one request an hour it costs more.
    assert Decimal(answer["cost_with"]) > Decimal(answer["cost_without"]) == Decimal("0.06")
    assert answer["advice"]["use"] == "none"
    assert any("3600 s" in text for text in answer["warnings"])
    alone = ask(**body, policy={"ttls_s": [3600]})
    assert alone["cost_with"] is alone["saving"] is None
    assert alone["reasons"] == ["unknown_write_price"]


def test_a_conversation_leaves_out_a_life_whose_writes_have_no_price(ask):
    price = usd(input="3", output="15", cache_read="0.3", cache_write_5m="3.75")
    turns = [{"input_tokens": 500, "output_tokens": 300}] * 4
    body = {"api": {"price": price}, "arrivals": {"requests_per_hour": 60}, "prefix_tokens": 8000, "turns": turns}
    answer = ask(**body, policy={"ttls_s": [300, 3600]})
    assert answer["ttl_s"] == 300
    assert [item["cost_with"] is None for item in answer["by_ttl"]] == [False, True]
    problem = ask(status=422, **body, ttl_s=3600, policy={"ttls_s": [300, 3600]})
    assert "cache_write_1h" in problem["detail"]


def test_an_object_of_a_short_campaign_is_stored_for_the_campaign_only(ask):
    """One request in an hour: 20,000 · (1.25 write + 0.125 read + 4.50 storage) / 10^6 = 0.1175, against 0.025."""
    price = usd(input="1.25", output="10", cache_read="0.125")
    stored = {"ttls_s": [3600], "refresh_on_hit": False, "storage_price_per_mtok_hour": "4.5"}
    body = {"api": {"price": price}, "policy": stored, "prefix_tokens": 20000, "horizon_s": 3600}
    rare = ask(**body, arrivals={"requests_per_hour": 0.1})
    assert (rare["cost_without"], rare["cost_with"]) == ("0.025", "0.1175")
    assert rare["advice"]["use"] == "none"
    assert [option["use"] for option in rare["advice"]["options"]] == ["none", "kept_alive", "lapsing"]
    often = ask(**body, arrivals={"requests_per_hour": 100})
    # 100 requests: 0.125 + (1.25 + 4.50) / 100 = 0.1825 USD per million tokens.
    assert often["cost_with"] == "0.00365"
    assert often["advice"]["use"] == "kept_alive"


def test_bursts_let_an_object_lapse(ask):
    """Two requests at the start of each of two days: two objects of an hour against a day and more of storage."""
    price = usd(input="1.25", output="10", cache_read="0.125")
    stored = {"ttls_s": [3600], "refresh_on_hit": False, "storage_price_per_mtok_hour": "1"}
    answer = ask(
        api={"price": price}, policy=stored, prefix_tokens=1_000_000, horizon_s=172_800,
        arrivals={"kind": "recorded", "times_s": [0, 60, 86_400, 86_460]},
    )  # fmt: skip
    # Lapsing: 4 reads of 0.125 and 2 · (1.25 + 1.00); kept: 4 reads, one write, 48 hours; over 4 requests.
    costs = {option["use"]: option["cost"] for option in answer["advice"]["options"]}
    assert costs == {"none": "1.25", "kept_alive": "12.4375", "lapsing": "1.25"}
    assert answer["cost_with"] == "1.25"
    assert answer["advice"]["use"] == "none"


def test_a_prefix_beyond_the_maximum_is_cached_up_to_it_with_a_warning(ask):
    price = usd(input="0.8", output="3.2", cache_read="0.2")
    answer = ask(
        api={"price": price}, policy={"ttls_s": [300], "max_tokens": 20000, "min_tokens": 1000},
        prefix_tokens=100_000, arrivals={"kind": "regular", "requests_per_hour": 600},
    )  # fmt: skip
    # 20,000 · 0.2 + 80,000 · 0.8 = 68,000 → 0.068
    assert (answer["cached_tokens"], answer["cost_with"]) == (20000, "0.068")
    assert any("20000 tokens" in text for text in answer["warnings"])


def test_where_no_rules_are_known_nothing_is_made_up(ask, db):
    unknown = ApiPrice.objects.exclude(provider__cache_policies__isnull=False).values_list("slug", flat=True)
    row = ApiPrice.objects.filter(provider__slug="deepseek").first()
    seller = Provider.objects.create(slug="reseller", name="Reseller")
    for meter, amount in (("input", "1"), ("output", "2"), ("cache_read", "0.1")):
        ApiPrice.objects.create(
            provider=seller, model="some-model", meter=meter, unit="mtok", amount=amount, price_list=row.price_list
        )
    assert "reseller-some-model" in unknown.all()
    body = {"api": {"price": "reseller-some-model"}, "arrivals": {"requests_per_hour": 60}, **LENGTHS}
    answer = ask(**body)
    assert answer["cost_without"] == "0.022"
    nulls = ("cost_with", "saving", "saving_fraction", "cached_tokens", "hit_probability", "ttl_s", "advice")
    assert all(answer[name] is None for name in nulls)
    assert answer["reasons"] == ["no_policy_known"]
    assert answer["by_ttl"] == []
    assert any("not known" in text for text in answer["warnings"])
    talk = ask(**body | {"turns": [{"input_tokens": 1000, "output_tokens": 500}] * 2})
    # (21,000 + 22,500) · 1 + 1,000 · 2
    assert (talk["per"], talk["cost_without"], talk["cost_with"]) == ("conversation", "0.0455", None)
    stated = ask(**body | {"policy": {"ttls_s": [600], "min_tokens": 1024}})
    assert stated["saving"] is not None


def test_self_hosting_gains_time_and_is_never_called_an_api_saving(ask):
    answer = ask(
        self_hosted={"model": "llama-3-8b", "gpu": "h100-sxm5-80gb", "engine": "ideal",
                     "workload": {"mode": "closed_loop", "concurrency": 8, "input_tokens": 1, "output_tokens": 1}},
        **LENGTHS,
    )  # fmt: skip
    reuse = answer["self_hosted"]
    assert answer["saving"] is answer["cost_without"] is answer["currency"] is None
    assert reuse["prefill_s_with"] < reuse["prefill_s_without"]
    assert reuse["ttft_s_gained"] > 0
    assert reuse["requests_per_s_with"] > reuse["requests_per_s_without"]
    assert reuse["kv_cache_tokens_shared"] == 20000 * 7


@pytest.mark.parametrize(
    ("change", "status", "pointer"),
    [
        ({"arrivals": None}, 400, "#/arrivals"),
        ({"arrivals": {"kind": "poisson"}}, 400, "#/arrivals/requests_per_hour"),
        ({"policy": "no-such"}, 400, "#/policy"),
        ({"ttl_s": 77}, 400, "#/ttl_s"),
        ({"prefix_tokens": -1}, 400, "#/prefix_tokens"),
        ({"api": None}, 400, "#"),
        ({"policy": {"granularity_tokens": 0}}, 400, "#/policy/granularity_tokens"),
    ],
)
def test_faults_are_named_where_they_are(ask, change, status, pointer):
    body = {"api": {"price": "claude-opus-5-5"}, "arrivals": {"requests_per_hour": 6}, **LENGTHS} | change
    problem = ask(status, **body)
    assert pointer in {error["pointer"] for error in problem["errors"]}


def test_reads_without_a_price_are_422(ask):
    problem = ask(
        422, api={"price": usd(input="1", output="2")}, ttl_s=300, arrivals={"requests_per_hour": 6}, **LENGTHS
    )
    assert problem["type"].endswith("unpriced-meter")


def test_free_writes_and_free_reads_pay_from_the_first_request(ask):
    price = usd(input="3", output="15", cache_read="0", cache_write_5m="0")
    answer = ask(api={"price": price}, policy={"ttls_s": [300]}, arrivals={"requests_per_hour": 1}, **LENGTHS)
    assert (answer["break_even"]["requests_per_hour"], answer["break_even"]["hit_rate"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    "change", [{"prefix_tokens": 1000}, {"prefix_tokens": 0}, {"variable_part_first": True}], ids=str
)
def test_no_rate_is_said_to_pay_where_nothing_is_cached(ask, change):
    policy = {"ttls_s": [300], "min_tokens": 1024}
    answer = ask(api={"price": OPUS}, policy=policy, arrivals={"requests_per_hour": 60}, **LENGTHS | change)
    for part in (answer["break_even"], answer["by_ttl"][0]["break_even"]):
        assert (part["requests_per_hour"], part["hit_rate"], part["reason"]) == (None, None, "nothing_is_cached")


def test_recorded_arrivals_are_times_and_nothing_else(ask):
    for arrivals, field, code in (
        ({"kind": "recorded"}, "times_s", "required"),
        ({"kind": "recorded", "times_s": [0, 1], "requests_per_hour": 6}, "requests_per_hour", "ambiguous"),
    ):
        fault = ask(400, api={"price": OPUS}, arrivals=arrivals, **LENGTHS)["errors"][0]
        assert (fault["pointer"], fault["code"]) == (f"#/arrivals/{field}", code)


def test_marks_of_different_lives_are_each_billed_by_their_own_write(ask):
    # Anthropic's own arithmetic: 12,000 tokens kept for an hour, the next 8,000 for five minutes, six requests an hour.
    # h(1 h) = 1 − e^−6 = 0.997521, h(5 min) = 1 − e^−0.5 = 0.393469.
    # Per million: 12,000 · (0.997521 · 0.2 + 0.002479 · 8) + 8,000 · (0.393469 · 0.2 + 0.606531 · 5)
    #   + 1,000 · 4 + 500 · 20
    #   = 2,632.02 + 24,890.78 + 4,000 + 10,000 = 41,522.80
    marks = [{"prefix_tokens": 12000, "ttl_s": 3600}, {"prefix_tokens": 20000, "ttl_s": 300}]
    body = {"api": {"price": OPUS}, "arrivals": {"requests_per_hour": 6}, **LENGTHS}
    answer = ask(query="?explain=true", marks=marks, **body)
    first, second = answer["marks"]
    assert (first["tokens"], second["tokens"]) == (12000, 8000)
    assert (first["write_billed_as"], second["write_billed_as"]) == ("cache_write_1h", "cache_write_5m")
    assert [first["hit_probability"], second["hit_probability"]] == pytest.approx([0.997521, 0.393469], abs=1e-6)
    assert [float(first["cost"]), float(second["cost"])] == pytest.approx([0.00263202, 0.02489078], abs=1e-8)
    assert float(answer["cost_with"]) == pytest.approx(0.0415228, abs=1e-7)
    assert answer["cost_without"] == "0.094"
    assert (answer["ttl_s"], answer["break_even"]["reason"]) == (None, "several_lives")
    # One life for all is the sum of its parts: marks of one kind give the figures without marks.
    alike = ask(marks=[{"prefix_tokens": n, "ttl_s": 3600} for n in (12000, 20000)], **body)
    assert alike["cost_with"] == ask(ttl_s=3600, **body)["cost_with"]


def test_a_part_shared_by_more_requests_is_found_more_often(ask):
    # The instructions are in 120 requests an hour of all users, the rest of the prompt in 6 of one.
    marks = [{"prefix_tokens": 12000, "ttl_s": 300, "requests_per_hour": 120}, {"prefix_tokens": 20000, "ttl_s": 300}]
    answer = ask(api={"price": OPUS}, arrivals={"requests_per_hour": 6}, marks=marks, **LENGTHS)
    hits = [mark["hit_probability"] for mark in answer["marks"]]
    assert hits == pytest.approx([0.9999546, 0.393469], abs=1e-6)  # 1 − e^−10 and 1 − e^−0.5


def test_what_the_minimum_keeps_from_a_mark_is_written_by_the_next(ask):
    marks = [{"prefix_tokens": 900, "ttl_s": 3600}, {"prefix_tokens": 20000, "ttl_s": 300}]
    body = {"api": {"price": OPUS}, "arrivals": {"requests_per_hour": 6}, **LENGTHS}
    answer = ask(policy={"ttls_s": [300, 3600], "min_tokens": 1024}, marks=marks, **body)
    assert [(mark["tokens"], mark["ttl_s"]) for mark in answer["marks"]] == [(20000, 300)]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"marks": [{"prefix_tokens": 100, "ttl_s": 300}, {"prefix_tokens": 200, "ttl_s": 3600}]}, "#/marks/1/ttl_s"),
        ({"marks": [{"prefix_tokens": 200, "ttl_s": 300}, {"prefix_tokens": 200, "ttl_s": 300}]},
         "#/marks/1/prefix_tokens"),
        ({"marks": [{"prefix_tokens": 30000, "ttl_s": 300}]}, "#/marks/0/prefix_tokens"),
        ({"marks": [{"prefix_tokens": 9000, "ttl_s": 900}]}, "#/marks/0/ttl_s"),
        ({"marks": [{"prefix_tokens": n, "ttl_s": 300} for n in range(1000, 6000, 1000)]}, "#/marks"),
        ({"marks": [{"prefix_tokens": 9000, "ttl_s": 300, "requests_per_hour": 1}]}, "#/marks/0/requests_per_hour"),
        ({"marks": [{"prefix_tokens": 9000, "ttl_s": 300}], "ttl_s": 300}, "#/ttl_s"),
        ({"marks": [{"prefix_tokens": 9000, "ttl_s": 300}], "variable_part_first": True}, "#/variable_part_first"),
        ({"arrivals": {"requests_per_hour": 6, "times_s": [1, 2]}}, "#/arrivals/times_s"),
    ],
)  # fmt: skip
def test_marks_that_break_the_providers_rules_are_refused(ask, change, pointer):
    body = {"api": {"price": "claude-opus-5-5", "on": "2026-11-29"}, "arrivals": {"requests_per_hour": 6}, **LENGTHS}
    assert [error["pointer"] for error in ask(400, **body | change)["errors"]] == [pointer]
