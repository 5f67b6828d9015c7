"""What people write for a model or a GPU: taken where it can mean one row, refused with the choices where it cannot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.selectors import names_of_engines, names_of_gpus, names_of_models
from catalog.spelling import Named, Spellings, near_matches
from tests.shipped_catalog import load_shipped_catalog

_CHIP = Spellings("gpu", [Named(slug="x1-sxm5-80gb", names=("X1 SXM5 80GB",)), Named(slug="x1-ti", names=("X1 Ti",))])


@pytest.fixture(scope="module")
def find(django_db_setup, django_db_blocker):
    from django.db import transaction

    with django_db_blocker.unblock(), transaction.atomic():
        load_shipped_catalog(with_genai_prices=False)
        found = {
            "gpu": Spellings("gpu", names_of_gpus()),
            "model": Spellings("model", names_of_models()),
            "engine": Spellings("engine", names_of_engines()),
        }
        transaction.set_rollback(True)
    return lambda kind, text: found[kind].find(text)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b-instruct"),
        ("Llama 3.1 8B", "llama-3.1-8b"),
        ("llama3.1:8b", "llama-3.1-8b"),
        ("LLAMA_3.1_8B", "llama-3.1-8b"),
        ("llama-3.3-70b", "llama-3.3-70b-instruct"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b-v0.1"),
        ("Qwen2.5 7B", "qwen2.5-7b-instruct"),
        ("gemma-2b-it", "gemma-2b"),
        ("gemma-2-2b-it", "gemma-2-2b"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("GPT-2", "gpt2"),
        ("microsoft/phi-4", "phi-4"),
    ],
)
def test_a_model_is_found_by_what_it_is_called(find, text, slug):
    assert find("model", text) == (slug,)


@pytest.mark.parametrize(
    "text",
    [
        "llama", "70b", "mixtral", "Mistral 7B", "instruct", "chat", "meta/hf", "", "/", "google/gemma-7b",
        "deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b-instruct-awq", "Qwen/Qwen3-30B-A3B-Instruct-2507",
        "llama-38b", "phi-15", "x" * 5000,
    ],
)  # fmt: skip
def test_what_names_no_model_is_none(find, text):
    assert find("model", text) == ()


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H100 NVL", "h100-nvl-94gb"),
        ("H100 SXM", "h100-sxm5-80gb"),
        ("H100-SXM-80GB", "h100-sxm5-80gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("B200", "b200-sxm-180gb"),
        ("Tesla T4", "t4"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("4090", "rtx-4090"),
        ("RTX 3090", "rtx-3090"),
        ("3090 ti", "rtx-3090-ti"),
        ("AMD Instinct MI300X", "mi300x"),
        ("m3 max", "apple-m3-max"),
    ],
)
def test_a_gpu_is_found_by_the_names_of_boards_and_drivers(find, text, slug):
    assert find("gpu", text) == (slug,)


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("H100", ("h100-nvl-94gb", "h100-pcie-80gb", "h100-sxm5-80gb")),
        ("h100-80gb", ("h100-pcie-80gb", "h100-sxm5-80gb")),
        ("A100-80GB", ("a100-pcie-80gb", "a100-sxm4-80gb")),
        ("H200", ("h200-nvl-141gb", "h200-sxm-141gb")),
    ],
)
def test_a_gpu_that_may_be_several_is_told_as_several(find, text, slugs):
    assert find("gpu", text) == slugs


@pytest.mark.parametrize("text", ["80gb", "pcie", "nvidia", "gpu", "RTX 6000", "H100 H200", "hopper", "h1000"])
def test_what_names_no_gpu_is_none(find, text):
    """RTX 6000 is the name of a Turing board that the catalog does not have; the Ada one is another product."""
    assert find("gpu", text) == ()


@pytest.mark.parametrize(
    ("text", "slug"), [("vLLM 0.19", "vllm-0.19"), ("VLLM", "vllm-0.33"), ("SGLang", "sglang-0.5.23")]
)
def test_an_engine_is_found_by_name_and_alias(find, text, slug):
    assert find("engine", text) == (slug,)


@pytest.mark.django_db
def test_every_row_is_found_by_its_own_slug_and_by_nothing_else_than_itself(find):
    for kind, rows in {"gpu": names_of_gpus, "model": names_of_models}.items():
        assert [row.slug for row in rows() if find(kind, row.slug) != (row.slug,)] == []


def test_a_word_that_names_another_product_may_not_be_left_out():
    assert _CHIP.find("x1") == ("x1-sxm5-80gb",)
    assert _CHIP.find("X1 Ti") == ("x1-ti",)


@given(st.text(max_size=200))
def test_any_text_is_answered(text):
    assert set(_CHIP.find(text)) <= {"x1-sxm5-80gb", "x1-ti"}
    near_matches(text, ["x1-sxm5-80gb", "x1-ti"])
