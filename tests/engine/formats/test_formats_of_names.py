"""Where a checkpoint's format is from: its own config, the quantiser's file, or the name alone."""

from typing import Any

import pytest

from estimator.engine.errors import InvalidInputError
from estimator.engine.formats.checkpoint_codings import coding_family
from estimator.engine.formats.names import FORMAT_OF_WORD, format_of_name
from estimator.engine.formats.quantisation import weight_coding
from estimator.engine.memory.weight_parts import own_weight_format
from estimator.engine.reading.reader import read_config
from tests.engine.reading.test_exact_answers import MODELS
from tests.engine.reading.test_hostile_configs import LLAMA

NVFP4_FILE = {
    "producer": {"name": "modelopt", "version": "0.37"},
    "quantization": {
        "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16,
        "exclude_modules": ["lm_head", "*.mlp.*"],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("nvidia/DeepSeek-V3.1-NVFP4", "NVFP4"),
        ("Llama-3.1-405B-Instruct-FP8-KV", "FP8"),
        ("qwen3_235b_fp8", "fp8"),
        ("Qwen2.5-72B-Instruct-GPTQ-Int4", "GPTQ"),
        ("model-bnb-4bit", "bnb-4bit"),
        ("Qwen3-8B", None),
        ("superfp8er", None),
        ("awqward-7b", None),
    ],
)
def test_words_of_names(name: str, word: str | None) -> None:
    found = format_of_name(name)
    assert (found and found[0]) == word


@pytest.mark.parametrize("word", FORMAT_OF_WORD)
def test_every_word_stands_for_a_known_format(word: str) -> None:
    weight_coding(FORMAT_OF_WORD[word])
    stored = read_config(LLAMA, name=f"model-{word.upper()}").quantization
    assert stored is not None
    assert (stored.basis, stored.weight_format) == ("name", FORMAT_OF_WORD[word])


def basis_of(config: dict[str, Any], name: str = "model-FP8") -> tuple[str, str]:
    stored = read_config(config, name=name).quantization
    assert stored is not None
    return stored.basis, stored.weight_format


def test_the_config_goes_before_the_file_and_the_file_before_the_name() -> None:
    own = {"quant_method": "awq", "bits": 4, "group_size": 128}
    assert basis_of(LLAMA) == ("name", "fp8")
    assert basis_of({**LLAMA, "hf_quant_config": NVFP4_FILE}) == ("file", "nvfp4")
    assert basis_of({**LLAMA, "hf_quant_config": NVFP4_FILE, "quantization_config": own})[0] == "config"


def test_the_file_says_what_stays_in_16_bits_and_how_the_cache_is_kept() -> None:
    stored = read_config({**LLAMA, "hf_quant_config": NVFP4_FILE}).quantization
    assert stored is not None
    assert stored.kv_cache_format == "fp8"
    formats = {formats[0].weight_format for group in stored.matrices for formats in group}
    assert formats == {"native", "nvfp4"}


@pytest.mark.parametrize("file", [[], "NVFP4", {"quantization": 4}], ids=repr)
def test_a_file_that_is_no_object_is_refused(file: Any) -> None:
    with pytest.raises(InvalidInputError, match="hf_quant_config must be an object"):
        read_config({**LLAMA, "hf_quant_config": file})


def test_a_name_is_told_as_the_reason() -> None:
    assert any("the name says FP8" in note for note in read_config(LLAMA, name="model-FP8").warnings)
    assert not read_config(LLAMA, name="model").quantization


@pytest.mark.parametrize("slug", MODELS)
def test_no_row_of_the_catalog_contradicts_its_name(slug: str) -> None:
    entry = MODELS[slug]
    told = format_of_name(entry["name"])
    if told is None:
        return
    own = own_weight_format(read_config(entry["config"], name=entry["name"]))
    assert own is not None
    widths = {one: weight_coding(one).plain_bits for one in (own, told[1])}
    assert widths[own] == widths[told[1]] or coding_family(own) == coding_family(told[1])
