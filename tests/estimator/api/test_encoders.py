"""Encoders for embedding and reranking: weights and activations, no cache, and words about what is not modelled."""

import json

import pytest

pytestmark = pytest.mark.django_db

BGE_RERANKER_V2_M3 = {
    "model_type": "xlm-roberta",
    "architectures": ["XLMRobertaForSequenceClassification"],
    "vocab_size": 250002,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "max_position_embeddings": 8194,
    "type_vocab_size": 1,
    "torch_dtype": "float32",
    "id2label": {"0": "LABEL_0"},
}
MODERNBERT_BASE = {
    "model_type": "modernbert",
    "architectures": ["ModernBertForMaskedLM"],
    "hidden_size": 768,
    "num_hidden_layers": 22,
    "num_attention_heads": 12,
    "global_attn_every_n_layers": 3,
    "local_attention": 128,
}
PARAMETERS = {"xlm-roberta": 567_755_777, "modernbert": 149_655_232}


def asked(client, path, body):
    response = client.post(f"/api/v1/{path}/", json.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.parametrize("config", [BGE_RERANKER_V2_M3, MODERNBERT_BASE], ids=lambda config: config["model_type"])
def test_an_encoder_has_weights_and_no_cache(client, loaded_catalog, config):
    seen = asked(client, "models/inspect", {"config": config})
    assert seen["parameters"]["total"] == PARAMETERS[config["model_type"]]
    assert not any(seen["kv_cache"].values())
    assert any("an encoder" in warning for warning in seen["warnings"])


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp", "ideal"])
def test_an_estimate_of_an_encoder_says_what_is_not_modelled(client, loaded_catalog, engine):
    question = {
        "model": {"config": BGE_RERANKER_V2_M3},
        "gpu": "l4",
        "engine": engine,
        "workload": {"input_tokens": 512, "output_tokens": 1, "concurrency": 8},
    }
    for path in ("estimates/memory-fit", "estimates/throughput"):
        answer = asked(client, path, question)
        assert "an encoder: it keeps no cache" in json.dumps(answer["warnings"])
