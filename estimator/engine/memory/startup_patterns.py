"""Lines that engines print of their memory at start: which figure each holds, and in which unit.

Sources: vLLM 0.6 to 0.33 (worker/gpu_worker.py, gpu_model_runner.py, v1/core/kv_cache_utils.py), SGLang 0.4 to 0.5.23
(model_executor, mem_cache/memory_pool.py), llama.cpp of 2024 to 2026 (llama-model.cpp, llama-context.cpp,
llama-kv-cache.cpp), TensorRT-LLM 0.9 to 1.2 (_torch/pyexecutor/_util.py, kvCacheManager.cpp); read 2026-11.
"""

import re
from dataclasses import dataclass

_NUMBER = r"(-?\d{1,15}(?:,\d{3}){0,5}(?:\.\d{1,12})?)"
_UNIT_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "MB": 2**20, "GiB": 2**30, "GB": 2**30}
"""Bytes of a printed unit: vLLM and SGLang write GB for GiB."""


@dataclass(frozen=True, slots=True)
class LinePattern:
    """A line of an engine: `needle` is in it, `regex` finds as many numbers as `figures` names, in their `units`."""

    engine: str
    needle: str
    regex: re.Pattern[str]
    figures: tuple[str, ...]
    units: tuple[str, ...]


def _line(engine: str, needle: str, pattern: str, *figures: str) -> LinePattern:
    """`figures` are written `name:unit`; without a unit a plain number."""
    names, units = zip(*(f"{figure}:1".split(":")[:2] for figure in figures), strict=True)
    return LinePattern(engine, needle, re.compile(pattern.replace("NUM", _NUMBER)), tuple(names), tuple(units))


def bytes_of(unit: str) -> int:
    """Bytes of a unit, 1 for plain numbers."""
    return _UNIT_BYTES.get(unit, 1)


PATTERNS = (
    _line("vllm", "Model loading took", r"Model loading took NUM Gi?B", "weights_bytes:GiB"),
    _line("vllm", "model weights took", r"oading model weights took NUM GB", "weights_bytes:GiB"),
    _line("vllm", "model weights take", r"model weights take NUM ?GiB", "weights_bytes:GiB"),
    _line("vllm", "total_gpu_memory", r"total_gpu_memory \(NUM ?GiB\)", "memory_bytes:GiB"),
    _line("vllm", "gpu_memory_utilization (", r"gpu_memory_utilization \(NUM\)", "utilization"),
    _line("vllm", "non_torch_memory takes", r"non_torch_memory takes NUM ?GiB", "runtime_overhead_bytes:GiB"),
    _line("vllm", "activation peak memory", r"activation peak memory takes NUM ?GiB", "activation_bytes:GiB"),
    _line("vllm", "torch peak memory increase", r"torch peak memory increase: NUM ?GiB", "activation_bytes:GiB"),
    _line(
        "vllm",
        "non-torch forward increase",
        r"non-torch forward increase memory: NUM ?GiB",
        "runtime_overhead_bytes:GiB",
    ),
    _line("vllm", "reserved for KV Cache", r"reserved for KV Cache is NUM ?GiB", "kv_cache_bytes:GiB"),
    _line("vllm", "Available KV cache memory", r"Available KV cache memory: NUM GiB", "kv_cache_bytes:GiB"),
    _line("vllm", "GPU KV cache size", r"GPU KV cache size: NUM tokens", "kv_cache_tokens"),
    _line(
        "vllm",
        "Maximum concurrency for",
        r"Maximum concurrency for NUM tokens per request: NUMx",
        "max_model_len",
        "concurrency",
    ),
    _line("vllm", "GPU blocks:", r"# (?:GPU|cuda) blocks: NUM", "blocks"),
    _line("vllm", "cuda blocks:", r"# cuda blocks: NUM", "blocks"),
    _line("vllm", "attention block size to", r"attention block size to NUM tokens", "block_tokens"),
    _line("vllm", "Estimated CUDA graph memory", r"Estimated CUDA graph memory: NUM GiB", "cuda_graph_bytes:GiB"),
    _line(
        "vllm",
        "Graph capturing finished",
        r"Graph capturing finished in [\d.]{1,9} secs?, took NUM GiB",
        "captured_graph_bytes:GiB",
    ),
    _line("vllm", "max_num_batched_tokens=", r"max_num_batched_tokens=NUM", "max_batched_tokens"),
    _line("vllm", "max_seq_len=", r"max_seq_len=NUM", "max_model_len"),
    _line("vllm", "tensor_parallel_size=", r"tensor_parallel_size=NUM", "tp"),
    _line("vllm", "pipeline_parallel_size=", r"pipeline_parallel_size=NUM", "pp"),
    _line("vllm", "max seq len (", r"max seq len \(NUM\), \(NUM GiB", "max_model_len", "request_bytes:GiB"),
    _line("vllm", "available KV cache memory (", r"available KV cache memory \(NUM GiB\)", "kv_cache_bytes:GiB"),
    _line("vllm", "estimated maximum model length", r"estimated maximum model length is NUM", "longest_tokens"),
    _line("vllm", "available Mamba cache blocks", r"available Mamba cache blocks \(NUM\)", "blocks"),
    _line("sglang", "Load weight end", r"mem usage=NUM GB", "weights_bytes:GB"),
    _line(
        "sglang",
        "KV Cache is allocated",
        r"#tokens: NUM,? {0,4}K size: NUM GB,? {0,4}V size: NUM GB",
        "kv_cache_tokens",
        "cache_part_bytes:GB",
        "cache_part_bytes:GB",
    ),
    _line(
        "sglang",
        "KV Cache is allocated",
        r"#tokens: NUM,? {0,4}KV size: NUM GB",
        "kv_cache_tokens",
        "cache_part_bytes:GB",
    ),
    _line(
        "sglang",
        "Mamba Cache is allocated",
        r"conv_state size: NUM ?GB, {0,4}ssm_state size: NUM ?GB",
        "cache_part_bytes:GB",
        "cache_part_bytes:GB",
    ),
    _line(
        "sglang", "intermediate_ssm_state_cache", r"intermediate_ssm_state_cache size: NUM ?GB", "cache_part_bytes:GB"
    ),
    _line("sglang", "max_total_num_tokens=", r"max_total_num_tokens=NUM", "kv_cache_tokens"),
    _line("sglang", "max_running_requests=", r"max_running_requests=NUM", "max_num_seqs"),
    _line("sglang", "context_len=", r"context_len=NUM", "max_model_len"),
    _line("sglang", "graph end", r"[Cc]uda graph end.{0,200}mem usage=NUM GB", "captured_graph_bytes:GB"),
    _line("sglang", "mem_fraction_static=", r"mem_fraction_static=NUM", "utilization"),
    _line("sglang", "tp_size=", r"[ (]tp_size=NUM", "tp"),
    _line("tensorrt-llm", "Loaded engine size", r"Loaded engine size: NUM MiB", "weights_bytes:MiB"),
    _line("tensorrt-llm", "after loading model weights (inside torch)", r"profiling: NUM GiB", "weights_bytes:GiB"),
    _line(
        "tensorrt-llm", "Memory dynamically allocated during inference", r"profiling: NUM GiB", "activation_bytes:GiB"
    ),
    _line(
        "tensorrt-llm",
        "available KV cache memory when",
        r"calculating max tokens: NUM GiB, fraction is set NUM",
        "kv_cache_bytes:GiB",
        "utilization",
    ),
    _line("tensorrt-llm", "kv size", r"kv size (?:per token )?is NUM", "cache_token_bytes"),
    _line("tensorrt-llm", "device total memory", r"device total memory NUM GiB", "memory_bytes:GiB"),
    _line(
        "tensorrt-llm",
        "paged KV cache (",
        r"Allocated NUM GiB for max tokens in paged KV cache \(NUM\)",
        "kv_cache_bytes:GiB",
        "kv_cache_tokens",
    ),
    _line("tensorrt-llm", "tokens in paged KV cache", r"Using NUM tokens in paged KV cache", "kv_cache_tokens"),
    _line("tensorrt-llm", "bytes for k/v cache", r"Allocate NUM bytes for k/v cache", "kv_cache_bytes"),
    _line("tensorrt-llm", "tokens per block", r"[Nn]umber of tokens per block: NUM", "block_tokens"),
    _line("tensorrt-llm", "primary", r"primary blocks=NUM", "blocks"),
    _line("tensorrt-llm", "KV cache primary pool", r"KV cache primary pool: NUM", "blocks"),
    _line("llama.cpp", "n_ctx ", r"n_ctx {1,20}= NUM", "context_tokens"),
    _line("llama.cpp", "n_seq_max", r"n_seq_max {1,20}= NUM", "max_num_seqs"),
    _line("llama.cpp", "n_ubatch", r"n_ubatch {1,20}= NUM", "max_batched_tokens"),
)

