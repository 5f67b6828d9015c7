"""Quantisation methods as files state them: groups with formats of their own, aliases, and widths without a rule."""

from typing import Any

import pytest

from estimator.engine.formats.quantisation import matrix_bytes
from estimator.engine.memory.weight_parts import fold, own_weight_format
from estimator.engine.memory.weights import rank_weights
from estimator.engine.model.spec import Architecture
from estimator.engine.reading.reader import read_config
from estimator.engine.specs import Parallelism, Precision

SMALL: dict[str, Any] = {
    "model_type": "qwen3",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 96,
    "vocab_size": 256,
}


def small(settings: dict[str, Any]) -> Architecture:
    return read_config({**SMALL, "quantization_config": settings})


def formats(architecture: Architecture) -> dict[str, str]:
    assert architecture.quantization is not None
    stored = architecture.quantization.matrices[0]
    return {m.name: one[0].weight_format for m, one in zip(architecture.layer_groups[0].matrices, stored, strict=True)}


FP8 = {"num_bits": 8, "type": "float", "strategy": "channel"}
FP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}


@pytest.mark.parametrize("rest", ["re:.*self_attn.*", "Linear"])
def test_each_group_of_compressed_tensors_has_its_own_format(rest: str) -> None:
    groups = {
        "group_0": {"targets": ["re:.*mlp.*"], "weights": FP4},
        "group_1": {"targets": [rest], "weights": FP8},
    }
    settings = {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["re:.*o_proj"]}
    found = formats(small(settings))
    assert {found[f"mlp.{name}_proj"] for name in ("gate", "up", "down")} == {"nvfp4"}
    assert {found[f"self_attn.{name}_proj"] for name in "qkv"} == {"fp8_channel"}
    assert found["self_attn.o_proj"] == "native"


def test_a_module_in_no_group_stays_in_sixteen_bits() -> None:
    groups = {
        "group_0": {"targets": ["re:.*up_proj"], "weights": FP4},
        "group_1": {"targets": ["re:.*down_proj"], "weights": FP8},
    }
    found = formats(small({"quant_method": "compressed-tensors", "config_groups": groups}))
    assert (found["mlp.up_proj"], found["mlp.down_proj"], found["mlp.gate_proj"]) == ("nvfp4", "fp8_channel", "native")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"quant_method": "gptq_marlin", "bits": 4, "group_size": 128}, "gptq"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "gptq_int4_g32"),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 128}, "int4"),
        ({"quant_method": "modelopt_fp4"}, "nvfp4"),
    ],
)
def test_a_method_under_another_name_has_its_format(settings: dict[str, Any], expected: str) -> None:
    assert set(formats(small(settings)).values()) == {expected}


def stored_bits_of(settings: dict[str, Any]) -> float:
    """Bits a weight of one 1,024 × 1,024 matrix, by the format that the settings give it."""
    architecture = small(settings)
    name = formats(architecture)["self_attn.q_proj"]
    return float(matrix_bytes(1024, 1024, name)) * 8 / 1024**2


@pytest.mark.parametrize(
    ("settings", "bits"),
    [
        # 3 bits, a 16-bit scale and a 3-bit zero for 128, g_idx of 32 bits for each input
        ({"quant_method": "gptq", "bits": 3, "group_size": 128}, 3 + 19 / 128 + 32 / 1024),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8 + 16 / 1024 + 32 / 1024),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4 + 20 / 64),
        ({"quant_method": "auto-round", "bits": 2, "group_size": 32}, 2 + 18 / 32),
        ({"quant_method": "auto-round", "bits": 4, "data_type": "mx_fp4"}, 4.25),
        ({"quant_method": "fbgemm_fp8"}, 8 + 16 / 1024),
        ({"quant_method": "eetq"}, 8 + 16 / 1024),
        # two bits a weight: Microsoft's BitNet b1.58 2B4T packs four into a byte
        ({"quant_method": "bitnet", "quantization_mode": "offline"}, 2 + 32 / 1024**2),
        ({"quant_method": "bitnet", "quantization_mode": "online"}, 16),
        ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}}, 4.5),
        ({"quant_method": "torchao", "quant_type": "int4_weight_only", "quant_type_kwargs": {"group_size": 32}}, 5),
        (
            {
                "quant_method": "torchao",
                "quant_type": {"default": {"_type": "Float8DynamicActivationFloat8WeightConfig", "_data": {}}},
            },
            8 + 16 / 1024,
        ),
        ({"quant_method": "exl2", "bits": 3.5, "head_bits": 6}, 3.5),
        # one codebook of 65,536 vectors of 8 in fp16 for each matrix, 16 bits for 8 weights, a scale a row
        ({"quant_method": "aqlm", "num_codebooks": 1}, 2 + 16 / 1024 + 2**16 * 8 * 16 / 1024**2),
        (
            {
                "quant_method": "quark",
                "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}},
            },
            4.25,
        ),
        (
            {
                "quant_method": "quark",
                "global_quant_config": {"weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}},
            },
            8 + 32 / 1024**2,
        ),
        ({"quant_method": "modelopt", "quant_algo": "MXFP8"}, 8.25),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, 4 + 20 / 128),
        ({"quant_method": "modelopt", "quant_algo": "W4A16_MXFP4"}, 4.25),
    ],
)
def test_bits_of_a_weight_by_the_method_of_the_file(settings: dict[str, Any], bits: float) -> None:
    assert stored_bits_of(settings) == pytest.approx(bits, rel=1e-12)


