"""Plans over REST: the common parts of a request, resolved and echoed, or refused field by field."""

import json

import pytest

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("loaded_catalog"),
    pytest.mark.urls("tests.estimator.api.urls"),
]

URL = "/api/v1/estimates/echo/"
BODY = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb"}


@pytest.fixture
def ask(client):
    def post(body=None, query="", **changes):
        return client.post(
            URL + query, json.dumps({**BODY, **changes} if body is None else body), content_type="application/json"
        )

    return post


def faults(response):
    assert response.status_code == 400, response.content
    assert response["Content-Type"] == "application/problem+json"
    return sorted((error["pointer"], error["code"]) for error in response.json()["errors"])


def test_defaults_and_aliases_are_resolved_and_echoed(ask):
    inputs = ask().json()["inputs"]
    assert inputs["engine"]["slug"].startswith("vllm-")
    assert inputs["model"]["parameters"] == 8_030_261_248
    assert inputs["gpu"]["memory_basis"] == "visible"
    assert inputs["parallelism"] == {"tp": 1, "pp": 1, "ep": 1, "dp": 1, "gpus": 1}
    assert inputs["precision"]["weights"] == "bf16"


def test_every_part_given_is_echoed(ask):
    response = ask(
        engine="ideal",
        parallelism={"tp": 2, "pp": 2},
        precision={"weights": "fp8", "kv_cache": "fp8", "attention_weights": "bf16", "activations": "bf16"},
        memory={"utilization": 0.95, "kv_cache_tokens_observed": 1000},
        workload={"input_tokens": 1e3, "output_tokens": 200.0, "concurrency": 8, "batch_sizes": [1, 2, 4]},
        slo={"ttft_s": 0.5, "tpot_s": 0.05, "percentile": 95, "band_side": "mid"},
        speculative={"acceptance_rate": 0.8, "draft_tokens": 4, "draft_cost_ratio": 0.05},
        lora={"max_loras": 4, "max_rank": 16},
        power={"pue": 1.2, "price_per_kwh": "0.125", "currency": "USD"},
    )
    inputs = response.json()["inputs"]
    assert inputs["engine"] == {
        "slug": "ideal",
        "engine": "ideal",
        "engine_version": None,
        "kind": "ideal",
        "release": None,
    }
    assert inputs["gpu"]["memory_bytes"] == 80_000_000_000
    assert inputs["parallelism"]["gpus"] == 4
    assert inputs["workload"]["input_tokens"] == 1000
    assert inputs["workload"]["batch_sizes"] == [1, 2, 4]
    assert inputs["slo"]["band_side"] == "mid"
    assert inputs["speculative"]["draft_cost_ratio"] == 0.05
    assert inputs["power"] == {"pue": 1.2, "price_per_kwh": "0.125", "currency": "USD"}


def test_a_model_by_shape_and_a_gpu_by_figures(ask):
    shape = {"parameters": 8.03e9, "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128, "hidden_size": 4096}
    figures = {"memory_bytes": 8e10, "memory_bandwidth_bytes_per_s": 3.35e12, "peak_flops_per_s": {"bf16": 9.89e14}}
    inputs = ask(model=shape, gpu=figures).json()["inputs"]
    assert (inputs["model"]["parameters"], inputs["model"]["family"]) == (8_030_000_000, "inline")
    assert (inputs["gpu"]["memory_bytes"], inputs["gpu"]["memory_basis"]) == (80_000_000_000, "given")


def test_a_config_is_echoed_by_its_hash_and_figures_only(ask):
    config = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4}
    config |= {"intermediate_size": 128, "vocab_size": 1000, "secret_note": "x" * 50, "eos_token_id": 10**30}
    response = ask(model={"config": config})
    assert len(response.json()["inputs"]["model"]["config_sha256"]) == 64
    assert b"secret_note" not in response.content


def test_tp_3_on_8_kv_heads_is_refused_with_what_is_allowed(ask):
    response = ask(parallelism={"tp": 3})
    assert faults(response) == [("#/parallelism/tp", "invalid")]
    assert "Allowed: 1, 2, 4, 8, 16, 32" in response.json()["errors"][0]["detail"]


def test_fp8_activations_on_an_a100_are_not_supported(ask):
    response = ask(gpu="a100-sxm4-80gb", precision={"weights": "fp8", "activations": "fp8"})
    assert faults(response) == [("#/precision/activations", "not_supported")]


