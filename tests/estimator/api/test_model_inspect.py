"""models/inspect and models/import: exact figures, clean refusals, nothing saved but by staff."""

import json

import orjson
import pytest
from django.contrib.auth import get_user_model

from catalog.models import LanguageModel
from tests.shared_data import shared_dir

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
}  # fmt: skip


def post(client, body, path="inspect"):
    return client.post(f"/api/v1/models/{path}/", orjson.dumps(body), content_type="application/json")


def test_llama_3_8b(client):
    answer = post(client, {"config": LLAMA}).json()
    assert answer["parameters"]["total"] == 8_030_261_248
    assert answer["parameters"]["active_without_input_embedding"] == 7_504_924_672
    assert answer["weights_bytes"] == 16_060_522_496
    assert answer["kv_cache"]["bytes_per_token"] == 131_072
    assert LanguageModel.objects.filter(name="x").count() == 0


def test_a_quantised_config_is_counted_as_stored(client):
    shared = shared_dir()
    config = json.loads((shared / "data/configs/openai__gpt-oss-20b.json").read_text(encoding="utf-8"))
    answer = post(client, {"config": config}).json()
    assert answer["quantization"]["weight_format"] == "mxfp4"
    assert answer["weights_bytes"] / 2**30 == pytest.approx(12.82, abs=0.005)


def test_an_unknown_model_type_is_refused_by_name_with_near_ones(client):
    response = post(client, {"config": {**LLAMA, "model_type": "llamma"}})
    assert response.status_code == 422
    problem = response.json()
    assert problem["type"].endswith("unknown-architecture")
    assert problem["errors"][0]["pointer"] == "#/config/model_type"
    assert "llamma" in problem["detail"]
    assert "llama" in response.content.decode()


def test_a_generic_reading_says_so(client):
    answer = post(client, {"config": {**LLAMA, "model_type": "llamma"}, "generic": True}).json()
    assert answer["parameters"]["total"] == 8_030_261_248
    assert any("generically" in warning for warning in answer["warnings"])


def test_a_wrong_value_is_named(client):
    response = post(client, {"config": {**LLAMA, "hidden_size": -1}})
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "#/config/hidden_size"


def test_import_is_for_staff(client):
    body = {"config": LLAMA, "name": "My Model"}
    assert post(client, body, "import").status_code in (401, 403)
    user = get_user_model().objects.create_superuser("root", "root@example.com", "x")
    client.force_login(user)
    response = post(client, body, "import")
    assert response.status_code == 201, response.content
    assert response.json()["slug"] == "my-model"
    assert LanguageModel.objects.get(slug="my-model").total_parameters == 8_030_261_248
    again = post(client, body, "import")
    assert again.status_code == 400
    assert again.json()["errors"][0]["pointer"] == "#/slug"


def test_a_config_of_more_than_a_megabyte_is_refused(client):
    response = post(client, {"config": {**LLAMA, "notes": "a" * 1_000_000}})
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "#/config"
