"""The second oracle: newer families, nearly all class defaults. Totals and caches are exact, or the cause is told."""

import csv
import json
from collections.abc import Iterator
from typing import Any

import pytest

from estimator.engine.errors import EngineError
from estimator.engine.model.cache import kv_cache_summary
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.reading.reader import read_config
from tests.shared_data import shared_dir

CACHE = ("kv_bytes_per_token_bf16", "indexer_bytes_per_token_bf16", "window_bytes_per_token_bf16")
TOTAL = "total_params"
# What is read otherwise, and why.
EXPLAINED = {
    ("swiss-ai/Apertus-v1.5-8B", TOTAL): "its tokenizers of pictures and sound have no rule, which a warning says",
    ("dots-studio/dots3-note-prev", "window_bytes_per_token_bf16"): (
        "the oracle took the latent of windowed layers as that of the others: 1,024 + 64 elements against 512 + 64"
    ),
}


def rows() -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    folder = shared_dir() / "data"
    with (folder / "model_oracle_2.csv").open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            path = folder / "configs_2" / row["config_file"].rsplit("/", 1)[-1]
            if row["config_file"] and path.exists():
                yield row, json.loads(path.read_text(encoding="utf-8"))


def figures(config: dict[str, Any]) -> dict[str, int]:
    read = read_config(config)
    summary = kv_cache_summary(read)
    cache = (summary.bytes_per_token, summary.index_bytes_per_token, summary.window_bytes_per_token)
    return {TOTAL: parameter_totals(read).total, **dict(zip(CACHE, cache, strict=True))}


@pytest.fixture(scope="module")
def differences() -> dict[tuple[str, str], tuple[int, int]]:
    found = {}
    for row, config in rows():
        if row["model_type"] == "deepseek_v4":
            continue  # the figure there counts its one vector twice; docs/architectures.md tells of it
        read = figures(config)
        for name, value in read.items():
            if row[name] and int(float(row[name])) != value:
                found[row["model"], name] = (int(float(row[name])), value)
    return found


def test_every_file_is_read() -> None:
    refused = {}
    for row, config in rows():
        try:
            read_config(config)
        except EngineError as error:
            refused[row["model"]] = str(error)
    assert not refused


def test_what_differs_is_explained(differences: dict[tuple[str, str], tuple[int, int]]) -> None:
    assert set(differences) == set(EXPLAINED)


def test_states_are_those_of_the_config() -> None:
    wrong = {}
    for row, config in rows():
        if not int(float(row["state_bytes_per_seq_vllm_bf16"] or 0)):
            continue
        read = kv_cache_summary(read_config(config)).state_bytes_per_sequence
        told = {int(float(row[f"state_bytes_per_seq_vllm_{kind}"] or 0)) for kind in ("bf16", "fp32ssm")}
        if read not in told:
            wrong[row["model"]] = (told, read)
    assert not wrong
