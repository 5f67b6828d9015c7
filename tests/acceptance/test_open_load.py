"""An open load: what a replica yields at most is as uncertain as its measured throughput, and the answer says so."""

import pytest

from estimator.constants.bands import BAND_RULES
from estimator.engine.speed.bands import spread, widened


def most_throughput():
    """The band of maxima. Those of dense models were measured with TensorRT-LLM alone: vLLM is another engine."""
    return widened(spread("max", "dense"), "max", BAND_RULES.distance_of_kernel)


@pytest.fixture
def open_load(ask):
    def post(rate):
        return ask(
            "throughput",
            {
                "model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19",
                "workload": {
                    "mode": "open_loop", "input_tokens": 1000, "output_tokens": 200, "requests_per_s": rate,
                },
                "slo": {"ttft_s": 1.0, "tpot_s": 0.2},
            },
        )  # fmt: skip

    return post


def test_a_growing_queue_yields_the_stable_rate_within_the_band_of_the_most_throughput(open_load):
    answer = open_load(1000)
    rate = answer["expected"]["requests_per_s"]
    low, high = most_throughput()
    assert answer["expected"]["reason"] == "queue_grows"
    assert answer["expected"]["ttft_s"] is None
    assert rate["mid"] == pytest.approx(answer["open_load"]["max_stable_requests_per_s"])
    assert rate["low"] == pytest.approx(low * rate["mid"])
    assert rate["high"] == pytest.approx(min(high * rate["mid"], answer["ceiling"]["requests_per_s"]))


def test_a_load_well_within_capacity_is_served_whatever_the_error(open_load):
    answer = open_load(2)
    assert answer["expected"]["requests_per_s"] == {"low": 2.0, "mid": 2.0, "high": 2.0}
    assert answer["concurrency"]["requested"] is None


def test_the_highest_rate_within_the_targets_carries_the_error_of_capacity(open_load):
    answer = open_load(2)
    best = answer["expected"]["max_requests_per_s_within_slo"]
    low, _ = most_throughput()
    assert best["low"] <= low * answer["open_load"]["max_stable_requests_per_s"] * (1 + 1e-9)
    assert best["low"] < best["mid"] < best["high"] <= answer["ceiling"]["max_requests_per_s_within_slo"]
