"""NaN and infinities that Python writes into a config.json are taken there, and nowhere else."""

import json
import math

import pytest

from catalog.config_text import spelled_out
from catalog.services.model_import import ConfigTextError, parse_config

MAMBA = {
    "model_type": "mamba2", "hidden_size": 256, "num_hidden_layers": 2, "num_heads": 8, "head_dim": 64, "n_groups": 1,
    "state_size": 16, "conv_kernel": 4, "expand": 2, "vocab_size": 100, "time_step_limit": [0.0, math.inf],
    "floor": -math.inf, "nothing": math.nan, "said": "NaN and \"Infinity\" in a text",
}  # fmt: skip


def test_words_of_a_config_become_texts() -> None:
    read = json.loads(spelled_out(json.dumps({"config": MAMBA}).encode()))["config"]
    assert read == MAMBA | {"time_step_limit": [0.0, "Infinity"], "floor": "-Infinity", "nothing": "NaN"}


@pytest.mark.parametrize(
    "raw",
    [b'{"a": Infinity, "config": {}}', b'{"a": [NaN], "config": {"b": NaN}}', b'{"config": {"a": NaN', b'"NaN"', b"{}"],
)
def test_what_stands_elsewhere_is_left_as_it_is(raw: bytes) -> None:
    assert spelled_out(raw) == raw


def test_a_pasted_file_is_read(db) -> None:
    assert parse_config(json.dumps(MAMBA))["time_step_limit"] == [0.0, "Infinity"]
    with pytest.raises(ConfigTextError, match="Not valid JSON"):
        parse_config('{"a": Infinit}')


def test_a_config_with_infinity_is_inspected_and_estimated(client, db) -> None:
    asked = client.post("/api/v1/models/inspect/", data=json.dumps({"config": MAMBA}), content_type="application/json")
    assert asked.status_code == 200, asked.content
    plain = client.post(
        "/api/v1/models/inspect/",
        data=json.dumps(
            {"config": {k: v for k, v in MAMBA.items() if k not in ("time_step_limit", "floor", "nothing")}}
        ),
        content_type="application/json",
    )
    assert asked.json()["parameters"] == plain.json()["parameters"]


def test_a_figure_that_is_infinite_is_refused_by_name(client, db) -> None:
    body = json.dumps({"config": MAMBA | {"hidden_size": math.inf}})
    refused = client.post("/api/v1/models/inspect/", data=body, content_type="application/json")
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"] == "#/config/hidden_size"


def test_infinity_outside_of_a_config_is_no_json(client, db) -> None:
    refused = client.post("/api/v1/models/inspect/", data='{"config": {}, "a": NaN}', content_type="application/json")
    assert refused.status_code == 400
    assert refused.json()["type"].endswith("malformed-body")
