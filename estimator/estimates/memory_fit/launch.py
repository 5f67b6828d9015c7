"""Flags that start the engine for a plan."""

from estimator.engine.memory.ledger import share_of_memory
from estimator.estimates.memory_fit.compute import MemoryEstimate


def launch_hint(estimate: MemoryEstimate) -> list[str]:
    """The flags of the plan's engine, in its own names; empty for `ideal` and engines without such flags.

    Empty too where not one sequence fits: no flags start such a server.
    """
    if estimate.fit.max_sequences < 1:
        return []
    engine = estimate.plan.engine.engine
    if engine == "vllm":
        return _vllm(estimate)
    if engine == "sglang":
        return _sglang(estimate)
    if engine in ("tensorrt-llm", "trtllm", "nim"):
        return _tensorrt(estimate)
    if engine in ("llama.cpp", "llama_cpp"):
        return _llama_cpp(estimate)
    return []


def _utilization(estimate: MemoryEstimate) -> float:
    return share_of_memory(estimate.memory)


def _vllm(estimate: MemoryEstimate) -> list[str]:
    plan, rank = estimate.plan, estimate.fit.rank
    flags = [
        f"--gpu-memory-utilization {_utilization(estimate):g}",
        f"--max-model-len {estimate.fit.context_tokens}",
        f"--max-num-seqs {estimate.fit.engine_sequences_limit // plan.parallelism.dp}",
        f"--max-num-batched-tokens {rank.batched_tokens}",
    ]
    degrees = plan.parallelism
    if degrees.tp > 1:
        flags.append(f"--tensor-parallel-size {degrees.tp}")
    if degrees.pp > 1:
        flags.append(f"--pipeline-parallel-size {degrees.pp}")
    if degrees.dp > 1:
        flags.append(f"--data-parallel-size {degrees.dp}")
    if degrees.ep > 1:
        flags.append("--enable-expert-parallel")
    if plan.precision.kv_cache == "fp8":
        flags.append("--kv-cache-dtype fp8")
    if plan.lora is not None:
        flags += ["--enable-lora", f"--max-loras {plan.lora.max_loras}", f"--max-lora-rank {plan.lora.max_rank}"]
    return flags


def _sglang(estimate: MemoryEstimate) -> list[str]:
    degrees = estimate.plan.parallelism
    flags = [
        f"--mem-fraction-static {_utilization(estimate):g}",
        f"--context-length {estimate.fit.context_tokens}",
        f"--max-running-requests {estimate.fit.engine_sequences_limit}",
    ]
    if degrees.tp * degrees.dp > 1:
        flags.append(f"--tp {degrees.tp * degrees.dp}")
    if degrees.dp > 1:
        flags += ["--enable-dp-attention", f"--dp {degrees.dp}"]
    if estimate.plan.precision.kv_cache == "fp8":
        flags.append("--kv-cache-dtype fp8_e4m3")
    return flags


def _tensorrt(estimate: MemoryEstimate) -> list[str]:
    degrees, rank = estimate.plan.parallelism, estimate.fit.rank
    flags = [
        f"--kv_cache_free_gpu_memory_fraction {_utilization(estimate):g}",
        f"--max_seq_len {estimate.fit.context_tokens}",
        f"--max_batch_size {rank.max_num_seqs}",
        f"--max_num_tokens {rank.batched_tokens}",
    ]
    if degrees.tp > 1:
        flags.append(f"--tp_size {degrees.tp}")
    if degrees.pp > 1:
        flags.append(f"--pp_size {degrees.pp}")
    if degrees.ep > 1:
        flags.append(f"--ep_size {degrees.ep}")
    return flags


def _llama_cpp(estimate: MemoryEstimate) -> list[str]:
    fit = estimate.fit
    flags = [f"--ctx-size {fit.context_tokens * fit.sequences}", f"--parallel {fit.sequences}", "--n-gpu-layers 999"]
    kv = estimate.plan.precision.kv_cache
    if kv not in ("bf16", "fp16"):
        flags += [f"--cache-type-k {kv}", f"--cache-type-v {kv}"]
    return flags
