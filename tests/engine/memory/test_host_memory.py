"""Routed experts of the first layers in host memory (llama.cpp, --n-cpu-moe): bytes by hand, and none lost between."""

from dataclasses import replace

import pytest

from estimator.engine.memory.ledger import rank_memory
from estimator.engine.memory.plan import holds_experts_on_host, host_memory
from estimator.engine.options import MemoryOverrides
from estimator.engine.specs import Parallelism
from tests.engine.memory.plans import plan

# Mixtral 8x7B: 32 layers of 8 experts with three matrices of 4,096 x 14,336 each.
MIXTRAL_LAYER = 8 * 3 * 4096 * 14_336


def started(slug, layers, *, weights="bf16", pp=1, engine="llama.cpp"):
    built = plan(slug, 180.0, engine, None, weights=weights, pp=pp)
    return replace(built, overrides=MemoryOverrides(n_cpu_moe=layers))


@pytest.mark.parametrize(("layers", "held"), [(None, 0), (0, 0), (1, 1), (7, 7), (32, 32), (10_000, 32)])
def test_the_experts_of_the_first_layers_by_hand(layers, held):
    found = host_memory(started("mixtral-8x7b-v0.1", layers))
    assert found.expert_bytes == held * MIXTRAL_LAYER * 2
    assert found.expert_layers == held
    assert found.embedding_bytes == 32_000 * 4096 * 2


def test_in_a_file_they_have_the_types_of_their_tensors():
    # q8_0 stores 32 weights in 34 bytes
    found = host_memory(started("mixtral-8x7b-v0.1", 5, weights="q8_0"))
    assert found.expert_bytes == 5 * MIXTRAL_LAYER * 34 // 32


def test_dense_layers_count_among_the_first_and_hold_nothing():
    # DeepSeek V3: three dense layers, then 58 of 256 experts with three matrices of 7,168 x 2,048
    one = 256 * 3 * 7168 * 2048
    for layers, held in ((3, 0), (4, 1), (61, 58)):
        start = started("deepseek-v3", layers)
        found = host_memory(start)
        assert found.expert_layers == held
        assert found.expert_bytes == held * one * 2
        assert holds_experts_on_host(start) is (held > 0)


@pytest.mark.parametrize("slug", ["mixtral-8x7b-v0.1", "deepseek-v3", "gpt-oss-120b", "qwen3-30b-a3b"])
@pytest.mark.parametrize("weights", ["bf16", "q4_k_m", "mxfp4"])
@pytest.mark.parametrize("pp", [1, 3])
def test_what_leaves_the_gpus_is_what_the_host_holds(slug, weights, pp):
    def on_gpus(layers):
        start = started(slug, layers, weights=weights, pp=pp)
        return [rank_memory(start, stage=stage) for stage in range(pp)]

    whole = on_gpus(None)
    for layers in (1, 9, 10_000):
        moved = on_gpus(layers)
        left = sum(before.weights_bytes - after.weights_bytes for before, after in zip(whole, moved, strict=True))
        assert left == pytest.approx(host_memory(started(slug, layers, weights=weights)).expert_bytes, abs=pp + 1)
        for before, after in zip(whole, moved, strict=True):
            freed = before.weights_bytes - after.weights_bytes
            assert after.kv_budget_bytes - before.kv_budget_bytes == freed
            assert after.activation_bytes == before.activation_bytes


ALL_ON_GPU = [
    ("llama-3.1-8b-instruct", "llama.cpp"), ("mixtral-8x7b-v0.1", "vllm-0.33"),
    ("mixtral-8x7b-v0.1", "llama.cpp-b2800"),
]  # fmt: skip


@pytest.mark.parametrize(("slug", "engine"), ALL_ON_GPU)
def test_dense_models_and_engines_without_the_setting_keep_all_on_the_gpu(slug, engine):
    assert not holds_experts_on_host(started(slug, 9, engine=engine))
    assert rank_memory(started(slug, 9, engine=engine)) == rank_memory(started(slug, None, engine=engine))


# Qwen3.8-Flash-Next: 320,001,536 rows of 160.
GRAMS = 320_001_536 * 160


@pytest.mark.parametrize(
    ("engine", "weights", "bits"),
    [("vllm-0.33", "bf16", 16), ("vllm-0.33", "fp8", 8), ("sglang-0.5.23", "nvfp4", 8), ("llama.cpp", "q4_k_m", 5.5)],
)
def test_tables_of_n_grams_leave_the_gpus_whole(engine, weights, bits):
    # rows of 160 are no whole blocks of 256: the quantiser takes Q5_0 for them, 5.5 bits an element
    built = plan("qwen3.8-flash-next", 180.0, engine, None, weights=weights)
    moved = replace(built, overrides=MemoryOverrides(ple_offload_embedding=True))
    held = host_memory(moved)
    assert held.table_bytes == GRAMS * bits / 8
    freed = rank_memory(built).weights_bytes - rank_memory(moved).weights_bytes
    assert freed == pytest.approx(held.table_bytes, abs=1)
    two = [rank_memory(replace(one, parallelism=Parallelism(tp=2))).weights_bytes for one in (built, moved)]
    assert two[0] - two[1] == pytest.approx(held.table_bytes / 2, abs=1)


def test_other_models_and_engines_keep_their_tables():
    for slug, engine in (("gemma-4-e2b", "vllm-0.33"), ("qwen3.8-flash-next", "vllm-0.19")):
        built = plan(slug, 180.0, engine, None)
        moved = replace(built, overrides=MemoryOverrides(ple_offload_embedding=True))
        assert rank_memory(built).weights_bytes == rank_memory(moved).weights_bytes
