"""Worked examples of the engines' memory rules that stand in no other test: blocks, groups, cells, shares, slots.

With `test_startup_logs.py` and the logs of `started_servers.yaml` they are the 43 examples of the design's program;
where that program is exact, so is this.
"""

from dataclasses import replace

import pytest

from estimator.engine.memory.compressed_pools import group_bytes
from estimator.engine.memory.engine_caches import rank_caches
from estimator.engine.memory.kv_allocation import KvAllocation
from estimator.engine.memory.ledger import rank_memory
from estimator.engine.memory.plan import MemoryPlan, cache_settings
from estimator.engine.memory.policy import GIB
from estimator.engine.memory.startup_lines import startup_lines
from estimator.engine.memory.weight_parts import fold
from estimator.engine.options import MemoryOverrides
from estimator.engine.reading.reader import read_config
from tests.engine.memory.plans import plan

MIB = 2**20
KIMI_LINEAR = {
    "model_type": "kimi_linear", "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 27,
    "num_attention_heads": 32, "num_key_value_heads": 32, "kv_lora_rank": 512, "q_lora_rank": None,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163_840,
    "num_experts": 256, "num_experts_per_token": 8, "num_shared_experts": 1, "moe_intermediate_size": 1024,
    "first_k_dense_replace": 1, "moe_layer_freq": 1, "max_position_embeddings": 1_048_576,
    "linear_attn_config": {
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4,
        "kda_layers": [n for n in range(1, 28) if n not in (4, 8, 12, 16, 20, 24, 27)],
    },
}  # fmt: skip


def of_config(config: dict, engine: str, *, kv: str = "bf16", tp: int = 1, **overrides: object) -> MemoryPlan:
    start = plan("llama-3.1-8b", 80.0, engine, None, kv=kv, tp=tp, overrides=overrides)
    return replace(start, architecture=read_config(config))


def test_a_hybrid_on_two_gpus_has_half_the_states_and_heads() -> None:
    # Qwen3.8-27B, fp8 cache, two GPUs, talos 1995: 4.99 GiB hold 2.31 requests, 302,921 tokens
    start = plan(
        "qwen3.6-27b-nvfp4", 31.0, "vllm-0.24", None, kv="fp8", tp=2,
        overrides={"max_batched_tokens": 16_384, "enable_prefix_caching": True},
    )  # fmt: skip
    said = startup_lines(start, rank_memory(start), available_bytes=4.99 * GIB, max_model_len=131_072)
    assert said.block_tokens == 1568
    assert said.concurrency == pytest.approx(2.31, abs=0.005)
    assert said.kv_cache_tokens == 302_921


def test_kimi_delta_attention_keeps_states_in_32_bits_beside_latent_blocks_of_64() -> None:
    # Kimi-Linear AWQ on two GPUs, 0.11, vllm 28228: 2.30 GiB hold 2.48 requests of 120,000, 75,840 tokens
    start = of_config(KIMI_LINEAR, "vllm-0.11", kv="fp16", tp=2, max_batched_tokens=2048)
    said = startup_lines(start, rank_memory(start), available_bytes=2.30 * GIB, max_model_len=120_000)
    assert said.block_tokens == 960
    assert said.kv_cache_tokens == 75_840
    assert said.concurrency == pytest.approx(2.48, rel=0.01)  # 2.492: the pool is printed to 0.01 GiB


def test_groups_of_deepseek_v4_are_as_wide_as_printed() -> None:
    # vllm 54703: states of ratio 4 take 870,912 bytes for 4 tokens, of 128 656,640 for 8; entries 3,915 a token
    start = plan("deepseek-v4-flash", 140.0, "vllm-0.29", None, kv="fp8", tp=1)
    caches = rank_caches(fold(start.architecture), "fp8", start.policy, settings=cache_settings(start))
    widths = group_bytes(caches, 584)
    assert widths["light_states"] == 870_912
    assert widths["heavy_states"] == 656_640
    assert widths["entries"] == 3915 * 256


@pytest.mark.parametrize(("micro_batch", "cells"), [(512, 768), (4096, 4352)])
def test_window_cells_of_llama_cpp_are_window_and_micro_batch(micro_batch: int, cells: int) -> None:
    # gpt-oss 768 cells at 512; DeepSeek V4 4,352 cells of 43 layers at 4,096: 182.75 MiB, llama.cpp 27680
    start = plan(
        "deepseek-v4-flash", 140.0, "llama.cpp", None, kv="fp16", overrides={"max_batched_tokens": micro_batch}
    )
    window = _windows(rank_memory(start).allocation)
    assert window == cells * 43 * 512 * 2
    if micro_batch == 4096:
        assert window == 182.75 * MIB


