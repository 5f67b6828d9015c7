"""A setting that changes nothing of a plan is named: the settings and their values come from the schema."""

from typing import Literal, get_args, get_origin

import orjson
import pytest

from estimator.question.plan import Memory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
VALUES = {bool: True, int: 8, float: 0.1}
PLAN = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "workload": {"input_tokens": 1000, "output_tokens": 200}}
PRICED = {"price_per_gpu_hour": "2", "currency": "USD"}


def value_of(annotation):
    """A value that a field takes: of its plain type, or the last of its names."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)[-1]
    if get_origin(annotation) is tuple:
        return [value_of(get_args(annotation)[0])]
    parts = [part for part in get_args(annotation) if part is not type(None)]
    return VALUES[annotation] if annotation in VALUES else value_of(parts[0])


def ask(client, slug, body):
    response = client.post(f"/api/v1/estimates/{slug}/", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    answer = response.json()
    return {name: part for name, part in answer.items() if name not in ("inputs", "provenance")}


def named(answer, path):
    return any(path in text for text in answer["warnings"])


@pytest.mark.parametrize("engine", ["vllm-0.19", "sglang-0.5", "llama.cpp"])
def test_a_memory_setting_changes_the_memory_or_is_named(client, engine):
    plan = PLAN | {"engine": engine}
    plain = ask(client, "memory-fit", plan)
    assert len(Memory.model_fields) > 5
    for name, field in Memory.model_fields.items():
        value = value_of(field.annotation)
        answer = ask(client, "memory-fit", plan | {"memory": {name: value}})
        assert answer["per_gpu"] | answer["kv_cache"] != plain["per_gpu"] | plain["kv_cache"] or named(
            answer, f"memory.{name}"
        ), name


@pytest.mark.parametrize(
    ("slug", "under", "beside"), [("throughput", "", {}), ("cost", "self_hosted", PRICED), ("sizing", None, {})]
)
def test_every_estimate_of_a_plan_names_a_setting_of_another_engine(client, slug, under, beside):
    plan = PLAN | beside | {"engine": "vllm-0.19", "memory": {"kv_unified": True}}
    if under is None:
        plan.pop("gpu")
        plan |= {"demand": {"concurrency": 1}, "candidates": {"gpus": ["h100-sxm5-80gb"], "tp": [1]}}
    answer = ask(client, slug, {under: plan} if under else plan)
    assert named(answer, f"{under}.memory.kv_unified" if under else "memory.kv_unified")
