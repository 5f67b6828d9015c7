"""Weight bytes of GGUF mixes against published files and llama.cpp's own table of bits."""

from fractions import Fraction

import pytest

from estimator.engine.formats.gguf_mixes import GGML_TENSOR_BITS, GGUF_MIXES, stored_type
from estimator.engine.formats.quantisation import GGUF_FORMATS
from estimator.engine.memory.weight_parts import fold
from estimator.engine.memory.weights import rank_weights
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.specs import Parallelism, Precision
from tests.engine.memory.plans import model

# A file holds its tokenizer beside the tensors: 0.7 MB (32,000 tokens) to 8 MB (262,000 tokens).
TOKENIZER_BYTES = 9_000_000
# llama.cpp tools/quantize/README.md at 311c2c9, Llama-3.1-8B, bits per weight; read 2026-11-29.
README_BITS = {
    "iq1_s": "2.0042", "iq2_m": "2.9294", "iq3_m": "3.7628", "iq4_xs": "4.4597", "q2_k": "3.1593", "q3_k_s": "3.6429",
    "q3_k_l": "4.2979", "q4_k_s": "4.6672", "q4_k_m": "4.8944", "q5_k_s": "5.5704", "q5_k_m": "5.7036",
    "q6_k": "6.5633", "q8_0": "8.5008",
}  # fmt: skip
# Sizes in bytes as model lists on GitHub give them for the files of Hugging Face repositories (owner named); read
# 2026-11-29.
EXACT = [
    ("bartowski", "llama-3.1-8b", "q4_k_m", 4_920_739_232), ("bartowski", "llama-3.2-1b", "q4_k_m", 807_694_464),
    ("bartowski", "llama-3.2-3b", "q4_k_m", 2_019_377_696), ("bartowski", "mistral-7b-v0.3", "q4_k_m", 4_372_812_000),
    ("bartowski", "qwen2.5-0.5b", "q4_k_m", 397_808_192), ("bartowski", "qwen2.5-3b", "q4_k_m", 1_929_903_264),
    ("bartowski", "qwen2.5-7b-instruct", "q4_k_m", 4_683_074_240),
    ("bartowski", "qwen2.5-14b", "q4_k_m", 8_988_110_976),
    ("bartowski", "qwen2.5-32b-instruct", "q4_k_m", 19_851_336_576),
    ("bartowski", "gemma-2-9b", "q4_k_m", 5_761_057_728), ("bartowski", "gemma-2-9b", "q2_k", 3_805_397_952),
    ("unsloth", "gemma-3-1b-it", "q4_k_m", 806_058_272),
    ("unsloth", "qwen3-32b", "q2_k", 12_344_652_448), ("unsloth", "qwen3-32b", "q3_k_s", 14_389_739_168),
    ("unsloth", "qwen3-32b", "q3_k_m", 15_971_778_208), ("unsloth", "qwen3-32b", "q4_1", 20_636_523_168),
    ("unsloth", "qwen3-32b", "q4_k_s", 18_771_245_728), ("unsloth", "qwen3-32b", "q4_k_m", 19_762_150_048),
    ("unsloth", "qwen3-32b", "q5_k_s", 22_635_494_048), ("unsloth", "qwen3-32b", "q5_k_m", 23_214_832_288),
    ("unsloth", "qwen3-32b", "q6_k", 26_883_307_168), ("unsloth", "qwen3-32b", "q8_0", 34_817_719_968),
    ("unsloth", "qwen3-30b-a3b", "q2_k", 11_258_610_240), ("unsloth", "qwen3-30b-a3b", "q3_k_s", 13_292_468_800),
    ("unsloth", "qwen3-30b-a3b", "q3_k_m", 14_711_847_488), ("unsloth", "qwen3-30b-a3b", "q4_1", 19_192_500_800),
    ("unsloth", "qwen3-30b-a3b", "q4_k_s", 17_456_009_792), ("unsloth", "qwen3-30b-a3b", "q4_k_m", 18_556_686_912),
    ("unsloth", "qwen3-30b-a3b", "q5_k_s", 21_080_511_040), ("unsloth", "qwen3-30b-a3b", "q5_k_m", 21_725_581_888),
    ("unsloth", "qwen3-30b-a3b", "q6_k", 25_092_532_800), ("unsloth", "qwen3-30b-a3b", "q8_0", 32_483_932_736),
]  # fmt: skip
# Sizes in GB of 10^9 bytes. Llama 3.1 70B: bartowski's table as ozeki.chat quotes it. Mixtral 8x22B: bartowski's
# page, release b2636. Mixtral 8x7B Q6_K: TheBloke. DeepSeek V3: bartowski, release b4944. All read 2026-11-29.
ROUNDED = [
    ("llama-3.1-70b", "q8_0", 74.98), ("llama-3.1-70b", "q6_k", 57.89), ("llama-3.1-70b", "q5_k_m", 49.95),
    ("llama-3.1-70b", "q5_k_s", 48.66), ("llama-3.1-70b", "q4_k_m", 42.52), ("llama-3.1-70b", "q4_k_s", 40.35),
    ("llama-3.1-70b", "q3_k_l", 37.14), ("llama-3.1-70b", "q3_k_m", 34.27), ("llama-3.1-70b", "iq3_m", 31.94),
    ("llama-3.1-70b", "q3_k_s", 30.91), ("mixtral-8x22b-v0.1", "q5_k_m", 99.96),
    ("mixtral-8x22b-v0.1", "q5_k_s", 96.97), ("mixtral-8x22b-v0.1", "q4_k_m", 85.58),
    ("mixtral-8x22b-v0.1", "q4_k_s", 80.47), ("mixtral-8x22b-v0.1", "iq4_xs", 76.35),
    ("mixtral-8x22b-v0.1", "q3_k_l", 72.57), ("mixtral-8x22b-v0.1", "q3_k_m", 67.78),
    ("mixtral-8x22b-v0.1", "iq3_m", 64.49), ("mixtral-8x22b-v0.1", "q3_k_s", 61.49),
    ("mixtral-8x22b-v0.1", "q2_k", 52.10), ("mixtral-8x7b-v0.1", "q6_k", 38.38), ("deepseek-r1", "q8_0", 713.29),
]  # fmt: skip
# Files that follow another rule than the one counted, with how much smaller (+: counted larger) and why.
OTHERWISE = [
    ("llama-3.1-70b", "iq4_xs", 37.90e9, 0.95, "made with an importance matrix: first down-projections not widened"),
    ("qwen3-30b-a3b", "iq4_xs", 16_378_073_664, 1.06, "made with an importance matrix"),
    ("qwen3-32b", "q4_0", 18_703_088_288, -0.38, "made with an importance matrix: first down-projections are Q4_1"),
    ("phi-3.5-mini-instruct", "q4_k_m", 2_393_232_672, 0.12, "2024's rule held fused q-k-v matrices in Q5_K"),
    ("gpt-oss-20b", "q4_k_m", 11_624_759_488, -0.11, "the publisher chose types by hand; experts stay MXFP4"),
    ("deepseek-r1", "q4_k_m", 404.43e9, 0.01, "2025's files hold the up-projection of the latent as one tensor"),
    ("mixtral-8x7b-v0.1", "q4_k_m", 26.44e9, 7.6, "TheBloke, 2023-12: before the rules for experts (llama.cpp 4872)"),
]  # fmt: skip


