"""What servers of 2025 and 2026 printed at start, worked out by the rules of their version.

Public logs; the cache's bytes are taken as printed, so that blocks, groups and requests alone are tested.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from estimator.engine.memory.layer_caches import CacheBytes, attention_cache
from estimator.engine.memory.ledger import RankMemory, rank_memory
from estimator.engine.memory.plan import MemoryPlan, cache_settings
from estimator.engine.memory.policy import GIB
from estimator.engine.memory.startup_lines import StartupLines, startup_lines
from estimator.engine.options import MemoryOverrides
from estimator.engine.reading.reader import read_config
from tests.engine.memory.plans import model, plan


class Log(NamedTuple):
    """A start: plan, cache in GiB, longest length, and what was printed (a figure, or what differs from it)."""

    name: str
    start: MemoryPlan
    cache_gib: float
    length: int
    printed: dict[str, Any]
    within: float = 0.0


def started(slug: str, release: str, *, batched: int, kv: str = "fp8", draft: int = 0, mtp: int = 0, tp: int = 1,
            **settings: Any) -> MemoryPlan:  # fmt: skip
    attending = [group.attention for group in model(slug).layer_groups if group.attention is not None]
    size = CacheBytes(kv_format=kv, tp=tp)
    return plan(
        slug, 80.0, release, None, kv=kv, tp=tp,
        overrides={"max_batched_tokens": batched, **settings},
        draft_caches=(attention_cache(attending[-1], size, mtp),) if mtp else (),
        draft_tokens=draft,
    )  # fmt: skip


QWEN_35B = started("qwen3.6-35b-a3b-nvfp4", "vllm-0.24", batched=8192, enable_prefix_caching=True)
QWEN_122B = "qwen3.5-122b-a10b"
LOGS = [
    Log("Qwen3.6-35B-A3B fp8, prefixes kept, club-3090 652", QWEN_35B, 6.01, 131_072,
        {"blocks": 300, "block_tokens": 2096, "concurrency": 4.35, "kv_cache_tokens": 569_878}, 0.003),
    Log("Qwen3.5-122B fp8, one drafted token, Thor",
        started(QWEN_122B, "vllm-0.18", batched=2048, draft=1, mtp=1, enable_prefix_caching=True),
        24.05, 262_144, {"block_tokens": 4192, "concurrency": 6.42, "kv_cache_tokens": 482_080}, 0.001),
    Log("Qwen3.5-122B fp8", started(QWEN_122B, "vllm-0.18", batched=2048, enable_prefix_caching=True), 21.43, 131_072,
        {"block_tokens": 4176, "concurrency": 11.79, "kv_cache_tokens": 467_712}, 0.001),
    Log("Qwen3.5-122B bf16, GB10, vllm 30515",
        started(QWEN_122B, "vllm-0.18", batched=2048, kv="bf16", enable_prefix_caching=True), 17.36, 131_072,
        {"blocks": 361, "block_tokens": 2096, "concurrency": 5.23, "kv_cache_tokens": 188_640}, 0.001),
    Log("Qwen3.6-27B fp8, two drafted tokens, vLLM 0.24",
        started("qwen3.6-27b-nvfp4", "vllm-0.24", batched=65_536, draft=2, mtp=1, enable_prefix_caching=True),
        48.6, 262_144, {"block_tokens": 1600, "blocks": 936, "concurrency": 5.32, "kv_cache_tokens": 1_394_129}, 0.001),
    Log("Gemma 4 26B fp8, Thor", started("gemma-4-26b-a4b", "vllm-0.19", batched=2048), 51.62, 131_072,
        {"concurrency": 33.42, "kv_cache_tokens": 451_040}, 0.001),
    Log("Gemma 4 31B, 0.20.0, vllm 43308",
        started("gemma-4-31b", "vllm-0.20.0", batched=2048, kv="bf16"), 50.7e9 / GIB, 262_144,
        {"kv_cache_tokens": 55_000}, 0.07),
    Log("Gemma 4 31B, 0.21, vllm 43308", started("gemma-4-31b", "vllm-0.21", batched=2048, kv="bf16"),
        50.7e9 / GIB, 262_144, {"kv_cache_tokens": 525_000}, 0.07),
    Log("DeepSeek V4 Flash, vllm 44376", started("deepseek-v4-flash", "vllm-0.22", batched=16_384, tp=2), 5.44, 30_000,
        {"refused": True, "request_bytes": 6.66 * GIB, "longest_tokens": 13_528}, 0.002),
    Log("DeepSeek V4 Flash packed, rtx6kpro 103", started("deepseek-v4-flash", "vllm-0.29", batched=4096), 80.0,
        1_048_576, {"request_bytes": 6.96 * GIB, "block_bytes": 1_002_240}, 0.002),
    Log("DeepSeek V4 Flash on H200, amn020", started("deepseek-v4-flash", "vllm-0.33", batched=8192), 77.53, 131_072,
        {"concurrency": 11.55, "kv_cache_tokens": 1_513_358}, 0.001),
    Log("Qwen3.5-35B-A3B fp8, 0.17, prefixes kept, amn027",
        started("qwen3.5-35b-a3b", "vllm-0.17", batched=2048, enable_prefix_caching=True), 6.08, 65_536,
        {"concurrency": 8.0, "kv_cache_tokens": 159_296, "block_tokens": 2096}, 0.001),
    Log("Gemma 4 26B on RTX 5090, 0.20.2, mx005", started("gemma-4-26b-a4b-nvfp4", "vllm-0.20.2", batched=16_384),
        4.58, 256_000, {"concurrency": 1.12, "kv_cache_tokens": 286_007}, 0.005),
    Log("Gemma 4 26B on RTX 5090, 0.18, mx006", started("gemma-4-26b-a4b-nvfp4", "vllm-0.18", batched=2048),
        8.29, 262_144, {"kv_cache_tokens": 72_400}, 0.001),
    Log("Qwen2.5 7B on RTX 4090, mx018", started("qwen2.5-7b-instruct", "vllm-0.20.2", batched=2048, kv="bf16"),
        4.45, 2048, {"concurrency": 40.71, "kv_cache_tokens": 83_376}, 0.001),
    Log("Qwen3 14B, 0.28, amn009", started("qwen3-14b", "vllm-0.28", batched=2048, kv="bf16"),
        11.57, 40_960, {"concurrency": 1.85, "kv_cache_tokens": 75_824}, 0.001),
    Log("Qwen3.8 Flash Next, three drafted tokens, states in 16 bits, mx010",
        started("qwen3.8-flash-next", "vllm-0.29", batched=8192, kv="bf16", draft=3, mtp=1,
                mamba_ssm_cache_dtype="bfloat16"),
        9.59, 262_144, {"concurrency": 1.34, "kv_cache_tokens": 350_043, "block_tokens": 832}, 0.005),
]  # fmt: skip


def printed_by(log: Log) -> StartupLines:
    rank = rank_memory(log.start)
    return startup_lines(log.start, rank, available_bytes=log.cache_gib * GIB, max_model_len=log.length)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_a_server_prints_what_its_version_s_rules_give(log: Log) -> None:
    said = printed_by(log)
    for name, figure in log.printed.items():
        assert getattr(said, name) == pytest.approx(figure, rel=max(log.within, 1e-9)), name


def test_in_flight_tokens_double_from_0_26() -> None:
    old, new = (started("gemma-4-31b", f"vllm-{release}", batched=2048, kv="bf16") for release in ("0.25", "0.26"))
    # 50 windowed layers in 5 groups of 10: 2,048 tokens more are 128 blocks of 16 in each group
    wider = rank_memory(new).allocation.sequence_bytes(100_000) - rank_memory(old).allocation.sequence_bytes(100_000)
    assert wider == 5 * 128 * 10 * 16 * (16 * 512 * 2)


def test_states_take_two_blocks_by_default_from_0_26() -> None:
    old, new = (started("qwen3.6-35b-a3b-nvfp4", f"vllm-{release}", batched=8192) for release in ("0.25", "0.27"))
    kept = [rank_memory(start).allocation.fixed_bytes for start in (old, new)]
    assert kept[1] == 2 * kept[0] > 0


def test_states_are_kept_as_the_mode_says() -> None:
    # 3 groups of states beside one of attention: 1 block each, 2, or one for each of the 63 blocks of 131,072 tokens
    none, align, every = (
        rank_memory(started("qwen3.6-35b-a3b-nvfp4", "vllm-0.24", batched=8192, mamba_cache_mode=mode)).allocation
        for mode in ("none", "align", "all")
    )
    unit = none.unit_bytes
    blocks = [kept.sequence_bytes(131_072) / unit for kept in (none, align, every)]
    assert blocks == [63 + 3, 63 + 6, 63 + 3 * 63]


def test_settings_of_a_plan_reach_the_cache() -> None:
    asked = started("qwen3.6-35b-a3b-nvfp4", "vllm-0.24", batched=512, draft=3, enable_prefix_caching=True)
    assert cache_settings(asked).batched_tokens == 512
    assert cache_settings(asked).draft_tokens == 3
    assert cache_settings(asked).prefix_caching is True


# llama.cpp, Gemma 3 270M (3 whole layers, 15 of window 512, one KV head of 256): slots, context in all, MiB printed
SLOTS = [(1, 4096, 27), (2, 4096, 42), (4, 4096, 72), (8, 4096, 72), (1, 8192, 39), (2, 8192, 54)]


@pytest.mark.parametrize(("slots", "context", "printed_mib"), SLOTS)
def test_llama_cpp_keeps_a_window_and_a_micro_batch_for_each_slot(slots: int, context: int, printed_mib: int) -> None:
    # unsloth pull 5225
    allocation = llama_cpp(gemma_270m()).allocation
    assert allocation.load_bytes(slots, context // slots) == printed_mib * 2**20


@pytest.mark.parametrize(("micro_batch", "cells"), [(512, 2560), (2048, 4096)])
def test_llama_cpp_shares_one_micro_batch_where_slots_are_unified(micro_batch: int, cells: int) -> None:
    # 4 slots of window 512 and one micro-batch; Gemma 4 12B by the same rule: 4,608 and 6,144 cells of window 1,024
    settings = MemoryOverrides(kv_unified=True, max_batched_tokens=micro_batch)
    allocation = llama_cpp(replace(gemma_270m(), overrides=settings)).allocation
    whole, windows = 3 * 2 * 256 * 2, 15 * 2 * 256 * 2
    assert allocation.load_bytes(4, 8192) == 4 * 8192 * whole + cells * windows


def test_llama_cpp_keeps_states_in_32_bits_and_one_more_a_drafted_token() -> None:
    # Qwen3.6-27B, 4 slots: 598.5 MiB, with 12 drafted tokens 7,780.5
    start = plan("qwen3.6-27b-nvfp4", 200.0, "llama.cpp", None, kv="fp16")
    states = rank_memory(start).allocation.fixed_bytes
    drafted = rank_memory(replace(start, draft_tokens=12)).allocation.fixed_bytes
    assert 4 * states == 598.5 * 2**20
    assert 4 * drafted == 7780.5 * 2**20


def test_sglang_divides_the_cache_between_windows_and_whole_layers() -> None:
    # diffusiongemma-26B on GB10: 12.16 GiB hold 70,656 tokens of whole layers and 56,320 of windows (0.8)
    allocation = rank_memory(plan("gemma-4-26b-a4b", 121.0, "sglang-0.5.23", None, kv="bf16")).allocation
    budget = 12.16 * GIB
    assert allocation.longest_tokens(budget) == pytest.approx(70_656, rel=5e-3)
    window = allocation.block_bytes[1] / allocation.block_tokens[1]
    assert budget / window == pytest.approx(56_320, rel=1e-2)


def test_sglang_gives_states_a_fixed_share() -> None:
    # 0.9/1.9 of the rest are states; 3 slots a request with the radix cache, 1 without
    start = plan("qwen3.6-35b-a3b-nvfp4", 80.0, "sglang-0.5.23", None, kv="bf16")
    kept = rank_memory(start).allocation
    none = rank_memory(replace(start, overrides=MemoryOverrides(enable_prefix_caching=False))).allocation
    state = 30 * (8192 * 3 * 2 + 32 * 128 * 128 * 4)
    assert kept.fixed_bytes == pytest.approx(3 * state * 1.9 / 0.9)
    assert none.fixed_bytes == pytest.approx(state * 1.9 / 0.9)
    assert kept.block_bytes[0] / kept.block_tokens[0] == pytest.approx(10 * 2 * 2 * 256 * 2 * 1.9)
    # many short requests: states bind; few long ones: tokens do
    assert kept.sequences_within(10 * GIB, 16) == int(10 * GIB / kept.fixed_bytes)


def gemma_270m() -> MemoryPlan:
    config = {
        "model_type": "gemma3_text", "hidden_size": 640, "num_hidden_layers": 18, "num_attention_heads": 4,
        "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 2048, "vocab_size": 262_144,
        "max_position_embeddings": 32_768, "sliding_window": 512, "sliding_window_pattern": 6,
    }  # fmt: skip
    return replace(plan("gemma-4-31b", 24.0, "llama.cpp", None, kv="fp16"), architecture=read_config(config))


def llama_cpp(start: MemoryPlan) -> RankMemory:
    return rank_memory(start)
