"""Results of `vllm bench serve` (JSON) and of SGLang's `bench_serving` (JSON lines): one tool became two.

Sources: vLLM 0.5 to 0.25 (benchmarks/benchmark_serving.py, vllm/benchmarks/serve.py), SGLang 0.3 to 0.5
(bench_serving.py); read 2026-11.
"""

import math
from collections.abc import Mapping
from typing import Any

from receipts.reading.figures import figure, loaded, mean_of, run_of
from receipts.reading.receipt import Degrees, Figure, Receipt, Run
from receipts.reading.source import Source, number_of, settings_of, text_of, whole_of

VLLM, SGLANG = "vllm-bench-serve", "sglang-bench-serving"
_TIMES = {
    "ttft_s": ("ttft",), "tpot_s": ("tpot",), "itl_s": ("itl",), "e2e_s": ("e2el", "e2e_latency", "latency"),
}  # fmt: skip
_STATISTICS = ("mean", "median", "p50", "p75", "p90", "p95", "p99")
_RATES = {
    "requests_per_s": ("request_throughput",),
    "output_tokens_per_s": ("output_throughput",),
    "input_tokens_per_s": ("input_throughput",),
    "total_tokens_per_s": ("total_token_throughput", "total_throughput"),
    "accepted_tokens": ("accept_length",),
}
_ENGINES = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "tensorrt-llm", "trt": "tensorrt-llm"}

# Settings of the server that a sweep writes beside the result, and those that SGLang's server tells.
_SETTINGS = ("max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "max_model_len", "burstiness")
_SERVER_SETTINGS = (
    "mem_fraction_static", "chunked_prefill_size", "max_running_requests", "max_total_tokens", "schedule_policy",
    "attention_backend", "disable_radix_cache", "enable_dp_attention", "cuda_graph_max_bs", "page_size",
)  # fmt: skip


def is_vllm(value: Mapping[str, Any]) -> bool:
    """Whether an object is a result of vLLM's tool."""
    return "model_id" in value and _has_results(value)


def is_sglang(value: Mapping[str, Any]) -> bool:
    """Whether an object is a result of SGLang's tool, which never wrote model_id."""
    own = ("total_output_tokens_retokenized", "random_input_len", "dataset_name", "server_info", "sharegpt_output_len")
    return "model_id" not in value and any(name in value for name in own) and _has_results(value)


def _has_results(value: Mapping[str, Any]) -> bool:
    timed = any(f"{one}_ttft_ms" in value for one in ("mean", "median", "p99"))
    return "completed" in value and (timed or "output_throughput" in value)


def read_vllm(values: list[tuple[Mapping[str, Any], str]]) -> Receipt:
    """Results of vLLM's tool: one object, or several of one model.

    Raises:
        ReadError: a figure that is no number.
    """
    sources = [Source(value, place) for value, place in values]
    first = sources[0]
    runs = tuple(_run(source) for source in sources)
    model = first.text("model_id")
    for source in sources:
        source.look("model_id", "tokenizer_id", "date", "backend", "endpoint_type", "label", "run_number")
    backend = str(first.text("backend") or "")
    return Receipt(
        format=VLLM,
        format_version=_vllm_version(first),
        # The client's backend names a protocol: "vllm" and "openai" are sent to any server.
        engine=None if backend not in ("sglang", "tensorrt-llm") else _ENGINES[backend],
        model=model,
        degrees=Degrees(tp=whole_of(first.get("tensor_parallel_size", "tp"))),
        date=_date(first.text("date")),
        settings=settings_of(first.values, _SETTINGS),
        runs=runs,
        not_read=_unread(sources),
    )


def read_sglang(values: list[tuple[Mapping[str, Any], str]]) -> Receipt:
    """Results of SGLang's tool, a line each; `server_info` of newer versions names model, version and degrees.

    Raises:
        ReadError: a figure that is no number.
    """
    sources = [Source(value, place) for value, place in values]
    runs = tuple(_run(source) for source in sources)
    server = sources[0].below("server_info")
    for source in sources:
        source.look("backend", "tag", "server_info")
    info = server.values if server is not None else {}
    backend = str(sources[0].text("backend") or "")
    return Receipt(
        format=SGLANG,
        format_version="server_info" if info else "retokenized",
        engine="sglang" if backend.startswith("sglang") else _ENGINES.get(backend.split("-")[0]),
        engine_version=text_of(info.get("version")),
        model=text_of(info.get("served_model_name")) or text_of(info.get("model_path")),
        degrees=Degrees(**{name: whole_of(info.get(f"{name}_size")) for name in ("tp", "pp", "ep", "dp")}),
        weights=text_of(info.get("quantization")),
        kv_cache=text_of(info.get("kv_cache_dtype")),
        settings=settings_of(info, _SERVER_SETTINGS),
        runs=runs,
        not_read=_unread(sources),
    )


def _run(source: Source) -> Run:
    figures: list[Figure] = []
    for name, stems in _TIMES.items():
        for statistic in _STATISTICS:
            spelled = tuple(f"{statistic}_{stem}_ms" for stem in stems)
            said = "median" if statistic == "p50" else statistic
            if any(one.name == name and one.statistic == said for one in figures):
                source.look(*spelled)
                continue
            figures += figure(source, name, said, *spelled, scale=1e-3)
        source.look(*(f"std_{stem}_ms" for stem in stems))
    for name, spelled in _RATES.items():
        figures += figure(source, name, "mean", *spelled)
    completed = loaded(source, "completed", "successful_requests")
    totals = {way: loaded(source, f"total_{way}_tokens", f"total_{way}") for way in ("input", "output")}
    failed = loaded(source, "failed")
    rate = source.get("request_rate")
    return run_of(
        {
            "input_tokens": mean_of(totals["input"], completed),
            "output_tokens": mean_of(totals["output"], completed),
            "input_tokens_asked": loaded(source, "random_input_len", "input_len") if _exact(source) else (None, ""),
            "output_tokens_asked": loaded(source, "random_output_len", "output_len") if _exact(source) else (None, ""),
            "total_input_tokens": totals["input"],
            "total_output_tokens": totals["output"],
            "concurrency_asked": loaded(source, "max_concurrency"),
            "concurrency_mean": loaded(source, "concurrency"),
            "requests_per_s_asked": (_rate(rate), source.at("request_rate")),
            "requests_asked": loaded(source, "num_prompts", "num_requests"),
            "requests": completed,
            "failed": failed,
            "duration_s": loaded(source, "duration", "benchmark_duration"),
        },
        figures,
        source.place,
    )


def _exact(source: Source) -> bool:
    """Whether every request was asked to have the stated lengths: random data without a range of lengths."""
    source.look("random_range_ratio", "dataset_name")
    ratio = number_of(source.values.get("random_range_ratio"))
    name = source.values.get("dataset_name")
    return ratio == 1.0 and (name is None or str(name).startswith("random"))


def _rate(value: Any) -> float | None:
    """Requests per second that were asked for; None for inf, which sends all at once."""
    found = number_of(value)
    return found if found is not None and math.isfinite(found) else None


def _vllm_version(source: Source) -> str:
    """Which of vLLM's forms a result has: they carry no number of their own."""
    if source.has("total_token_throughput") and "failed" in source.values:
        return "0.11"
    if "endpoint_type" in source.values or "max_concurrency" in source.values:
        return "0.7"
    return "0.6"


def _date(text: str | None) -> str | None:
    """The day of 20260818-021333, ISO 8601."""
    digits = (text or "").split("-")[0]
    if len(digits) != 8 or not digits.isdigit():
        return None
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


def _unread(sources: list[Source]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place for source in sources for place in source.unread()))
