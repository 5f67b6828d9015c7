"""Weights that a request leaves out are those of the model's own files: one rule in every estimate."""

import pytest

H100 = "h100-sxm5-80gb"
WORKLOAD = {"input_tokens": 1000, "output_tokens": 200, "concurrency": 8}


def shape(model: str, tp: int = 1) -> dict:
    return {"model": model, "gpu": H100, "engine": "vllm-0.19", "parallelism": {"tp": tp}, "workload": WORKLOAD}


@pytest.mark.parametrize(
    ("model", "own", "tp"), [("gpt-oss-20b", "mxfp4", 1), ("qwen3-32b-fp8", "fp8", 1), ("llama-3.1-8b", "bf16", 1)]
)
@pytest.mark.parametrize("estimate", ["memory-fit", "throughput"])
def test_what_is_left_out_equals_the_format_of_the_files(ask, estimate, model, own, tp):
    plain = ask(estimate, shape(model, tp))
    asked = ask(estimate, shape(model, tp) | {"precision": {"weights": own}})
    assert plain["inputs"]["precision"] == asked["inputs"]["precision"]
    part = "per_gpu" if estimate == "memory-fit" else "expected"
    assert plain[part] == asked[part]
    said = any("own files store them" in text for text in plain["assumptions"])
    assert said == (own != "bf16")
    assert not any("own files" in text for text in asked["assumptions"])


def test_sizing_and_cost_follow(ask):
    body = {"model": "gpt-oss-20b", "workload": {"input_tokens": 1000, "output_tokens": 200}, "engine": "vllm-0.19"}
    sized = ask("sizing", body | {"demand": {"concurrency": 8}, "candidates": {"gpus": [H100], "tp": [1]}})
    assert [option["precision"] for option in sized["options"]] == ["mxfp4"]
    assert sized["inputs"]["candidates"]["precisions"] == ["mxfp4"]
    hour = {"price_per_gpu_hour": "2", "currency": "USD", "gpus": 1}
    plain = ask("cost", {"self_hosted": shape("gpt-oss-20b") | hour})
    asked = ask("cost", {"self_hosted": shape("gpt-oss-20b") | hour | {"precision": {"weights": "mxfp4"}}})
    assert plain["self_hosted"] == asked["self_hosted"]


def test_a_format_that_only_the_name_tells_is_said(ask):
    """nvidia/GLM-5-NVFP4 keeps its quantisation in hf_quant_config.json: its config.json is that of a bf16 model."""
    plain = ask("memory-fit", shape("glm-5-nvfp4", 8))
    assert any("NVFP4" in text and "states no quantisation" in text for text in plain["warnings"])
    asked = ask("memory-fit", shape("glm-5-nvfp4", 8) | {"precision": {"weights": "nvfp4"}})
    assert not any("states no quantisation" in text for text in asked["warnings"])


def test_fp32_files_are_counted_as_engines_load_them_and_stored_as_they_are(client, ask):
    config = {
        "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024,
        "torch_dtype": "float32",
    }  # fmt: skip
    answer = ask("memory-fit", shape("llama-3.1-8b") | {"model": {"config": config}})
    assert answer["inputs"]["precision"]["weights"] == "bf16"
    assert any("fp32" in text and "16 bits" in text for text in answer["assumptions"])
    read = client.post("/api/v1/models/inspect/", {"config": config}, content_type="application/json").json()
    assert (read["checkpoint_format"], read["checkpoint_bytes"]) == ("fp32", 4 * 124_439_808)
    assert (read["weights_format"], read["weights_bytes"]) == ("bf16", 2 * 124_439_808)


@pytest.mark.parametrize(("model", "file_bytes", "on_host_bytes"), [
    ("llama-3.1-8b", 4_920_739_232, 128_256 * 4096 * 4.5 / 8), ("llama-3.2-1b", 807_694_464, 0),
])  # fmt: skip
def test_a_file_type_is_counted_as_published_files_are(ask, model, file_bytes, on_host_bytes):
    """Sizes of the published Q4_K_M files; a token table that is not the head too stays in host memory."""
    body = shape(model) | {"engine": "llama.cpp", "precision": {"weights": "q4_k_m", "kv_cache": "fp16"}}
    answer = ask("memory-fit", body)
    assert answer["per_gpu"]["weights_bytes"] == pytest.approx(file_bytes - on_host_bytes, rel=0.01)
    assert not any("average bits" in text for text in answer["assumptions"])


def test_a_model_known_by_its_totals_is_counted_at_average_bits_and_that_is_said(ask):
    totals = {"parameters": 8_030_000_000, "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128}
    body = shape("llama-3.1-8b") | {"engine": "llama.cpp", "precision": {"weights": "q4_k_m", "kv_cache": "fp16"}}
    answer = ask("memory-fit", body | {"model": totals})
    assert answer["per_gpu"]["weights_bytes"] == pytest.approx(8_030_000_000 * 4.89 / 8, rel=1e-6)
    assert any("average bits" in text for text in answer["assumptions"])
