"""Reported memory cases that ask for no plan: bytes of a cache format, and the error over many starts."""

import pytest

from estimator.engine.model.cache import kv_element_bytes
from estimator.validation import shipped
from estimator.validation.memory_rows import score_memory


def test_m13_a_block_of_q8_0_is_34_bytes_for_32_elements() -> None:
    assert float(kv_element_bytes("q8_0")) == 1.0625
    assert float(kv_element_bytes("q8_0") / kv_element_bytes("fp16")) == pytest.approx(0.53, abs=2e-3)


def test_m38_mean_errors_on_the_same_kind_of_runs() -> None:
    # the 57-run validation that sets the bar: weights 0.89 %, KV memory 0.34 %, mean, without fp32 and run-time fp8
    runs = [
        score
        for score in score_memory(shipped.architecture, shipped.profile)
        if score.row.engine == "vllm-0.19" and score.row.clean and score.row.assumed is None
    ]
    cache = [abs(score.error) for score in runs]
    weights = [abs(score.weights_gib / score.row.weights_gib - 1) for score in runs if score.row.weights_gib]
    assert len(runs) >= 20
    assert sum(cache) / len(cache) <= 0.0034
    assert sum(weights) / len(weights) <= 0.0089
