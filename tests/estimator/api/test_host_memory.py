"""Experts in host memory over REST: the ledger with its split, the flag, and no speed."""

import json

import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
GPT_OSS = {
    "model": "gpt-oss-120b", "gpu": "rtx-4090", "engine": "llama.cpp", "precision": {"weights": "mxfp4"},
    "workload": {"input_tokens": 8192, "output_tokens": 0},
}  # fmt: skip
ON_HOST = {"memory": {"n_cpu_moe": 28}}


def asked(client, path, body, status=200):
    answer = client.post(f"/api/v1/estimates/{path}/", json.dumps(body), content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_model_of_60_gib_starts_on_24_with_its_experts_in_host_memory(client):
    whole, moved = (asked(client, "memory-fit", GPT_OSS | more) for more in ({}, ON_HOST))
    assert (whole["feasible"], moved["feasible"]) == (False, True)
    assert any("memory.n_cpu_moe" in text for text in whole["not_modelled"])
    assert any(text.startswith("Speed with experts in host memory") for text in moved["not_modelled"])
    host = moved["host_memory"]
    assert host["total_bytes"] == host["expert_bytes"] + host["embedding_bytes"]
    freed = whole["per_gpu"]["weights_bytes"] - moved["per_gpu"]["weights_bytes"]
    assert host["expert_bytes"] == pytest.approx(freed, abs=1)
    assert host["expert_layers"] == 28
    assert "--n-cpu-moe 28" in moved["launch_hint"]
    assert asked(client, "memory-fit", GPT_OSS | {"engine": "vllm"})["host_memory"] is None


def test_its_engines_name_is_a_name_of_it_too(client):
    settings = {"engine_settings": {"n_cpu_moe": 28, "n_ubatch": 1024, "kv_unified": True, "n_parallel": 1}}
    own = asked(client, "memory-fit", GPT_OSS | settings)
    same = {"n_cpu_moe": 28, "max_batched_tokens": 1024, "kv_unified": True, "max_num_seqs": 1}
    assert own["per_gpu"] == asked(client, "memory-fit", GPT_OSS | {"memory": same})["per_gpu"]


@pytest.mark.parametrize("path", ["throughput", "verdict"])
def test_no_speed_is_said(client, path):
    refused = asked(client, path, GPT_OSS | ON_HOST, status=422)
    assert refused["errors"][0]["pointer"] == "#/memory/n_cpu_moe"
    assert "not modelled" in refused["detail"]


@pytest.mark.parametrize("layers", [-1, 1.5, "all", 10**9, True])
def test_no_count_of_layers_is_refused_by_name(client, layers):
    refused = asked(client, "memory-fit", GPT_OSS | {"memory": {"n_cpu_moe": layers}}, status=400)
    assert refused["errors"][0]["pointer"] == "#/memory/n_cpu_moe"