@pytest.mark.parametrize(("micro_batch", "cells"), [(512, 4608), (2048, 6144)])
def test_unified_slots_share_a_micro_batch_beside_a_window_each(micro_batch: int, cells: int) -> None:
    # Gemma 4 12B, 4 slots, window 1,024
    config = {
        "model_type": "gemma3_text", "hidden_size": 3840, "num_hidden_layers": 48, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 15_360, "vocab_size": 262_144,
        "sliding_window": 1024, "sliding_window_pattern": 6, "max_position_embeddings": 131_072,
    }  # fmt: skip
    start = of_config(config, "llama.cpp", kv="fp16", kv_unified=True, max_batched_tokens=micro_batch)
    allocation = rank_memory(start).allocation
    whole = 4 * 8192 * 8 * (2 * 8 * 256 * 2)
    assert allocation.load_bytes(4, 8192) - whole == cells * 40 * (2 * 8 * 256 * 2)


def test_sglang_keeps_four_fifths_of_the_tokens_for_windows() -> None:
    # MiMo-V2-Flash on four GPUs, sglang pull 18039: 375,360 tokens and 300,288 of windows
    start = plan("mimo-v2-flash", 140.0, "sglang-0.5.8", None, kv="bf16", tp=4)
    allocation = rank_memory(start).allocation
    whole, windows = (
        size / tokens for size, tokens in zip(allocation.block_bytes, allocation.block_tokens, strict=True)
    )
    assert 375_360 * whole / windows == pytest.approx(300_288, abs=1)


def test_sglang_s_state_slots_of_a_small_hybrid() -> None:
    # granite-4.0-h-micro: 5.81 GiB hold 38 slots (one of them padding here, one beside them there) of 0.9/1.9
    config = {
        "model_type": "granitemoehybrid", "hidden_size": 2048, "intermediate_size": 8192,
        "shared_intermediate_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 32,
        "num_key_value_heads": 8, "num_experts_per_tok": 0,
        "num_local_experts": 0, "mamba_n_heads": 64, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_d_conv": 4,
        "mamba_expand": 2, "mamba_n_groups": 1, "vocab_size": 100_352, "max_position_embeddings": 131_072,
        "tie_word_embeddings": True, "layer_types": ["mamba"] * 36 + ["attention"] * 4,
    }  # fmt: skip
    settings = MemoryOverrides(enable_prefix_caching=False)
    start = replace(of_config(config, "sglang-0.5.8"), overrides=settings)
    slots = rank_memory(start).allocation.sequences_within((2.77 + 3.04) * GIB, 1)
    assert slots in (37, 38)


def _windows(allocation: KvAllocation) -> float:
    """Bytes of the kinds that do not grow, of one sequence."""
    return sum(
        size * (resident + chunk)
        for size, resident, chunk in zip(
            allocation.block_bytes, allocation.resident_blocks, allocation.chunk_blocks, strict=True
        )
        if resident != float("inf")
    )


def test_the_block_of_glm_5_3_flash_holds_a_state_that_three_drafted_tokens_lengthen() -> None:
    # vllm 54458 prints 7,808 tokens in the fp8 cache: rows of 576 bytes, states of 64 heads with 6 rows of convolution
    # (5 rows, of two drafted tokens, give the same block; without a draft it is 7,552)
    start = plan("glm-5.3-flash", 280.0, "vllm-0.33", None, kv="fp8", draft_tokens=3)
    said = startup_lines(start, rank_memory(start), available_bytes=100 * GIB, max_model_len=100_000)
    assert said.block_tokens == 7808
    # one group of latent layers and their index, four of states, one of the tokens that wait for the next index key
    assert said.groups == 6


def test_deepseek_v4_in_16_bits_has_pages_of_512_bytes() -> None:
    start = plan("deepseek-v4-flash", 280.0, "vllm-0.33", None, kv="bf16")
    caches = rank_caches(fold(start.architecture), "bf16", start.policy, settings=cache_settings(start))
    widths = group_bytes(caches, 1024)
    assert widths["windows"] % (64 * 1024) == 0
    assert widths["light_states"] == 21 * (4 * 4 * 512 * 4 + 4 * 4 * 128 * 4)


def test_deepseek_v4_1_keeps_entries_on_four_layers_windows_on_all_and_a_ring() -> None:
    # rows of 584 bytes in pages of 576: ratio 2 has 128 rows of 256 tokens and their index, ratio 1 all 256
    start = plan("deepseek-v4.1-flash", 280.0, "vllm-0.33", None, kv="fp8", overrides={"max_batched_tokens": 2048})
    caches = rank_caches(fold(start.architecture), "fp8", start.policy, settings=cache_settings(start))
    pages = {ratio: -(-256 // ratio * 584 // 576) * 576 for ratio in (1, 2)}
    index = {ratio: -(-256 // ratio * 132 // 576) * 576 for ratio in (1, 2)}
    assert group_bytes(caches, 584)["entries"] == 3 * (pages[2] + index[2]) + pages[1] + index[1]
    said = startup_lines(start, rank_memory(start), available_bytes=40 * GIB, max_model_len=300_000)
    assert said.block_bytes == 40 * 37_440  # the windows of all 40 layers are the widest group
    windows = -(-(127 + 2 * 2048) // 64) + 1
    assert said.request_bytes == (-(-300_000 // 256) + windows + 1) * said.block_bytes
    # a longer request grows by entries alone
    assert said.groups == 3