def test_names_as_people_write_them_are_read_and_said(ask):
    answer = ask(model="meta-llama/Llama-3.1-8B-Instruct", gpu="NVIDIA H100 80GB HBM3", engine="vLLM").json()
    assert answer["inputs"]["model"]["slug"] == "llama-3.1-8b-instruct"
    assert answer["inputs"]["gpu"]["slug"] == "h100-sxm5-80gb"
    assert "“NVIDIA H100 80GB HBM3” was read as h100-sxm5-80gb." in answer["assumptions"]
    exact = ask(model="llama-3.1-8b-instruct", engine="vllm").json()
    assert not any("was read as" in text for text in exact["assumptions"])
    assert {**exact, "assumptions": 0} == {**answer, "assumptions": 0}


def test_a_name_that_may_mean_several_rows_is_refused_with_the_choices(ask):
    errors = ask(gpu="H100").json()["errors"]
    assert [(error["pointer"], error["code"]) for error in errors] == [("#/gpu", "unknown_slug")]
    assert errors[0]["near"] == ["h100-nvl-94gb", "h100-pcie-80gb", "h100-sxm5-80gb"]
    assert "more than one" in errors[0]["detail"]


def test_an_unknown_slug_comes_with_near_matches(ask):
    response = ask(model="llama-3.1-8bb", gpu="H100")
    assert faults(response) == [("#/gpu", "unknown_slug"), ("#/model", "unknown_slug")]
    near = {error["pointer"]: error["near"] for error in response.json()["errors"]}
    assert "llama-3.1-8b" in near["#/model"]
    assert "h100-sxm5-80gb" in near["#/gpu"]


def test_many_faults_come_in_one_answer(ask):
    response = ask(
        model={"slug": "llama-3.1-8b", "override": {"kv_heads": 0, "heads": 1}},
        engine="vlm",
        precision={"weights": "fp7"},
        memory={"utilization": -0.1},
        workload={"input_tokens": -1, "output_tokens": True, "mode": "closed-loop"},
        surprise=1,
    )
    assert faults(response) == [
        ("#/engine", "unknown_slug"),
        ("#/memory/utilization", "out_of_range"),
        ("#/model/override/heads", "unknown_field"),
        ("#/model/override/kv_heads", "out_of_range"),
        ("#/precision/weights", "invalid"),
        ("#/surprise", "unknown_field"),
        ("#/workload/input_tokens", "out_of_range"),
        ("#/workload/mode", "invalid"),
        ("#/workload/output_tokens", "invalid_type"),
    ]


def test_the_refusal_of_a_word_names_the_allowed_ones_and_the_nearest(ask):
    error = ask(workload={"mode": "closed-loop", "input_tokens": 1, "output_tokens": 1}).json()["errors"][0]
    assert "closed_loop" in error["detail"]
    assert error["near"][0] == "closed_loop"


def test_an_unknown_architecture_is_unprocessable_and_names_the_nearest(ask):
    response = ask(model={"config": {"model_type": "lamma"}})
    assert response.status_code == 422
    assert response.json()["type"].endswith("unknown-architecture")
    assert response.json()["errors"][0]["pointer"] == "#/model/config/model_type"
    assert "llama" in response.json()["errors"][0]["near"]


def test_a_wrong_figure_of_a_config_is_told_at_its_place(ask):
    config = {"model_type": "llama", "num_hidden_layers": "two", "hidden_size": 64, "num_attention_heads": 4}
    response = ask(model={"config": config})
    assert faults(response) == [("#/model/config/num_hidden_layers", "invalid")]


def test_a_plan_reads_the_database_once_when_facts_are_warm(ask, django_assert_num_queries):
    ask()
    with django_assert_num_queries(1):
        ask()


def test_nothing_is_stored(ask, django_assert_num_queries):
    with django_assert_num_queries(1) as captured:
        ask(model="nowhere")
    assert all(query["sql"].startswith("SELECT") for query in captured.captured_queries)


def test_mean_lengths_are_echoed_as_they_were_given(ask):
    response = ask(workload={"input_tokens": 921.6, "output_tokens": 2000, "concurrency": 1})
    assert b'"input_tokens":921.6,"output_tokens":2000,' in response.content


def test_every_drafted_token_may_be_accepted(ask):
    response = ask(speculative={"acceptance_rate": 1.0, "draft_tokens": 4})
    assert response.json()["inputs"]["speculative"]["acceptance_rate"] == 1
    assert "Cost of the draft not given: 0." in response.json()["assumptions"]
