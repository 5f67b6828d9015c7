"""Small configs of every model type that transformers knows too are read to the counts of its model classes.

Each line of the data file was made by building the class of transformers 5.24.0 (torch 2.13.0) on the meta device,
2026-11-29, and counting: `total` unique parameters, `routed` those of routed experts, and in `layers` what its cache
holds: layers that grow, layers with a window, layers with a state (null where its cache has a kind of its own).
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from estimator.engine.model.parameters import parameter_totals
from estimator.engine.model.spec import Architecture
from estimator.engine.reading.reader import read_config

DATA = Path(__file__).parent / "data/reference_counts.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


def cached_layers(architecture: Architecture) -> list[int]:
    growing = windowed = states = 0
    for group in architecture.layer_groups:
        attention = group.attention
        if attention is not None and attention.stores_kv:
            blocks = group.layers * group.attention_blocks
            growing += blocks if attention.window_tokens is None else 0
            windowed += blocks if attention.window_tokens is not None else 0
        states += group.layers if group.state is not None else 0
    return [growing, windowed, states]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["config"]["model_type"])
def test_small_config_has_the_counts_of_the_reference_class(case: dict[str, Any]) -> None:
    architecture = read_config(case["config"])
    totals = parameter_totals(architecture)
    assert (totals.total, totals.routed_experts) == (case["total"], case["routed"])
    assert all(group.parameters.state for group in architecture.layer_groups if group.state is not None)
    if case["layers"] is not None:
        assert cached_layers(architecture) == case["layers"]


def test_eighty_types_are_covered() -> None:
    assert len(Counter(case["config"]["model_type"] for case in CASES)) >= 80
