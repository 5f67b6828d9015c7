"""Configs that nobody should send: refused cleanly, for little work, naming the key; never executed, never a crash."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.engine.errors import EngineError, InvalidInputError, UnknownArchitectureError
from estimator.engine.formats.module_patterns import ModulePatterns
from estimator.engine.model.spec import Architecture
from estimator.engine.reading.reader import known_model_types, read_config
from tests.effort import lines_run, peak_bytes
from tests.engine.reading.test_exact_answers import MODELS

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip
VALUES = [-1, 0, 10**30, -(10**30), "4096", "", 1.5, math.nan, math.inf, True, [], [1], {}, {"a": 1}]


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_hostile_dimension_is_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_config({**LLAMA, key: value})
    assert refused.value.field == f"config.{key}"


def test_numbers_that_are_whole_pass_as_floats() -> None:
    assert read_config({**LLAMA, "hidden_size": 4096.0}) == read_config(LLAMA)


@pytest.mark.parametrize("value", ["yes", 2, [], 0.5], ids=repr)
def test_a_flag_is_true_or_false(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="tie_word_embeddings"):
        read_config({**LLAMA, "tie_word_embeddings": value})


def test_kv_heads_must_divide_the_query_heads() -> None:
    with pytest.raises(InvalidInputError, match="num_key_value_heads"):
        read_config({**LLAMA, "num_key_value_heads": 5})


def refused(config: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        read_config(config)


def test_ten_million_layers_are_refused_for_the_work_of_ten_thousand() -> None:
    def refuse(layers: int) -> Callable[[], None]:
        gemma = {**MODELS["gemma-3-1b-it"]["config"], "layer_types": ["full_attention"] * layers}
        return lambda: refused(gemma, "layer_types")

    few, many = refuse(10_000), refuse(10_000_000)
    few()  # the first pays for what is kept
    assert lines_run(many) <= lines_run(few)
    assert peak_bytes(many) < 100_000


def test_ten_thousand_nestings_are_refused_at_once() -> None:
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"text_config": deep}
    with pytest.raises(EngineError):
        read_config({"model_type": "gemma3", **deep})


def test_a_megabyte_of_unknown_keys_is_no_matter() -> None:
    stuffed = {**LLAMA, **{f"key_{index}": "x" * 80 for index in range(10_000)}}
    assert len(json.dumps(stuffed)) > 900_000
    assert read_config(stuffed) == read_config(LLAMA)
    assert lines_run(lambda: read_config(stuffed)) <= lines_run(lambda: read_config(LLAMA)) + 5 * 10_000


def test_long_ignore_lists_are_refused_for_work_in_proportion_to_their_length() -> None:
    def work(entries: int) -> int:
        patterns = [f"model.layers.{index}.mlp.*.x" for index in range(entries)]
        settings_ = {"quant_method": "fp8", "modules_to_not_convert": patterns}
        config = {**LLAMA, "num_hidden_layers": 2000, "quantization_config": settings_}
        return lines_run(lambda: refused(config, "unquantised"))

    assert work(19_000) <= 2.1 * work(9_500) <= 60 * 19_000


@pytest.mark.parametrize("pattern", ["re:(a*)*b", "re:(.*)*(.*)*x", "re:[", "re:" + "a?" * 60 + "a" * 60])
def test_patterns_that_run_away_are_not_run(pattern: str) -> None:
    config = {**LLAMA, "quantization_config": {"quant_method": "fp8", "modules_to_not_convert": [pattern]}}
    assert ModulePatterns([pattern]).unread == [pattern]
    assert any("1 patterns" in warning for warning in read_config(config).warnings)


@pytest.mark.parametrize(
    "value", [7, "fp8", [1], {"quant_method": 3}, {"quant_method": "fp8", "ignore": "all"}], ids=repr
)
def test_a_hostile_quantisation_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"quant|ignore"):
        read_config({**LLAMA, "quantization_config": value})


def test_remote_code_is_never_looked_at() -> None:
    config = {**LLAMA, "auto_map": {"AutoConfig": "os--system"}, "model_type": "made_up"}
    with pytest.raises(UnknownArchitectureError) as refused:
        read_config(config)
    assert refused.value.model_type == "made_up"


@pytest.mark.parametrize("config", [None, 5, "llama", [], {"model_type": 5}, {"model_type": "x" * 1000}], ids=repr)
def test_what_is_no_config_is_refused(config: Any) -> None:
    with pytest.raises(EngineError):
        read_config(config)


def test_an_empty_config_is_refused_without_a_guess() -> None:
    with pytest.raises(UnknownArchitectureError):
        read_config({})


def test_more_than_a_hundred_model_types_are_known() -> None:
    assert len(known_model_types()) > 100


def read_or_refuse(config: Any) -> Architecture | None:
    """The architecture, or None after a refusal that names a key; anything else is a crash."""
    refused: EngineError | None = None
    try:
        return read_config(config)
    except EngineError as error:
        refused = error
    assert refused.field
    return None


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=20),
    lambda children: st.lists(children, max_size=5) | st.dictionaries(st.text(max_size=12), children, max_size=5),
    max_leaves=12,
)


@given(st.sampled_from(sorted(MODELS)), st.data())
@settings(max_examples=300, deadline=None)
def test_any_key_of_any_config_may_hold_anything(slug: str, data: st.DataObject) -> None:
    config = json.loads(json.dumps(MODELS[slug]["config"]))
    target = config
    nested = [key for key, value in config.items() if isinstance(value, dict)]
    if nested and data.draw(st.booleans()):
        target = config[data.draw(st.sampled_from(nested))]
    if target:
        for key in data.draw(st.lists(st.sampled_from(sorted(target)), min_size=1, max_size=3)):
            target[key] = data.draw(junk)
    architecture = read_or_refuse(config)
    assert architecture is None or all(group.layers > 0 for group in architecture.layer_groups)


@given(st.sampled_from(sorted(MODELS)), st.data())
@settings(max_examples=150, deadline=None)
def test_any_key_may_be_missing(slug: str, data: st.DataObject) -> None:
    config = json.loads(json.dumps(MODELS[slug]["config"]))
    for key in data.draw(st.lists(st.sampled_from(sorted(config)), min_size=1, max_size=4)):
        config.pop(key, None)
    read_or_refuse(config)


@pytest.mark.parametrize("entries", [3, 5, 6])
@pytest.mark.parametrize("window", [8, None])
@pytest.mark.parametrize("model_type", ["llama", "cohere2", "qwen3_next"])
def test_layer_types_of_another_length_than_the_model_are_refused(
    model_type: str, window: int | None, entries: int
) -> None:
    config = {
        "model_type": model_type,
        "hidden_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "sliding_window": window,
        "layer_types": ["full_attention"] * entries,
    }
    with pytest.raises(InvalidInputError, match=f"layer_types has {entries} entries for 4 layers"):
        read_config(config)


def test_layer_types_may_go_on_over_the_mtp_layers() -> None:
    config = {
        "model_type": "mistral",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "sliding_window": 8,
        "num_nextn_predict_layers": 1,
        "layer_types": ["full_attention", "sliding_attention", "full_attention"],
    }
    assert [group.layers for group in read_config(config).layer_groups] == [1, 1]
