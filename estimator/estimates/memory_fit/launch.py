"""Flags that start the engine for a plan."""

from dataclasses import dataclass

from estimator.engine.memory.plan import (
    MemoryPlan,
    batched_tokens_of,
    holds_tables_on_host,
    sequences_limit_of,
    share_of_memory,
)
from estimator.resolvers.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A plan to start a server for: sequences at once, the length that each reaches, and the engine's own limit."""

    plan: Plan
    memory: MemoryPlan
    context_tokens: int
    sequences: int
    engine_sequences: int

    @property
    def longest_tokens(self) -> int:
        """The longest sequence that the server takes: as asked, else the load's."""
        return self.plan.memory.max_model_len or self.context_tokens

    @property
    def slots(self) -> int:
        """llama.cpp: sequences that have a place of their own: as asked, else the load's."""
        return self.plan.memory.max_num_seqs or self.sequences


def launch_hint(server: Server) -> list[str]:
    """The flags of the plan's engine, in its own names; empty for `ideal` and engines without such flags."""
    flags = _FLAGS.get(server.plan.engine.engine)
    return flags(server) if flags else []


def _vllm(server: Server) -> list[str]:
    plan, memory = server.plan, server.memory
    flags = [
        f"--gpu-memory-utilization {share_of_memory(server.memory):g}",
        f"--max-model-len {server.longest_tokens}",
        f"--max-num-seqs {server.engine_sequences // plan.parallelism.dp}",
        f"--max-num-batched-tokens {batched_tokens_of(memory)}",
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
    if holds_tables_on_host(memory):
        flags.append("""--engram-config '{"cpu_offload": true}'""")
    return flags


def _sglang(server: Server) -> list[str]:
    degrees = server.plan.parallelism
    flags = [
        f"--mem-fraction-static {share_of_memory(server.memory):g}",
        f"--context-length {server.longest_tokens}",
        f"--max-running-requests {server.engine_sequences}",
    ]
    if degrees.tp * degrees.dp > 1:
        flags.append(f"--tp-size {degrees.tp * degrees.dp}")
    if degrees.pp > 1:
        flags.append(f"--pp-size {degrees.pp}")
    if degrees.ep > 1:
        flags.append(f"--ep-size {degrees.ep}")
    if degrees.dp > 1 and server.plan.engine.slug == "sglang-0.5":
        flags += ["--enable-dp-attention", f"--dp-size {degrees.dp}"]
    elif degrees.dp > 1:
        # From 0.5.23 --dp-size counts copies of the model; attention has a flag of its own.
        flags.append(f"--attn-dp-size {degrees.dp}")
    if server.plan.precision.kv_cache == "fp8":
        flags.append("--kv-cache-dtype fp8_e4m3")
    if holds_tables_on_host(server.memory):
        flags.append("--ple-offload-embedding")
    return flags


def _tensorrt(server: Server) -> list[str]:
    degrees, memory = server.plan.parallelism, server.memory
    flags = [
        f"--kv_cache_free_gpu_memory_fraction {share_of_memory(server.memory):g}",
        f"--max_seq_len {server.longest_tokens}",
        f"--max_batch_size {sequences_limit_of(memory)}",
        f"--max_num_tokens {batched_tokens_of(memory)}",
    ]
    if degrees.tp > 1:
        flags.append(f"--tp_size {degrees.tp}")
    if degrees.pp > 1:
        flags.append(f"--pp_size {degrees.pp}")
    if degrees.ep > 1:
        flags.append(f"--ep_size {degrees.ep}")
    return flags


def _llama_cpp(server: Server) -> list[str]:
    flags = [
        f"--ctx-size {server.longest_tokens * server.slots}",
        f"--parallel {server.slots}",
        "--n-gpu-layers 999",
    ]
    kv = server.plan.precision.kv_cache
    if kv not in ("bf16", "fp16"):
        flags += [f"--cache-type-k {kv}", f"--cache-type-v {kv}"]
    memory = server.plan.memory
    if memory.max_batched_tokens is not None:
        flags.append(f"--ubatch-size {memory.max_batched_tokens}")
    if memory.kv_unified:
        flags.append("--kv-unified")
    if memory.n_cpu_moe:
        flags.append(f"--n-cpu-moe {memory.n_cpu_moe}")
    if holds_tables_on_host(server.memory):
        flags.append("--override-tensor per_layer_token_embd=CPU")
    return flags


_FLAGS = {
    "vllm": _vllm,
    "sglang": _sglang,
    **dict.fromkeys(("tensorrt-llm", "trtllm", "nim"), _tensorrt),
    **dict.fromkeys(("llama.cpp", "llama_cpp"), _llama_cpp),
}
