"""Questions drawn at random from the shipped data files, and their answers without a database."""

import json
from random import Random

from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.estimates.endpoint import Asked
from estimator.validation import shipped

MODELS = ("llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-120b", "deepseek-r1")
GPUS = ("h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "a100-sxm4-80gb", "mi300x-192gb")
ENGINES = ("vllm-0.19", "vllm-0.11", "sglang-0.5", "tensorrt-llm-1", "llama.cpp", "ideal")
FEW_TOKENS = (0, 1, 1.5, 2, 3)


def answered(endpoint, body):
    """The answer to a body; None where the service refuses it."""
    asked = Asked(facts=shipped.facts(), explain=False)
    try:
        return endpoint.answer(endpoint.request.model_validate_json(json.dumps(body)), asked)
    except (ResolutionError, EngineError):
        return None


def drawn(random: Random, modes) -> dict:
    """A plan and its load."""
    tp = random.choice((1, 2, 4, 8))
    parallelism = random.choice(({"tp": tp}, {"tp": tp, "ep": tp}, {"tp": 1, "dp": tp}, {"tp": tp, "pp": 2}))
    body = {
        "model": random.choice(MODELS),
        "gpu": random.choice(GPUS),
        "engine": random.choice(ENGINES),
        "parallelism": parallelism,
        "precision": {"kv_cache": "bf16"} | random.choice(({}, {"weights": "fp8"}, {"weights": "int4"})),
        "workload": load_of(random, random.choice(modes)),
    }
    return body if body["engine"] == "llama.cpp" else body | {"memory": {"utilization": 0.9}}


def load_of(random: Random, mode: str) -> dict:
    """A load with lengths from a token to tens of thousands."""
    load = {
        "mode": mode,
        "input_tokens": int(10 ** random.uniform(0, 4.5)),
        "output_tokens": random.choice((*FEW_TOKENS, *(int(10 ** random.uniform(0, 3.5)) for _ in FEW_TOKENS))),
    }
    if mode == "open_loop":
        load["requests_per_s"] = 10 ** random.uniform(-4, 2)
    elif mode != "single_stream":
        load["concurrency"] = int(10 ** random.uniform(0, 3.3))
    if mode in ("closed_loop", "open_loop") and random.random() < 0.5:
        load["traffic"] = _traffic(random, mode)
    return load


def _traffic(random: Random, mode: str) -> dict:
    traffic = {"ttft_at": random.choice(("client", "admission", "forward")), "client_s": random.choice((0, 0.015))}
    if traffic["ttft_at"] != "forward":
        traffic["statistic"] = random.choice(("mean", "p50", "p99"))
    if mode == "closed_loop" and random.random() < 0.6:
        traffic |= {"kind": "benchmark", "random_range_ratio": random.choice((0, 0.8, 1))}
    return traffic
