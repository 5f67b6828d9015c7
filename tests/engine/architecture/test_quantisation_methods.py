"""Quantisation methods as files state them: groups with formats of their own, aliases, and widths without a rule."""

from typing import Any

import pytest

from estimator.engine.architecture import read_config
from estimator.engine.architecture.spec import Architecture

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
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "int4_g32"),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 128}, "int4"),
        ({"quant_method": "modelopt_fp4"}, "nvfp4"),
    ],
)
def test_a_method_under_another_name_has_its_format(settings: dict[str, Any], expected: str) -> None:
    assert set(formats(small(settings)).values()) == {expected}


@pytest.mark.parametrize(
    "settings",
    [
        {"quant_method": "gptq", "bits": 3, "group_size": 128},
        {"quant_method": "bitsandbytes", "load_in_4bit": False, "load_in_8bit": False},
        {"quant_method": "quark"},
    ],
)
def test_a_method_without_a_rule_is_said_and_not_guessed(settings: dict[str, Any]) -> None:
    architecture = small(settings)
    assert architecture.quantization is None
    assert any("without a rule" in note for note in architecture.warnings)
