"""Settings that are kept between questions: no answer depends on what was asked before, none outlives its facts."""

import orjson
import pytest

from catalog.models import Gpu
from catalog.snapshot import CatalogFacts
from estimator.api.urls import ENDPOINTS
from estimator.api.view import answer_to
from estimator.question.plan import Memory, Parallelism, PlanRequest, Precision
from estimator.resolvers.live import LiveFacts, current_facts
from estimator.resolvers.resolve import _key_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
PLAN = {"model": "gpt-oss-120b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19"}
LOAD = {"input_tokens": 1000, "output_tokens": 200, "concurrency": 8}
# Each differs from the one before in something that decides memory or speed.
QUESTIONS = [
    {"memory": {"kv_cache_tokens_observed": 200_000}},
    {"memory": {"kv_cache_tokens_observed": 200_000}, "workload": LOAD | {"input_tokens": 30_000}},
    {"memory": {"max_batched_tokens": 512}},
    {"engine": "llama.cpp", "model": "llama-3.1-8b"},
    {"engine": "vllm-v0", "model": "llama-3.1-8b"},
    {"engine": "vllm-v0", "model": "llama-3.1-8b", "workload": LOAD | {"input_tokens": 30_000}},
    {"model": "qwen3-next-80b-a3b-instruct", "parallelism": {"tp": 4}},
    {
        "model": "qwen3-next-80b-a3b-instruct",
        "parallelism": {"tp": 4},
        "speculative": {"acceptance_rate": 0.7, "draft_tokens": 5},
    },
    {"parallelism": {"tp": 2, "pp": 2}},
    {"precision": {"kv_cache": "fp8"}},
    {"launch": "default"},
    {"launch": "tuned"},
    {"engine_settings": {"stream_interval": 10}},
    {"engine_settings": {"max_num_batched_tokens": 512}},
    {"slo": {"ttft_s": 1}, "workload": LOAD | {"mode": "open_loop", "requests_per_s": 2, "concurrency": None}},
]


def fresh_facts():
    return LiveFacts(CatalogFacts(current_facts()._catalog.revision))


def answer(slug, question, facts):
    endpoint = next(one for one in ENDPOINTS if one.slug == slug)
    raw = orjson.dumps(PLAN | {"workload": LOAD} | question)
    return orjson.loads(answer_to(endpoint, raw, facts=facts, explain=True))


@pytest.mark.parametrize("slug", ["memory-fit", "throughput"])
def test_an_answer_is_the_same_whatever_was_asked_before(slug):
    kept = fresh_facts()
    alone = [answer(slug, question, fresh_facts()) for question in QUESTIONS]
    assert [answer(slug, question, kept) for question in (*QUESTIONS, *QUESTIONS[::-1])] == alone + alone[::-1]


def test_the_key_of_a_setting_has_every_field_of_its_parts():
    plain = PlanRequest(model="llama-3.1-8b", gpu="h100-sxm5-80gb")
    keys = {_key_of(plain)}
    for name, part in (("parallelism", Parallelism), ("precision", Precision), ("memory", Memory)):
        for field in part.model_fields:
            keys.add(_key_of(plain.model_copy(update={name: part.model_construct(**{field: "another"})})))
    whole = {"model", "gpu", "engine", "speculative", "lora", "mtp_layers_loaded", "launch", "power_cap_w"}
    keys.add(_key_of(plain.model_copy(update={"engine_settings": {"stream_interval": 10}})))
    keys.add(_key_of(plain.model_copy(update={"engine_settings": {"stream_interval": 20}})))
    keys |= {_key_of(plain.model_copy(update={field: "another"})) for field in whole}
    assert len(keys) == 3 + sum(len(part.model_fields) for part in (Parallelism, Precision, Memory)) + len(whole)
    load = {"workload", "slo", "power"}
    assert {*whole, *load, "engine_settings", "parallelism", "precision", "memory"} == set(PlanRequest.model_fields)
    assert _key_of(plain.model_copy(update=dict.fromkeys(load, "another"))) == _key_of(plain)


@pytest.mark.parametrize(
    "other", [{"launch": "default"}, {"engine_settings": {"stream_interval": 10}}, {"workload": LOAD | {"traffic": {}}}]
)
def test_a_launch_asked_for_after_another_is_not_answered_with_it(other):
    kept = fresh_facts()
    first, plain = answer("throughput", other, kept), answer("throughput", {}, kept)
    assert plain["expected"] == answer("throughput", {}, fresh_facts())["expected"]
    assert (first["expected"] == plain["expected"]) is ("workload" in other)


def test_an_edited_row_changes_the_next_answer(client):
    def ask():
        body = PLAN | {"model": "llama-3.1-8b", "workload": LOAD}
        return client.post("/api/v1/estimates/memory-fit/", orjson.dumps(body), content_type="application/json").json()

    before = ask()
    assert ask() == before
    row = Gpu.objects.get(slug="h100-sxm5-80gb")
    row.memory_visible_bytes -= 10 * 2**30
    row.save()
    after = ask()
    assert after["inputs"]["gpu"]["memory_bytes"] == before["inputs"]["gpu"]["memory_bytes"] - 10 * 2**30
    assert after["per_gpu"]["memory_bytes"] == after["inputs"]["gpu"]["memory_bytes"]
    assert after["kv_cache"]["max_sequences"] < before["kv_cache"]["max_sequences"]
