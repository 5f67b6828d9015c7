"""The accuracy table scores what the API answers: measured settings asked over REST give the table's predictions."""

import json
from collections import defaultdict
from functools import cache

import pytest

from catalog import data_files
from estimator.engine.specs import WorkloadMode
from estimator.validation import shipped
from estimator.validation.launches import launch_of, traffic_of
from estimator.validation.predictions import NOT_STATED, predict
from estimator.validation.rows import Metric, read_measurements, used

_ROWS_OF_A_KIND = 5
SHARES = {"gpu_memory_utilization", "mem_fraction_static"}
_FIGURES = {
    Metric.TPOT: "tpot_s",
    Metric.TTFT: "ttft_s",
    Metric.TTFT_ALONE: "ttft_s",
    Metric.ONLINE: "tokens_per_s_total",
    Metric.OFFLINE: "tokens_per_s_total",
    Metric.STATIC: "tokens_per_s_total",
    Metric.SINGLE_STREAM: "tokens_per_s_per_user",
}


@cache
def predictions():
    said, _ = predict(used(read_measurements()))
    return {(p.row.id, p.row.metric): p for p in said}


def sample():
    """Rows spread over every metric, engine and mode, of accelerators that the catalog holds."""
    catalog = {record.slug for record in data_files.gpus().records}
    kinds = defaultdict(list)
    for row in used(read_measurements()):
        # Without its traffic a first token is not scored, and some cards lack a figure.
        if row.gpu in catalog and (row.id, row.metric) in predictions():
            kinds[row.metric, row.engine, row.mode].append(row)
    for rows in kinds.values():
        yield from rows[:: max(len(rows) // _ROWS_OF_A_KIND, 1)][:_ROWS_OF_A_KIND]
    for tight in ("rtx-4080", "a10g"):  # settings with little room beside the weights
        yield from [row for row in used(read_measurements()) if row.gpu == tight and row.precision.weights != "q4_k_m"]


def length(tokens):
    return int(tokens) if tokens == int(tokens) else tokens


def body_of(row):
    """The request of a row: its own columns, and the memory fraction of the profile, stated."""
    inputs = row.input_tokens or (0 if row.engine.startswith("llama.cpp") else 8)
    workload = {"mode": row.mode.value, "input_tokens": length(inputs), "output_tokens": length(row.output_tokens)}
    if row.mode in (WorkloadMode.CLOSED_LOOP, WorkloadMode.STATIC_BATCH):
        workload["concurrency"] = int(row.concurrency)
    body = {
        "model": row.model,
        "gpu": row.gpu,
        "engine": row.engine,
        "parallelism": {name: getattr(row.parallelism, name) for name in ("tp", "pp", "ep", "dp")},
        "precision": {
            "weights": row.precision.weights,
            "attention_weights": row.precision.attention_weights,
            "expert_weights": row.precision.expert_weights,
            "kv_cache": row.precision.kv_cache,
        },
        "workload": workload,
    }
    engine = shipped.profile(row.engine)
    launch = launch_of(row)
    stated = launch.settings_for(row) if launch else {}
    body["engine_settings"] = stated
    body["launch"] = "default" if launch and not launch.tuned else "tuned"
    workload["traffic"] = traffic_of(row).model_dump(mode="json", exclude_defaults=True)
    if engine.serving is not None and not SHARES & set(stated):
        body["memory"] = {"utilization": engine.memory.utilization}
    return body


ROWS = list({(row.id, row.metric): row for row in sample()}.values())


def test_the_sample_spans_every_metric_and_engine_of_the_rows():
    assert len(ROWS) >= 60
    asked = used(read_measurements())
    assert {row.metric for row in ROWS} == {row.metric for row in asked}
    assert {row.engine for row in ROWS} == {row.engine for row in asked}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.id}-{row.metric.value}")
def test_a_measured_setting_asked_over_rest_is_answered_as_the_table_scores_it(ask, row):
    answer = ask("throughput", body_of(row))
    if row.metric is Metric.PREFILL:
        answered = answer["prefill"]["tokens_per_s"]
    else:
        answered = answer["expected"][_FIGURES[row.metric]]["mid"]
    assert answered == pytest.approx(predictions()[row.id, row.metric].expected, rel=1e-9), json.dumps(body_of(row))


def test_every_measured_setting_fits():
    _, skipped = predict(used(read_measurements()))
    reasons = {one.reason for one in skipped}
    assert NOT_STATED in reasons
    assert not reasons & {"does_not_fit", "queue_grows", "kv_settings_assumed"}