@pytest.mark.parametrize(
    ("weights", "bits"),
    [
        ({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 64, "symmetric": True}, 4 + 16 / 64),
        ({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 64, "symmetric": False}, 4 + 20 / 64),
        ({"num_bits": 4, "type": "int", "strategy": "channel", "group_size": None}, 4 + 16 / 1024),
        ({"num_bits": 8, "type": "int", "strategy": "group", "group_size": 128}, 8 + 16 / 128),
        ({"num_bits": 8, "type": "int", "strategy": "channel"}, 8 + 16 / 1024),
        ({"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32}, 8.25),
        ({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}, 4.5 + 64 / 1024**2),
    ],
)
def test_bits_of_compressed_tensors(weights: dict[str, Any], bits: float) -> None:
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    settings = {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]}
    assert stored_bits_of(settings) == pytest.approx(bits, rel=1e-12)


def test_gptq_rules_by_module_are_followed() -> None:
    """GPTQModel's `dynamic`: `-:` leaves a module alone, `+:` or nothing gives it bits and groups of its own."""
    settings = {
        "quant_method": "gptq", "bits": 4, "group_size": 128,
        "dynamic": {
            r"-:.*o_proj": {},
            r"+:.*\.mlp\.down_proj$": {"bits": 8, "group_size": 64},
            r"model\.layers\.1\.mlp\.up_proj": {"bits": 3},
        },
    }  # fmt: skip
    architecture = small(settings)
    assert architecture.quantization is not None
    stored = {
        matrix.name: {one.weight_format: one.layers for one in found}
        for matrix, found in zip(
            architecture.layer_groups[0].matrices, architecture.quantization.matrices[0], strict=True
        )
    }
    assert stored["self_attn.o_proj"] == {"native": 2}
    assert stored["mlp.down_proj"] == {"gptq_int8_g64": 2}
    assert stored["mlp.up_proj"] == {"gptq": 1, "gptq_int3_g128": 1}
    assert stored["self_attn.q_proj"] == {"gptq": 2}


def test_a_pattern_ends_where_its_author_ends_it() -> None:
    """`mlp.gate$` names a router, not the gate projection; a name without `.*` starts at the model."""
    settings = {"quant_method": "fp8", "ignore": ["re:.*mlp.gate$", r"re:model\.layers\.0\.mlp.*", r"re:layers\.x.*"]}
    architecture = small(settings)
    assert architecture.quantization is not None
    matrices = architecture.layer_groups[0].matrices
    found = dict(zip((matrix.name for matrix in matrices), architecture.quantization.matrices[0], strict=True))
    assert {one.weight_format: one.layers for one in found["mlp.gate_proj"]} == {"native": 1, "fp8": 1}
    assert {one.weight_format: one.layers for one in found["self_attn.q_proj"]} == {"fp8": 2}


def test_a_pattern_that_is_not_run_is_said() -> None:
    architecture = small({"quant_method": "fp8", "ignore": ["re:(a+)+b"]})
    assert any("not read" in note and "(a+)+b" in note for note in architecture.warnings)


def test_the_head_of_an_exl2_file_has_its_own_bits() -> None:
    settings = {"quant_method": "exl2", "bits": 4.0, "head_bits": 8}
    wide = small({"quant_method": "exl2", "bits": 4.0, "head_bits": 16})
    narrow = small(settings)
    sizes = [rank_weights(fold(one), Precision(weights="int4"), Parallelism()).head_bytes for one in (wide, narrow)]
    assert sizes == [256 * 64 * 2, 256 * 64]


def test_the_format_of_most_elements_is_the_files_own() -> None:
    layers = {
        f"model.layers.{index}.mlp.{name}_proj": {"quant_algo": "NVFP4"}
        for index in (0, 1)
        for name in ("gate", "up", "down")
    }
    layers |= {
        f"model.layers.{index}.self_attn.{name}_proj": {"quant_algo": "FP8"} for index in (0, 1) for name in "qkvo"
    }
    architecture = small({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers})
    assert own_weight_format(architecture) == "nvfp4"  # 3 · 64 · 96 elements a layer against 3 · 64 · 64


@pytest.mark.parametrize(
    "settings",
    [
        {"quant_method": "gptq", "bits": 9, "group_size": 128},
        {"quant_method": "gptq", "bits": 4, "dynamic": {".*": {"bits": True}}},
        {"quant_method": "exl2", "bits": "4"},
        {"quant_method": "vptq"},
        {"quant_method": "bitsandbytes", "load_in_4bit": False, "load_in_8bit": False},
        {"quant_method": "quark"},
    ],
)
def test_a_method_without_a_rule_is_said_and_not_guessed(settings: dict[str, Any]) -> None:
    architecture = small(settings)
    assert architecture.quantization is None
    assert any("without a rule" in note and repr(settings["quant_method"]) in note for note in architecture.warnings)


def test_an_unknown_method_is_told_the_known_ones() -> None:
    (note,) = small({"quant_method": "vptq"}).warnings
    assert "awq" in note
    assert "compressed-tensors" in note
