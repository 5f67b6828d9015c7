"""A row of a sweep is the answer to its request, to 1e-12: one folding, one evaluation."""

import orjson
import pytest

from estimator.estimates.sweep.compute import load, snapshot_of
from estimator.resolvers.live import current_facts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

SWEEP = {
    "models": ["llama-3.1-8b", "deepseek-r1"],
    "gpus": ["h200-sxm-141gb", "l40s"],
    "engines": ["vllm-0.19", "sglang-0.5", "vllm-v0", "ideal"],
    "precisions": [{"weights": "fp8", "kv_cache": "fp8"}],
    "parallelism": [{"tp": 1}, {"tp": 8}],
    "workloads": [
        {"mode": "closed_loop", "input_tokens": 1000, "output_tokens": 300},
        {"mode": "static_batch", "input_tokens": 4000, "output_tokens": 100},
    ],
    "batch_sizes": [1, 17, 400],
}


def test_every_row_of_a_sweep_equals_the_answer_to_its_request(client):
    sweep = load({"sweep": SWEEP}, snapshot_of(SWEEP, current_facts()))
    rows = sweep.rows(0, sweep.total_rows)
    place = 0
    compared = 0
    for model in SWEEP["models"]:
        for gpu in SWEEP["gpus"]:
            for engine in SWEEP["engines"]:
                for degrees in SWEEP["parallelism"]:
                    for workload in SWEEP["workloads"]:
                        body = {
                            "model": model,
                            "gpu": gpu,
                            "engine": engine,
                            "precision": SWEEP["precisions"][0],
                            "parallelism": degrees,
                            "memory": {"utilization": None},
                            "workload": workload | {"batch_sizes": SWEEP["batch_sizes"]},
                        }
                        answer = client.post(
                            "/api/v1/estimates/throughput/", orjson.dumps(body), content_type="application/json"
                        )
                        assert answer.status_code == 200, answer.content
                        for row in answer.json()["rows"]:
                            compared += compare(row, rows, place)
                            place += 1
    assert place == sweep.total_rows
    assert compared > 60


def compare(row, rows, place):
    """1 if the row has figures; every figure that the answer says is the sweep's."""
    for name in ("tpot_s", "tokens_per_s_per_user", "tokens_per_s_total"):
        band = row[name]
        for side in ("low", "mid", "high"):
            value = float(rows[f"{name}_{side}"][place])
            if band is None:
                assert value != value, (name, place)
            else:
                assert band[side] == pytest.approx(value, rel=1e-12), (name, place)
    return int(row["tpot_s"] is not None)