def file_bytes(slug: str, mix: str, **more: str) -> float:
    return rank_weights(fold(model(slug)), Precision(weights=mix, **more), Parallelism()).total_bytes


@pytest.mark.parametrize(("mix", "bits"), README_BITS.items())
def test_bits_of_llama_3_1_8b_to_four_decimals(mix, bits):
    counted = file_bytes("llama-3.1-8b", mix) * 8 / parameter_totals(model("llama-3.1-8b")).total
    assert counted == pytest.approx(float(bits), abs=5.1e-5)


@pytest.mark.parametrize(("owner", "slug", "mix", "published"), EXACT)
def test_a_file_is_its_tensors_and_a_tokenizer(owner, slug, mix, published):
    assert 0 < published - file_bytes(slug, mix) < TOKENIZER_BYTES


def test_tensor_bytes_to_the_byte():
    """The tensors of the Qwen2.5-0.5B file, rows of 896 elements: counted by a runtime that loads them, 2026."""
    assert file_bytes("qwen2.5-0.5b", "q4_k_m") == 391_859_712


@pytest.mark.parametrize(("slug", "mix", "gigabytes"), ROUNDED)
def test_rounded_sizes(slug, mix, gigabytes):
    assert file_bytes(slug, mix) / 1e9 == pytest.approx(gigabytes, abs=0.016)


