"""Rows of published measurements as questions to the peers, in each peer's own names."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from catalog import data_files
from estimator.validation.rows import Measurement, Metric

METRICS = (Metric.TPOT, Metric.TTFT, Metric.OFFLINE)
_HUB = {
    "deepseek-r1": "deepseek-ai/DeepSeek-R1",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3",
    "glm-5": "zai-org/GLM-5-FP8",
    "gpt-oss-120b": "openai/gpt-oss-120b",
    "gpt-oss-20b": "openai/gpt-oss-20b",
    "kimi-k2.5": "moonshotai/Kimi-K2.5",
    "llama-3.1-405b": "meta-llama/Meta-Llama-3.1-405B",
    "llama-3.1-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.1-70b-instruct": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.1-8b": "meta-llama/Meta-Llama-3.1-8B",
    "llama-3.1-8b-instruct": "meta-llama/Meta-Llama-3.1-8B",
    "minimax-m2.5": "MiniMaxAI/MiniMax-M2.5",
    "mixtral-8x7b-v0.1": "mistralai/Mixtral-8x7B-v0.1",
    "qwen3-235b-a22b": "Qwen/Qwen3-235B-A22B",
    "qwen3-235b-a22b-fp8": "Qwen/Qwen3-235B-A22B-FP8",
    "qwen3.5-397b-a17b": "Qwen/Qwen3.5-397B-A17B",
}
_SYSTEMS = {
    "a100-sxm4-80gb": "a100_sxm",
    "b200-sxm-180gb": "b200_sxm",
    "gb200": "gb200",
    "h100-sxm5-80gb": "h100_sxm",
    "h200-sxm-141gb": "h200_sxm",
}
_CARDS = {"a100-sxm4-80gb": "A100 80GB", "h100-sxm5-80gb": "H100 80GB", "h200-sxm-141gb": "H200"}
_GENZ_70B = "meta-llama/meta-llama-3.1-70b"
_GENZ = {"llama-2-7b": "llama2_7b", "llama-3-8b": "llama3_8b", "llama-3.1-8b": "llama3_8b", "llama-3-70b": _GENZ_70B}
_GENZ |= {"llama-3.1-8b-instruct": "llama3_8b", "llama-3.1-70b": _GENZ_70B, "llama-3.1-70b-instruct": _GENZ_70B}
_GENZ_CARDS = {"a100-sxm4-80gb": "A100_80GB_GPU", "h100-sxm5-80gb": "H100_GPU"}
_BACKENDS = {"sglang": "sglang", "vllm": "vllm", "tensorrt-llm": "trtllm", "trtllm-bench": "trtllm"}
# What a name at the hub says of its weights; formats of a row beside it are asked for by name.
_STORED = {
    "deepseek-r1": "fp8",
    "deepseek-v3": "fp8",
    "glm-5": "fp8",
    "minimax-m2.5": "fp8",
    "qwen3-235b-a22b-fp8": "fp8",
}


def questions_of(rows: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Questions in the order in which tables of one GPU and engine are read once."""
    found = []
    for row in sorted(rows, key=lambda row: (row.gpu, row.engine, row.id)):
        asked: dict[str, Any] = {"row": row.id, "concurrency": _flights(row)}
        if (one := _aiconfigurator(row)) is not None:
            asked["aiconfigurator"] = one
        if (two := _servcalc(row)) is not None:
            asked["servcalc"] = two
        if (three := _genz(row)) is not None:
            asked["genz"] = three
        if len(asked) > 2:
            found.append(asked)
    return found


def _flights(row: Measurement) -> float | None:
    return None if row.metric is Metric.OFFLINE else row.concurrency


def _aiconfigurator(row: Measurement) -> dict[str, Any] | None:
    backend = next((name for engine, name in _BACKENDS.items() if row.engine.startswith(engine)), None)
    if row.model not in _HUB or row.gpu not in _SYSTEMS or backend is None or row.engine.startswith("vllm-v0"):
        return None
    split = row.parallelism
    asked: dict[str, Any] = {
        "model_path": _HUB[row.model],
        "system_name": _SYSTEMS[row.gpu],
        "backend_name": backend,
        "isl": round(row.input_tokens),
        "osl": round(row.output_tokens),
        "tp_size": split.tp,
        "pp_size": split.pp,
        "attention_dp_size": split.dp,
        "kvcache_quant_mode": "fp8" if row.precision.kv_cache.startswith("fp8") else "bfloat16",
    }
    experts = row.precision.expert_weights
    if experts is not None:
        asked |= {"moe_ep_size": split.ep, "moe_tp_size": max(split.tp * split.dp // split.ep, 1)}
    weights = row.precision.weights
    if weights != _STORED.get(row.model, "bf16") and weights in ("fp8", "nvfp4"):
        asked["gemm_quant_mode"] = weights
    if experts is not None and experts != _STORED.get(row.model, "bf16") and experts in ("fp8", "nvfp4"):
        asked["moe_quant_mode"] = experts
    return asked


def _servcalc(row: Measurement) -> dict[str, Any] | None:
    """One GPU, a dense model in the format of its checkpoint, by vLLM."""
    alone = row.parallelism.gpus == 1 and row.engine.startswith("vllm") and row.precision.weights == "bf16"
    if not alone or row.gpu not in _CARDS or row.precision.expert_weights or row.output_tokens < 2:
        return None
    config = _configs().get(row.model)
    if config is None:
        return None
    lengths = {"input_tokens": round(row.input_tokens), "output_tokens": round(row.output_tokens)}
    return {"model": config, "gpu": _CARDS[row.gpu], **lengths}


@cache
def _configs() -> dict[str, Any]:
    """The config.json of each model of the catalog."""
    return {record.slug: record.values.get("config") for record in data_files.language_models().records}


def _genz(row: Measurement) -> dict[str, Any] | None:
    """A dense model of its list in 16 bits; it says times, no maximum."""
    name, card = _GENZ.get(row.model), _GENZ_CARDS.get(row.gpu)
    if name is None or card is None or row.metric is Metric.OFFLINE or row.precision.weights != "bf16":
        return None
    split = row.parallelism
    lengths = {"input_tokens": round(row.input_tokens), "output_tokens": round(row.output_tokens)}
    return {"model": name, "system_name": card, "tensor_parallel": split.tp, "pipeline_parallel": split.pp, **lengths}
