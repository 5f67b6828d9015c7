"""Bits of each format, and the bytes of published repositories from their config alone."""

import json
from fractions import Fraction

import pytest

from estimator.engine.errors import InvalidInputError
from estimator.engine.formats.gguf_mixes import GGML_TENSOR_BITS
from estimator.engine.formats.quantisation import (
    MatrixTotals,
    matrix_bytes,
    weight_coding,
)
from estimator.engine.memory.weight_parts import fold
from estimator.engine.memory.weights import rank_weights
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.model.spec import Architecture
from estimator.engine.reading.reader import read_config
from estimator.engine.specs import Parallelism, Precision
from tests.engine.reading.test_exact_answers import MODELS
from tests.shared_data import shared_dir


def bits(name: str, rows: int = 4096, columns: int = 4096) -> float:
    return float(matrix_bytes(rows, columns, name) * 8 / (rows * columns))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bf16", 16), ("fp32", 32), ("fp8", 8), ("fp8_block", 8.00195), ("int4", 4.15625), ("int4_g64", 4.3125),
        ("int4_g32", 4.625), ("int4_g32_symmetric", 4.5), ("mxfp4", 4.25), ("nvfp4", 4.5), ("nf4", 4.5),
        ("nf4_double", 4.127), ("q4_0", 4.5), ("q5_1", 6), ("q8_0", 8.5), ("q4_k_m", 4.89), ("q6_k", 6.56),
    ],
)  # fmt: skip
def test_bits_of_a_quantised_weight(name: str, expected: float) -> None:
    assert bits(name) == pytest.approx(expected, abs=5e-5)


def test_scales_by_channel_and_input() -> None:
    assert bits("fp8_channel", 4096, 1024) == 8 + 16 / 1024
    assert bits("int8", 4096, 2048) == 8 + 16 / 2048
    assert bits("gptq", 4096, 2048) == 4.15625 + 32 / 4096


def test_blocks_are_rounded_up_in_each_dimension() -> None:
    # kv_a of DeepSeek V3 has 576 rows: five blocks of 128
    assert matrix_bytes(576, 7168, "fp8_block") == 576 * 7168 + 4 * 5 * 56


def test_ggml_tensor_types() -> None:
    assert GGML_TENSOR_BITS["Q4_K"] == Fraction("4.5")
    assert GGML_TENSOR_BITS["IQ2_XXS"] == Fraction("2.0625")


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match="nvfp4"):
        weight_coding("fp5")


def repository_gib(name: str) -> float:
    folder = shared_dir()
    config = json.loads((folder / f"data/configs/{name}.json").read_text(encoding="utf-8"))
    return gib_of(read_config(config))


def gib_of(architecture: Architecture) -> float:
    quantization = architecture.quantization
    formats = Precision() if quantization is None else Precision(weights=quantization.weight_format)
    return rank_weights(fold(architecture), formats, Parallelism()).total_bytes / 2**30


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("openai__gpt-oss-120b", 60.77), ("openai__gpt-oss-20b", 12.82),
        ("MiniMaxAI__MiniMax-M2.5", 214.23), ("Qwen__Qwen3-8B", 15.26), ("meta-llama__Llama-3.1-8B", 14.96),
        ("Qwen__Qwen3-32B", 61.02),
    ],
)  # fmt: skip
def test_repository_bytes_from_the_config_alone(name: str, published: float) -> None:
    assert repository_gib(name) == pytest.approx(published, abs=6e-3)


def test_kimi_k2_5_with_its_tower() -> None:
    """The page says 554.32 GiB; 553.4 are the language model's (INT4 experts), the rest tower and projector."""
    config = json.loads((shared_dir() / "data/configs/moonshotai__Kimi-K2.5.json").read_text(encoding="utf-8"))
    text = {name: value for name, value in config.items() if name != "vision_config"}
    assert gib_of(read_config(text)) == pytest.approx(553.4, abs=6e-3)
    assert gib_of(read_config(config)) == pytest.approx(554.32, abs=0.05)


def test_qwen3_8b_awq() -> None:
    config = {
        **MODELS["qwen3-8b"]["config"],
        "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": None},
    }
    assert gib_of(read_config(config)) == pytest.approx(5.68, abs=6e-3)


def test_deepseek_v3_to_the_last_element_of_its_page() -> None:
    # 684,531,386,000 elements: main model, router corrections, MTP layer with its own tables, and scale_inv
    architecture = read_config(MODELS["deepseek-v3"]["config"])
    blocks = sum(
        MatrixTotals().plus(matrix.rows, matrix.columns, matrix.copies).blocks * stored.layers
        for group, matrices in zip(architecture.layer_groups, architecture.quantization.matrices, strict=True)  # type: ignore[union-attr]
        for matrix, formats in zip(group.matrices, matrices, strict=True)
        for stored in formats
        if stored.weight_format == "fp8_block"
    )
    last = architecture.layer_groups[-1]
    prediction = sum(
        MatrixTotals().plus(matrix.rows, matrix.columns, matrix.copies).blocks
        for matrix in last.matrices
        if matrix.quantisable
    )
    tables = architecture.embedding_parameters + architecture.lm_head_parameters
    corrections = 59 * 256
    total = parameter_totals(architecture).total + architecture.mtp_parameters + tables + corrections
    assert total + blocks + prediction == 684_531_386_000


def test_average_bits_of_gpt_oss() -> None:
    for slug, expected in (("gpt-oss-120b", 4.47), ("gpt-oss-20b", 5.26)):
        architecture = read_config(MODELS[slug]["config"])
        total = parameter_totals(architecture).total
        assert gib_of(architecture) * 2**30 * 8 / total == pytest.approx(expected, abs=6e-3)


def test_ignore_lists_keep_layers_in_sixteen_bits() -> None:
    plain = {**MODELS["qwen3-8b"]["config"], "quantization_config": {"quant_method": "fp8"}}
    kept = {
        **plain,
        "quantization_config": {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.0", "re:.*v_proj"]},
    }
    architecture = read_config(kept)
    group = architecture.layer_groups[0]
    first = sum(m.rows * m.columns for m in group.matrices)
    values = sum(m.rows * m.columns for m in group.matrices if m.name.endswith("v_proj")) * 35
    assert round((gib_of(architecture) - gib_of(read_config(plain))) * 2**30) == pytest.approx(first + values, rel=1e-6)


def test_the_cache_format_a_checkpoint_asks_for_is_reported_and_not_applied() -> None:
    folder = shared_dir()
    config = json.loads((folder / "data/configs/nvidia__GLM-5.1-NVFP4.json").read_text(encoding="utf-8"))
    architecture = read_config(config)
    assert architecture.quantization is not None
    assert architecture.quantization.kv_cache_format == "fp8"
    assert architecture.quantization.weight_format == "nvfp4"


@pytest.mark.parametrize("slug", ["qwen3-next-80b-a3b-instruct", "glm-4.6"])
def test_prediction_layers(slug: str) -> None:
    # GLM-4.6: 3,988,069,792 with its own 160 router corrections; Qwen3-Next states none in this file
    architecture = read_config(MODELS[slug]["config"])
    assert architecture.mtp_parameters + (160 if architecture.mtp_layers else 0) in (0, 3_988_069_792)
