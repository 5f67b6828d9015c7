"""Memory of a rank against start-up logs, failed starts and the source documents' figures."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.engine.memory.fit import memory_fit
from estimator.engine.memory.ledger import ledger_columns, rank_memory
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.policy import GIB
from estimator.engine.memory.replica_cache import replica_cache
from estimator.engine.memory.suggestions import GpuChoice, alternatives, suggestions
from estimator.engine.options import Lora, MemoryOverrides
from estimator.engine.reading.inline import architecture_from_shape
from estimator.engine.specs import Parallelism, Precision
from tests.engine.memory.plans import budget_gib, model, plan, policies
from tests.engine.reading.test_exact_answers import MODELS

LLAMA, QWEN, QWEN3, BIG = "llama-3.1-8b-instruct", "qwen2.5-7b-instruct", "qwen3-8b", "llama-3.3-70b-instruct"

# Start-up logs on one H100: (row or case, plan, KV GiB printed).
STARTS = [
    ("m001", plan(LLAMA, 79.19, "vllm-0.19", 0.95), 58.11),
    ("m006", plan(QWEN, 79.19, "vllm-0.19", 0.95), 58.53),
    ("m013", plan(LLAMA, 79.19, "vllm-0.19", 0.95, weights="fp8"), 64.61),
    ("m015", plan(LLAMA, 79.19, "vllm-0.19", 0.95, tp=2), 63.76),
    ("m016", plan(LLAMA, 79.19, "vllm-0.19", 0.95, tp=4), 67.44),
    ("m017", plan(QWEN, 79.19, "vllm-0.19", 0.95, tp=2), 63.84),
    ("m018", plan(QWEN, 79.19, "vllm-0.19", 0.95, tp=4), 67.34),
    ("m019", plan(LLAMA, 79.19, "vllm-0.19", 0.95, pp=2), 66.55),
    ("m020", plan(LLAMA, 79.19, "vllm-0.19", 0.95, pp=4), 69.85),
    ("m021", plan(QWEN3, 79.19, "vllm-0.19", 0.95), 57.5),
    ("m022", plan(QWEN3, 79.19, "vllm-0.19", 0.95, pp=3), 68.72),
    ("m032", plan("gpt-oss-20b", 79.18, "vllm-0.11", 0.9, weights="mxfp4"), 50.28),
    ("m034", plan(BIG, 79.18, "vllm-0.11", 0.9, weights="fp8", tp=2), 32.0),
    ("m035", plan(LLAMA, 79.18, "vllm-0.11", 0.9), 51.38),
    ("M21 Qwen3-32B TP1", plan("qwen3-32b", 79.18, "vllm-0.11", 0.9), 4.45),
    ("M21 Qwen3-32B TP2", plan("qwen3-32b", 79.18, "vllm-0.11", 0.9, tp=2), 34.49),
]


@pytest.mark.parametrize(("name", "start", "printed"), STARTS, ids=[row[0] for row in STARTS])
def test_cache_budget_is_what_the_server_printed(name: str, start: MemoryPlan, printed: float) -> None:
    # logs of the first pipeline stage; 0.5 % of the printed figure
    assert budget_gib(rank_memory(start)) == pytest.approx(printed, rel=5e-3)


def test_fp32_and_packed_starts_are_within_a_gibibyte() -> None:
    # m014 and m033: the activations of fp32 and the padding of mxfp4 are the least known terms
    fp32 = plan(LLAMA, 79.19, "vllm-0.19", 0.95, weights="fp32", kv="fp32")
    packed = plan("gpt-oss-120b", 79.18, "vllm-0.11", 0.95, weights="mxfp4")
    assert budget_gib(rank_memory(fp32)) == pytest.approx(42.8, abs=0.5)
    assert budget_gib(rank_memory(packed)) == pytest.approx(3.33, abs=0.3)


@pytest.mark.parametrize(
    ("slug", "observed"), [("deepseek-v2-lite", 1.93), ("qwen1.5-moe-a2.7b", 2.47), ("phi-4", 1.52)]
)
def test_observed_activation_peaks(slug: str, observed: float) -> None:
    # m023, m028, m026: the workspace of fused expert kernels stays beside the logits; phi-4 is dense
    rank = rank_memory(plan(slug, 79.19, "vllm-0.19", 0.95))
    assert rank.activation_bytes / GIB == pytest.approx(observed, rel=0.03)


def test_an_a100_takes_the_defaults_of_small_gpus() -> None:
    # m072: gpt-oss-20b on an A100 80 GB at 0.65, 36.56 GiB printed
    start = plan("gpt-oss-20b", 79.15, "vllm-0.19", 0.65, weights="mxfp4", gpu_family="ampere")
    assert budget_gib(rank_memory(start)) == pytest.approx(36.56, rel=0.02)


def test_activation_of_v0_follows_the_context_until_it_is_chunked() -> None:  # M01
    short, longer, chunked = (
        rank_memory(plan(LLAMA, 23.58, "vllm-v0", 0.9, length=length)) for length in (20_000, 29_000, 35_000)
    )
    assert short.activation_bytes / GIB == pytest.approx(2.07, abs=0.02)
    assert longer.activation_bytes / GIB == pytest.approx(2.99, abs=0.02)
    assert budget_gib(short) == pytest.approx(3.81, rel=0.02)
    assert budget_gib(longer) == pytest.approx(2.89, rel=0.02)
    assert chunked.kv_budget_bytes > longer.kv_budget_bytes
    assert memory_fit(plan(LLAMA, 23.58, "vllm-v0", 0.9, length=35_000), sequences=1, context_tokens=35_000).feasible


REFUSED = [
    ("m040 Llama-3.3-70B FP8 TP1", plan(BIG, 79.18, "vllm-0.11", 0.9, weights="fp8"), 16_000, "activation"),
    ("M22 Qwen3-32B at 32,000", plan("qwen3-32b", 79.18, "vllm-0.11", 0.9), 32_000, "kv_cache"),
    ("M22 DeepSeek-R1 FP8 TP1", plan("deepseek-r1", 79.18, "vllm-0.11", 0.9, weights="fp8"), 16_000, "weights"),
    ("m055 Llama-3.1-8B at 29,000", plan(LLAMA, 23.58, "vllm-v0", 0.9, length=29_000), 29_000, "kv_cache"),
]


@pytest.mark.parametrize(("name", "start", "tokens", "term"), REFUSED, ids=[row[0] for row in REFUSED])
def test_starts_that_failed_are_refused_with_the_term_that_binds(
    name: str, start: MemoryPlan, tokens: int, term: str
) -> None:
    answer = memory_fit(start, sequences=1, context_tokens=tokens)
    assert (answer.feasible, answer.binding_term.value) == (False, term)


def test_the_first_failed_start_fits_on_the_later_engine() -> None:
    # vLLM 0.19 keeps 2.5 times fewer copies of the logits: the same start fits there
    answer = memory_fit(plan(BIG, 79.18, "vllm-0.19", 0.9, weights="fp8"), sequences=1, context_tokens=4000)
    assert answer.feasible


def test_deepseek_on_two_more_gpus_is_suggested_by_tp_not_by_context() -> None:
    start = plan(BIG, 79.18, "vllm-0.11", 0.9, weights="fp8")
    answer = memory_fit(start, sequences=1, context_tokens=16_000)
    found = {one.change: one.value for one in suggestions(start, answer)}
    assert found["parallelism.tp"] == 2
    assert "context_tokens" not in found


def test_the_gpu_with_the_least_memory_that_fits_is_suggested() -> None:
    start = plan("qwen3-32b", 44.4, "vllm-0.19", 0.9)
    answer = memory_fit(start, sequences=1, context_tokens=8192)
    gpus = [GpuChoice(slug=f"gpu{size}", memory_bytes=size * GIB) for size in (48, 64, 79, 141, 180)]
    found = {one.change: one.value for one in suggestions(start, answer, gpus=gpus)}
    assert found["gpu"] == "gpu79"
    assert found["parallelism.tp"] == 2


@pytest.mark.parametrize(
    "slug", ["llama-3.1-8b-instruct", "gpt-oss-120b", "deepseek-v3", "gemma-3-27b-it", "jamba-v0.1"]
)
@pytest.mark.parametrize("engine", ["vllm-0.19", "ideal", "sglang-0.5", "tensorrt-llm-1", "llama.cpp"])
def test_the_ledger_sums_exactly(slug: str, engine: str) -> None:
    answer = memory_fit(plan(slug, 79.19, engine, 0.9, tp=4, pp=2), sequences=7, context_tokens=5000)
    ledger = answer.ledger
    total = (
        ledger.unmanaged_bytes + ledger.weights_bytes + ledger.runtime_overhead_bytes + ledger.activation_bytes
        + ledger.cuda_graph_bytes + ledger.kv_cache_bytes + ledger.slack_bytes
    )  # fmt: skip
    assert total == ledger.memory_bytes


@pytest.mark.parametrize("slug", ["llama-3.1-8b-instruct", "gpt-oss-20b", "gemma-3-27b-it", "deepseek-v3.2"])
def test_columns_say_what_the_single_answer_says(slug: str) -> None:
    start = plan(slug, 141.0, "vllm-0.19", 0.9, tp=8)
    tokens, sequences = np.array([100.0, 5000.0, 30_000.0]), np.array([1.0, 64.0, 8.0])
    columns = ledger_columns(start, tokens=tokens, sequences=sequences)
    for index, (length, load) in enumerate(zip(tokens, sequences, strict=True)):
        answer = memory_fit(start, sequences=int(load), context_tokens=int(length))
        assert columns["kv_cache_bytes"][index] == pytest.approx(answer.ledger.kv_cache_bytes, abs=1)
        assert columns["slack_bytes"][index] == pytest.approx(answer.ledger.slack_bytes, abs=1)
        assert replica_cache(start).sequences(tokens)[index] == answer.max_sequences
        assert bool(columns["slack_bytes"][index] >= 0) is answer.feasible


def test_latent_cache_is_whole_on_every_rank_and_kv_heads_are_split() -> None:  # M08, m062
    latent = rank_memory(plan("deepseek-v3", 141.0, "vllm-0.19", 0.9, tp=8, weights="fp8"))
    grouped = rank_memory(plan(BIG, 141.0, "vllm-0.19", 0.9, tp=8))
    assert latent.allocation.growing_bytes_per_token == 61 * 576 * 2 == 70_272
    assert grouped.allocation.growing_bytes_per_token == 327_680 / 8


def test_more_ranks_than_kv_heads_keep_one_head_each() -> None:
    rank = rank_memory(plan("qwen3-235b-a22b", 141.0, "vllm-0.19", 0.9, tp=8))
    assert rank.allocation.growing_bytes_per_token == 94 * 2 * 128 * 2  # 4 KV heads on 8 ranks


def test_sparse_latent_fp8_cache_has_its_own_layout() -> None:
    # m061: SGLang printed 48,072 bytes a token for DeepSeek V3.2
    rank = rank_memory(plan("deepseek-v3.2", 180.0, "sglang-0.5", 0.9, tp=8, weights="fp8", kv="fp8"))
    assert rank.allocation.growing_bytes_per_token == pytest.approx(48_072, rel=2e-4)
    # with a bf16 latent the index stays in fp8: 61 × (576 × 2 + 132)
    plain = rank_memory(plan("deepseek-v3.2", 180.0, "sglang-0.5", 0.9, tp=8, weights="fp8"))
    assert plain.allocation.growing_bytes_per_token == 61 * (576 * 2 + 132)


def test_a_block_index_beside_grouped_attention_counts_as_cache() -> None:
    # MiniMax M3: 60 layers of 4 KV heads of 128; 57 layers index their blocks with one key of 128 a token
    rank = rank_memory(plan("minimax-m3", 400.0, "vllm-0.19", 0.9, tp=4))
    indexed = sum(MODELS["minimax-m3"]["config"]["sparse_attention_config"]["sparse_attention_freq"])
    assert rank.allocation.growing_bytes_per_token == 60 * 2 * 128 * 2 + indexed * 128 * 2


def test_windows_keep_the_engine_chunk_beside_them() -> None:  # M04
    # 108.2 KiB a token printed for Gemma 4 31B: (10·8192·L + 50·16384·(1023 + 8192)) / L at L = 262,144
    start = plan("gemma-4-31b", 139.8, "vllm-0.19", 0.9, length=262_144)
    allocation = rank_memory(start).allocation
    assert allocation.sequence_bytes(262_144) / 262_144 / 1024 == pytest.approx(108.2, rel=2e-3)
    assert allocation.growing_bytes_per_token == 80 * 1024


def test_all_layers_count_below_the_window() -> None:  # M05
    allocation = rank_memory(plan("gpt-oss-120b", 79.18, "vllm-0.11", 0.95, weights="mxfp4")).allocation
    assert allocation.short_bytes_per_token == 73_728
    assert allocation.growing_bytes_per_token == 36_864


def test_hybrid_cache_off_stores_windows_at_full_length() -> None:
    start = plan("gpt-oss-120b", 79.18, "vllm-0.19", 0.95, weights="mxfp4")
    off = replace(start, policy=replace(start.policy, hybrid_cache=False))
    assert rank_memory(off).allocation.sequence_bytes(16_000) == 73_728 * 16_000


def test_observed_tokens_beat_the_model() -> None:  # M25: 16 GiB pool of Qwen2.5-7B
    start = plan(QWEN, 79.19, "vllm-0.19", 0.9, overrides={"kv_cache_tokens_observed": 299_584})
    answer = memory_fit(start, sequences=1, context_tokens=8192)
    assert (answer.observed, answer.capacity_tokens, answer.capacity_bytes) == (True, 299_584, 299_584 * 57_344)


def test_lora_adapters_are_paid_in_advance() -> None:  # M35
    plain = rank_memory(plan(LLAMA, 79.19, "vllm-0.19", 0.9))
    adapted = rank_memory(plan(LLAMA, 79.19, "vllm-0.19", 0.9, lora=Lora(max_loras=4, max_rank=16)))
    sides = 2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336)
    assert adapted.lora_bytes == 4 * 16 * 32 * sides * 2
    assert plain.kv_budget_bytes - adapted.kv_budget_bytes == adapted.lora_bytes


def test_source_documents_count_with_nothing_reserved() -> None:  # S14, S35, S36
    llama = model("llama-3-8b")
    free = MemoryPlan(
        architecture=llama, memory_bytes=80_000_000_000, policy=policies()["ideal"], precision=Precision()
    )
    assert memory_fit(free, sequences=1, context_tokens=8000).max_sequences == 60
    assert memory_fit(free, sequences=1, context_tokens=128_000).max_sequences == 3
    reserved = MemoryOverrides(utilization=0.9, runtime_overhead_bytes=2_000_000_000)
    small = replace(free, memory_bytes=24_000_000_000, overrides=reserved)
    assert rank_memory(small).kv_budget_bytes == 3_539_477_504
    assert memory_fit(small, sequences=1, context_tokens=8192).max_sequences == 3
    large = memory_fit(replace(free, overrides=reserved), sequences=50, context_tokens=8192)
    assert (large.verdict.value, large.binding_term.value, large.needed_bytes) == ("tight", "kv_cache", 53_687_091_200)
    assert large.capacity_bytes == pytest.approx(53.9e9, rel=2e-3)


def test_a_13b_model_by_its_parameters() -> None:  # S29, S30
    shape = architecture_from_shape(parameters=13_000_000_000, layers=40, heads=40, head_dim=128)
    reserved = MemoryOverrides(utilization=0.9, runtime_overhead_bytes=2_000_000_000)
    base = MemoryPlan(
        architecture=shape,
        memory_bytes=24_000_000_000,
        policy=policies()["ideal"],
        precision=Precision(),
        overrides=reserved,
    )
    weights = {}
    budgets = {}
    for name in ("bf16", "int8", "int4"):
        rank = rank_memory(replace(base, precision=Precision(weights=name)))
        weights[name], budgets[name] = rank.weights_bytes, rank.kv_budget_bytes
    assert weights == {"bf16": 26_000_000_000, "int8": 13_000_000_000, "int4": 6_500_000_000}
    assert budgets["int8"] == 6_600_000_000
    assert budgets["bf16"] < 0 < budgets["int4"]


def test_stored_bytes_beat_the_formula() -> None:
    start = plan(BIG, 79.18, "vllm-0.11", 0.9, weights="fp8", stored_weight_bytes=72_000_000_000)
    assert rank_memory(start).weights_bytes == 72_000_000_000
    halves = rank_memory(replace(start, parallelism=Parallelism(tp=2))).weights_bytes
    assert halves == pytest.approx(36_000_000_000, rel=1e-3)


def test_the_worst_pipeline_stage_decides() -> None:
    answer = memory_fit(plan(LLAMA, 79.19, "vllm-0.19", 0.95, pp=2), sequences=1, context_tokens=1024)
    assert answer.rank.stage == 1  # the head's logits
    assert answer.rank.kv_budget_bytes < rank_memory(plan(LLAMA, 79.19, "vllm-0.19", 0.95, pp=2)).kv_budget_bytes


def test_alternatives_of_llama_3_8b() -> None:  # S27
    found = {item.name: item.bytes_per_token for item in alternatives(model("llama-3-8b"), "bf16")}
    assert found["as_is"] == 131_072
    assert found["mha"] == 524_288
    assert found["mqa"] == 16_384
    assert found["mla"] == 36_864
    assert (found["kv_fp8"], found["kv_int8"], found["kv_int4"]) == (65_536, 65_536, 32_768)


def test_a_suggested_gpu_counts_with_its_own_familys_defaults() -> None:
    # vLLM batches 8,192 tokens and 1,024 sequences on a large Hopper, 2,048 and 256 on any Ampere: the suggestion of a
    # Hopper for a plan on an Ampere must pay the Hopper's activations.
    start = plan("llama-3.1-8b-instruct", 40, "vllm-0.11", 0.45)
    start = replace(start, gpu_family="ampere", precision=Precision(weights="fp32"))
    answer = memory_fit(start, sequences=1, context_tokens=1024)
    choice = GpuChoice(slug="hopper", memory_bytes=96 * GIB, family="hopper")
    (found,) = [one for one in suggestions(start, answer, gpus=[choice]) if one.change == "gpu"]
    asked = replace(start, memory_bytes=96 * GIB, gpu_family="hopper")
    assert found.max_sequences == memory_fit(asked, sequences=1, context_tokens=1024).max_sequences
    other = replace(start, memory_bytes=96 * GIB)
    assert found.max_sequences != memory_fit(other, sequences=1, context_tokens=1024).max_sequences
