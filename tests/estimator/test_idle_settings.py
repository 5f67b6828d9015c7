"""A setting that changes nothing of a plan is named: the settings and their values come from the schema."""

from typing import Literal, get_args, get_origin

import orjson
import pytest

from estimator.constants.engine_settings import settings_of
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


# Experts leave the passes of prompts to the host, so that what graphs hold is seen in the first token.
HELD_UP = {
    "model": "gpt-oss-120b",
    "gpu": "h200-sxm-141gb",
    "workload": {"input_tokens": 300, "output_tokens": 200, "concurrency": 64},
}


def settings_and_values(engine):
    """Every memory setting with other values, and every setting that the engine has by its own name."""
    for name, field in Memory.model_fields.items():
        values = (True, False) if bool in get_args(field.annotation) else (value_of(field.annotation),)
        yield from ((f"memory.{name}", {"memory": {name: value}}) for value in values)
    tried = {"flag": (True, False), "share": (0.3,), "ratio": (0.3,)}
    for name, setting in settings_of(engine).items():
        values = tried.get(setting.kind, (8, 4096))
        yield from ((f"engine_settings.{name}", {"engine_settings": {name: value}}) for value in values)


@pytest.mark.parametrize(
    ("slug", "engine"),
    [("vllm", "vllm"), ("vllm-0.19", "vllm"), ("sglang-0.5", "sglang"), ("tensorrt-llm", "tensorrt-llm")],
)
def test_what_is_said_to_make_no_difference_makes_none(client, slug, engine):
    plan = HELD_UP | {"engine": slug}
    plain = ask(client, "throughput", plan)
    said = []
    for path, stated in settings_and_values(engine):
        answer = ask(client, "throughput", plan | stated)
        if any(text.startswith("No difference") and path in text for text in answer["warnings"]):
            said.append(path)
            assert answer["expected"] == plain["expected"], path
    assert said


@pytest.mark.parametrize(
    ("engine", "stated"),
    [
        ("vllm", {"engine_settings": {"async_scheduling": False}}),
        ("vllm-0.19", {"engine_settings": {"max_cudagraph_capture_size": 8}}),
        ("vllm-0.19", {"memory": {"max_cudagraph_capture_size": 8}}),
        ("vllm-0.19", {"memory": {"async_scheduling": False}}),
    ],
)
def test_a_setting_that_acts_on_speed_alone_is_not_said_to_make_no_difference(client, engine, stated):
    plan = HELD_UP | {"engine": engine}
    plain, answer = (ask(client, "throughput", plan | one) for one in ({}, stated))
    assert answer["expected"]["ttft_s"] != plain["expected"]["ttft_s"]
    assert not any(text.startswith("No difference") for text in answer["warnings"])


def test_scheduling_ahead_by_the_name_of_vllm_is_of_no_use_to_another_engine(client):
    plan = HELD_UP | {"engine": "sglang-0.5"}
    plain, answer = (ask(client, "throughput", plan | one) for one in ({}, {"memory": {"async_scheduling": False}}))
    assert answer["expected"] == plain["expected"]
    assert named(answer, "memory.async_scheduling")


@pytest.mark.parametrize("slug", ["cost", "verdict", "sizing", "prompt-cache"])
def test_every_estimate_of_speed_counts_what_a_setting_does_to_it(client, slug):
    plan = HELD_UP | {"engine": "vllm-0.19", "memory": {"max_cudagraph_capture_size": 8}}
    under = {"cost": plan | PRICED, "prompt-cache": plan}
    body = {"self_hosted": under[slug]} if slug in under else plan
    if slug == "prompt-cache":
        body |= {"prefix_tokens": 200, "suffix_tokens": 100, "output_tokens": 200}
    if slug == "sizing":
        body = {name: part for name, part in plan.items() if name != "gpu"}
        body |= {"demand": {"concurrency": 64}, "candidates": {"gpus": [plan["gpu"]], "tp": [1]}}
    answer = ask(client, slug, body)
    assert not any(text.startswith("No difference") for text in answer["warnings"])
