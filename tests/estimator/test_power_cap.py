"""A cap on power in every mode: times are longer or not said, and nothing else breaks."""

import pytest

from estimator.estimates.throughput.answer import ENDPOINT as THROUGHPUT
from estimator.estimates.verdict.answer import ENDPOINT as VERDICT
from tests.estimator.random_plans import answered

PLAN = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19", "slo": {"ttft_s": 1}}


@pytest.mark.parametrize("cap", [120, 300, 650])
@pytest.mark.parametrize("rate", [0.001, 1, 10])
@pytest.mark.parametrize("endpoint", [THROUGHPUT, VERDICT], ids=lambda endpoint: endpoint.slug)
def test_arrivals_with_targets_are_answered_under_every_cap(endpoint, cap, rate):
    load = {"mode": "open_loop", "requests_per_s": rate, "input_tokens": 1000, "output_tokens": 20}
    answer = answered(endpoint, PLAN | {"workload": load, "power_cap_w": cap})
    assert answer.energy is None or answer.energy.watts_per_gpu.high <= cap * (1 + 1e-9)


def test_a_capped_load_is_not_played_and_says_so():
    load = {"input_tokens": 1000, "output_tokens": 300, "concurrency": 64}
    plan = PLAN | {"workload": load, "percentiles": "simulated"}
    assert answered(THROUGHPUT, plan).simulated.reason is None
    assert "cap on power" in answered(THROUGHPUT, plan | {"power_cap_w": 200}).simulated.reason