PRINTED_SETTINGS = ("utilization", "max_model_len", "max_num_seqs", "max_batched_tokens", "tp", "pp", "context_tokens")
"""Figures that repeat a setting: 0 and -1 stand for none there."""
MAY_BE_NEGATIVE = (
    "kv_cache_bytes",
    "cuda_graph_bytes",
    "captured_graph_bytes",
    "activation_bytes",
    "runtime_overhead_bytes",
)
"""Differences of what was free: vLLM prints a cache of -2.14 GiB where weights do not fit, graphs of -0.81 GiB."""
FRACTIONS = ("utilization", "concurrency")
MOST = 2**60
"""More bytes or tokens than any server has."""

BUFFER = re.compile(r"([\w.+-]{1,40}) {1,20}(model|KV|RS|compute) buffer size = {1,12}" + _NUMBER + r" MiB")
"""A buffer of llama.cpp: device, kind, MiB."""
BUFFER_FIGURES = {
    "model": "weights_bytes", "KV": "kv_cache_bytes", "RS": "kv_cache_bytes", "compute": "activation_bytes",
}  # fmt: skip
HOST_BUFFERS = re.compile(r"(?:CPU|_Host$|^Host$)")
VERSIONS = {
    "vllm": re.compile(
        r"vLLM (?:API server version|version)[: ]{1,2}v?(\d{1,3}(?:\.\d{1,4}){1,3})"
        r"|LLM engine \(v(\d{1,3}(?:\.\d{1,4}){1,3})"
    ),
    "tensorrt-llm": re.compile(r"TensorRT-LLM version: v?(\d{1,3}(?:\.\d{1,4}){1,3})"),
}
OTHER_ENGINES = {
    "text-generation-launcher": "Text Generation Inference",
    "text_generation_router": "Text Generation Inference",
    "lmdeploy": "LMDeploy",
    "mlc_llm": "MLC LLM",
    "exllama": "ExLlama",
    "[onnxruntime": "ONNX Runtime",
    "deepspeed": "DeepSpeed",
}
"""What a log of an engine holds whose lines are not read."""
