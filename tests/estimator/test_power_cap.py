"""A cap on power in every mode: times are longer, and nothing else breaks."""

import pytest

from estimator.estimates.sizing.answer import ENDPOINT as SIZING
from estimator.estimates.throughput.answer import ENDPOINT as THROUGHPUT
from estimator.estimates.verdict.answer import ENDPOINT as VERDICT
from tests.estimator.random_plans import answered

PLAN = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19", "slo": {"ttft_s": 1}}
ARRIVING = {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 20}


def asked(rate, cap=None, endpoint=THROUGHPUT):
    return answered(endpoint, PLAN | {"workload": ARRIVING | {"requests_per_s": rate}, "power_cap_w": cap})


@pytest.mark.parametrize("cap", [120, 300, 650])
@pytest.mark.parametrize("rate", [0.001, 1, 10])
def test_arrivals_are_answered_under_every_cap_and_no_faster_than_without(rate, cap):
    answer, free = asked(rate, cap), asked(rate)
    assert answer.energy.watts_per_gpu.high <= cap * (1 + 1e-9)
    for name in ("ttft_s", "tpot_s", "e2e_s"):
        capped, alone = getattr(answer.expected, name), getattr(free.expected, name)
        assert capped.mid >= alone.mid * (1 - 1e-9)
        assert capped.high / capped.low >= alone.high / alone.low * (1 - 1e-9)
    assert 0 < answer.expected.max_requests_per_s_within_slo.mid <= free.expected.max_requests_per_s_within_slo.mid
    assert answer.odds.all <= free.odds.all
    assert asked(rate, cap, VERDICT).verdict.state == ("safe" if answer.odds.all >= 0.9 else "likely")


def test_a_slower_clock_stretches_time_so_that_a_queue_is_that_of_more_arrivals():
    capped = asked(10, 300)
    slower = capped.expected.tpot_s.mid / asked(10).expected.tpot_s.mid
    again = asked(10 * slower)
    first = capped.first_token.waiting_s / again.first_token.waiting_s
    # The passes of a prompt are folded around the rate asked for: within a few percent.
    assert first == pytest.approx(capped.expected.tpot_s.mid / again.expected.tpot_s.mid, rel=0.05)


def test_sizing_by_rate_takes_what_the_capped_replica_serves():
    def replica(cap):
        answer = answered(
            SIZING,
            {
                "model": PLAN["model"], "engine": PLAN["engine"], "slo": PLAN["slo"], "power_cap_w": cap,
                "candidates": {"gpus": [PLAN["gpu"]], "tp": [1]},
                "workload": {"input_tokens": 1000, "output_tokens": 20}, "demand": {"requests_per_s_peak": 40},
            },
        )  # fmt: skip
        return answer.options[0]

    free, capped = replica(None), replica(300)
    assert capped.capacity.requests_per_s == pytest.approx(asked(1, 300).expected.max_requests_per_s_within_slo.low)
    assert free.capacity.requests_per_s / 5 < capped.capacity.requests_per_s < free.capacity.requests_per_s


def test_a_capped_load_is_not_played_and_says_so():
    load = {"input_tokens": 1000, "output_tokens": 300, "concurrency": 64}
    plan = PLAN | {"workload": load, "percentiles": "simulated"}
    assert answered(THROUGHPUT, plan).simulated.reason is None
    assert "cap on power" in answered(THROUGHPUT, plan | {"power_cap_w": 200}).simulated.reason
