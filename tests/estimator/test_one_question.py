"""Reports and estimates take the same question and give the same figures: the lists of fields are derived."""

import orjson
import pytest

from estimator.engine.codes import Reason
from estimator.estimates.sweep.columns import COLUMN_BY_NAME
from estimator.estimates.sweep.compute import load, snapshot_of
from estimator.estimates.throughput.parts import CeilingPart, ExpectedPart, OpenLoadPart, RowPart
from estimator.figures.reasons import REASONS
from estimator.figures.speed import METRICS, SIDES
from estimator.question.plan import PlanRequest
from estimator.question.sweep import Sweep, SweptWorkload
from estimator.question.workload import Workload
from estimator.resolvers.live import current_facts

# A field of an estimate under the name of the axis that a sweep has of it; targets stand beside the sweep.
AXES = {
    "model": "models",
    "gpu": "gpus",
    "engine": "engines",
    "precision": "precisions",
    "parallelism": "parallelism",
    "workload": "workloads",
}
BESIDE = {"slo"}


def test_a_sweep_has_every_field_of_an_estimate():
    missing = set(PlanRequest.model_fields) - BESIDE - {name for name in AXES if AXES[name] in Sweep.model_fields}
    assert missing <= set(Sweep.model_fields)


def test_a_field_that_both_have_is_the_same_class_with_the_same_bounds():
    shared = set(PlanRequest.model_fields) & set(Sweep.model_fields) - set(AXES.values())
    assert shared >= {"memory", "lora", "speculative", "mtp_layers_loaded", "power"}
    for name in shared:
        estimate, sweep = PlanRequest.model_fields[name], Sweep.model_fields[name]
        assert estimate.annotation == sweep.annotation, name
        assert estimate.metadata == sweep.metadata, name


def test_a_workload_of_a_sweep_is_the_workload_of_an_estimate_with_lists():
    own = {name for name in SweptWorkload.model_fields if SweptWorkload.model_fields[name] is not None}
    assert own - set(Workload.model_fields) == {"name"}
    for name in set(Workload.model_fields) - {"requests_per_s"}:
        assert SweptWorkload.model_fields[name].annotation == Workload.model_fields[name].annotation
        assert SweptWorkload.model_fields[name].metadata == Workload.model_fields[name].metadata


def test_every_figure_of_the_registry_is_in_answers_and_rows():
    for name in METRICS:
        assert {f"{name}_{side}" for side in (*SIDES, "ceiling")} <= set(COLUMN_BY_NAME)
        assert name in CeilingPart.model_fields
        assert name in ExpectedPart.model_fields
        assert {name, f"ceiling_{name}"} <= set(RowPart.model_fields)
    assert set(OpenLoadPart.model_fields) <= set(COLUMN_BY_NAME)


def test_every_reason_has_its_sentence():
    assert {reason.label for reason in Reason} - {"none"} == set(REASONS)


PLAN = {
    "model": "deepseek-v3",
    "gpu": "h200-sxm-141gb",
    "engine": "vllm-0.19",
    "precision": {"weights": "fp8", "kv_cache": "bf16"},
    "parallelism": {"tp": 8},
    "memory": {"utilization": 0.9},
}
LOAD = {"input_tokens": 1000, "output_tokens": 300, "concurrency": 16}
QUESTIONS = [
    {},
    {"workload": LOAD | {"input_tokens": 921.6, "output_tokens": 102.4}},
    {"workload": LOAD | {"input_tokens": 0}},
    {"workload": {"mode": "decode_step", "context_tokens": 8000.5, "concurrency": 60}},
    {"workload": LOAD | {"mode": "open_loop", "concurrency": None, "requests_per_s": 2.0, "burstiness_cv": 3.0}},
    {"memory": {"utilization": 0.9, "kv_cache_tokens_observed": 400_000}},
    {"mtp_layers_loaded": 1},
    {"speculative": {"acceptance_rate": 0.7, "draft_tokens": 4, "draft_cost_ratio": 0.05}},
    {"speculative": {"acceptance_rate": 0.7, "draft_tokens": 3, "draft_model": "llama-3.2-1b"}},
    {"lora": {"max_loras": 4, "max_rank": 64}},
]


@pytest.mark.django_db
@pytest.mark.usefixtures("loaded_catalog")
@pytest.mark.parametrize("change", QUESTIONS, ids=lambda change: "-".join(change) or "plain")
def test_an_estimate_is_a_sweep_of_one_row(client, change):
    body = PLAN | {"workload": LOAD} | change
    response = client.post("/api/v1/estimates/throughput/", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    answer = response.json()
    asked = {AXES.get(name, name): [part] if name in AXES else part for name, part in body.items()}
    sweep = load({"sweep": asked}, orjson.loads(orjson.dumps(snapshot_of(asked, current_facts()))))
    assert sweep.total_rows == 1
    row = {name: values for name, values in sweep.rows(0, 1).items() if not hasattr(values, "labels")}
    for name in METRICS:
        same(answer["ceiling"][name], row[f"{name}_ceiling"])
        for side in SIDES:
            same((answer["expected"][name] or {}).get(side), row[f"{name}_{side}"])
    for name in ("max_sequences", "full_length_sequences"):
        same(answer["concurrency"][name], row[name])
    for part, names in (("open_load", OpenLoadPart.model_fields), ("speculative", ("speedup", "tpot_s"))):
        for name in names if answer[part] else ():
            same(answer[part][name], row[f"speculative_{name}" if part == "speculative" else name])


def same(said, value):
    assert float(value[0]) == pytest.approx(float("nan") if said is None else said, rel=1e-9, nan_ok=True)
