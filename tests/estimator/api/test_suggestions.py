"""Every suggestion of memory-fit, asked again as a request of its own, gives what it promised."""

import copy
import json
import random
from typing import Any

import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

URL = "/api/v1/estimates/memory-fit/"
PROMISED = ("max_sequences", "max_context_tokens")


@pytest.fixture
def ask(client):
    def post(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        response = client.post(URL, json.dumps(body), content_type="application/json")
        return response.status_code, response.json()

    return post


def changed(body: dict[str, Any], change: str, value: Any) -> dict[str, Any]:
    """The request with a suggestion taken."""
    body = copy.deepcopy(body)
    if change == "context_tokens":
        body["workload"]["context_tokens"] = value
    elif change == "sequences":
        body["workload"]["concurrency"] = value
    elif change == "parallelism":
        body["parallelism"] = body.get("parallelism", {}) | value
    elif "." in change:
        part, field = change.split(".")
        body.setdefault(part, {})[field] = value
        if change == "precision.weights":
            body["precision"].pop("expert_weights", None)
    else:
        body[change] = value
    return body


def random_question(rng: random.Random, names: dict[str, list[str]]) -> dict[str, Any]:
    body: dict[str, Any] = {kind: rng.choice(slugs) for kind, slugs in names.items()}
    body["workload"] = {
        "input_tokens": rng.choice([100, 1000, 4000, 16_000, 30_000]),
        "output_tokens": rng.choice([1, 100, 1000]),
        "concurrency": rng.choice([1, 8, 64, 256, 1000]),
    }
    if rng.random() < 0.6:
        formats = ["bf16", "fp8", "int4", "int8", "fp16", "nvfp4", "mxfp4", "q8_0", "q4_k_m"]
        body["precision"] = {"weights": rng.choice(formats), "kv_cache": rng.choice(["bf16", "bf16", "fp8"])}
    if rng.random() < 0.15:
        body.setdefault("precision", {})["expert_weights"] = rng.choice(["bf16", "fp8", "mxfp4"])
    if rng.random() < 0.4:
        body["parallelism"] = {"tp": rng.choice([1, 2, 4, 8]), "pp": rng.choice([1, 2]), "dp": rng.choice([1, 1, 2])}
    if rng.random() < 0.3:
        body["memory"] = {"utilization": rng.choice([0.5, 0.8, 0.95]), "max_num_seqs": rng.choice([16, 256, 1024])}
    if rng.random() < 0.1:
        body["lora"] = {"max_loras": 4, "max_rank": 64}
    return body


def broken_promises(ask, body: dict[str, Any]) -> tuple[int, list[Any]]:
    """Suggestions of a question, and those of them that give something else when asked."""
    status, answer = ask(body)
    if status != 200 or answer["feasible"]:
        return 0, []
    broken: list[Any] = []
    for suggestion in answer["suggestions"]:
        again, then = ask(changed(body, suggestion["change"], suggestion["value"]))
        if again != 200:
            broken.append((suggestion, again, then.get("errors"), body))
            continue
        got = {name: then["kv_cache"][name] for name in PROMISED} | {"verdict": then["verdict"]}
        promised = {name: suggestion[name] for name in (*PROMISED, "verdict")}
        if got != promised or not then["feasible"]:
            broken.append((suggestion, got, body))
    return len(answer["suggestions"]), broken


@pytest.mark.parametrize("seed", range(4))
def test_a_suggestion_taken_gives_what_it_promised(ask, client, seed):
    rng = random.Random(seed)
    names = {
        kind: [row["slug"] for row in client.get(f"/api/v1/{path}/?page_size=500").json()["results"]]
        for kind, path in (("model", "models"), ("gpu", "gpus"), ("engine", "engine-profiles"))
    }
    asked, broken = 0, []
    while asked < 150:
        count, found = broken_promises(ask, random_question(rng, names))
        asked += count
        broken += found
    assert broken == []


@pytest.mark.parametrize(
    "question",
    [
        # Ten KV heads are not split over eight ranks.
        {
            "model": "phi-3-medium-4k-instruct", "gpu": "b300-sxm-288gb", "engine": "vllm-0.19",
            "workload": {"input_tokens": 4000, "output_tokens": 100, "concurrency": 1000},
        },
        # A state does not grow: no longest length.
        {
            "model": "mamba-codestral-7b-v0.1", "gpu": "h100-sxm5-80gb", "memory": {"max_num_seqs": 16},
            "workload": {"input_tokens": 100, "output_tokens": 1, "concurrency": 1000},
        },
    ],
)  # fmt: skip
def test_promises_that_were_once_broken_hold(ask, question):
    count, broken = broken_promises(ask, question)
    assert count
    assert broken == []


def test_a_checkpoint_of_another_format_counts_when_that_format_is_suggested(ask):
    """kimi-k2.5 is published in int4: suggested int4 weights are those files and not the formula."""
    body = {"model": "kimi-k2.5", "gpu": "b300-sxm-288gb", "parallelism": {"tp": 4}, "precision": {"weights": "bf16"}}
    count, broken = broken_promises(ask, body)
    answer = ask(body)[1]
    assert "precision.weights" in {suggestion["change"] for suggestion in answer["suggestions"]}
    assert count
    assert broken == []