@pytest.mark.parametrize(("slug", "mix", "published", "percent", "reason"), OTHERWISE)
def test_files_of_another_rule_differ_as_their_reason_says(slug, mix, published, percent, reason):
    assert 100 * (file_bytes(slug, mix) / published - 1) == pytest.approx(percent, abs=0.05)


def test_every_format_of_files_has_a_mix_of_known_types():
    assert set(GGUF_MIXES) == GGUF_FORMATS
    for mix in GGUF_MIXES.values():
        rules = (*mix.value, *mix.down, *mix.attention_out, *(mix.falcon_down or ()), *mix.falcon_attention_out)
        named = {mix.main, mix.head, mix.table or mix.main, mix.eight_key_value, *(one for _, one in rules)}
        assert named <= set(GGML_TENSOR_BITS)


@pytest.mark.parametrize(
    ("meant", "columns", "stored"),
    [("Q4_K", 4096, "Q4_K"), ("Q4_K", 896, "Q5_0"), ("Q6_K", 896, "Q8_0"), ("Q6_K", 900, "F16"), ("F32", 3, "F32")],
)
def test_rows_that_are_no_whole_blocks_take_another_type(meant, columns, stored):
    assert stored_type(meant, columns) == stored


@pytest.mark.parametrize("slug", ["llama-3.1-70b", "qwen3-30b-a3b", "jamba-v0.1", "nemotron-h-8b-base-8k"])
@pytest.mark.parametrize("mix", ["q4_k_m", "iq2_m"])
def test_stages_and_ranks_hold_the_whole_file(slug, mix):
    """Layers differ in bits: the stages together hold each once, and two ranks hold the shared parts twice."""
    folded, precision = fold(model(slug)), Precision(weights=mix)
    whole = rank_weights(folded, precision, Parallelism()).total_bytes
    stages = [rank_weights(folded, precision, Parallelism(pp=3), stage=stage) for stage in range(3)]
    assert sum(stage.total_bytes for stage in stages) == pytest.approx(whole, rel=1e-12)
    assert sum(sum(stage.layers) for stage in stages) == len(folded.order)
    assert whole < 2 * rank_weights(folded, precision, Parallelism(tp=2)).total_bytes < 1.01 * whole


def test_a_component_may_be_of_another_mix_or_format():
    experts = model("qwen3-30b-a3b").layer_groups[0].parameters.routed_experts * 48
    mixed = file_bytes("qwen3-30b-a3b", "q8_0", expert_weights="q6_k")
    assert file_bytes("qwen3-30b-a3b", "q8_0") - mixed == experts * (Fraction("8.5") - Fraction("6.5625")) / 8
    wide = file_bytes("qwen3-30b-a3b", "q8_0", expert_weights="bf16")
    assert wide - file_bytes("qwen3-30b-a3b", "q8_0") == experts * (16 - Fraction("8.5")) / 8
