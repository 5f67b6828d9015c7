"""Reports of trtllm-bench 0.12 to 1.2: the JSON of --report_json and the text it prints; read 2026-11."""

import re
from collections.abc import Mapping
from typing import Any

from receipts.reading.figures import UNITS, figure, loaded, run_of, statistics
from receipts.reading.receipt import Degrees, Figure, ReadError, Receipt, Run
from receipts.reading.source import Source, number_of, settings_of, text_of, whole_of

FORMAT = "trtllm-bench"
_NUMBER = r"[ \t]*(-?[\d.,]{1,30}(?:[eE][+-]?\d{1,3})?)[ \t]*(?:\r?$)"
_TEXTS = {
    "model": "Model", "version": r"TensorRT[ -]LLM Version", "quantization": "Quantization",
    "kv_cache_dtype": "KV Cache Dtype", "dtype": "Dtype", "scheduling_policy": "Scheduling Policy",
    "tp_size": "TP Size", "pp_size": "PP Size", "ep_size": "EP Size", "max_batch_size": "Max Runtime Batch Size",
    "max_num_tokens": "Max Runtime Tokens", "kv_cache_percentage": "KV Memory Percentage",
    "max_sequence_length": "Max Sequence Length",
}  # fmt: skip
_COUNTS = {
    "num_requests": r"Number of requests", "avg_num_concurrent_requests": r"Number of concurrent requests",
    "avg_input_length": r"Average Input Length \(tokens\)", "avg_output_length": r"Average Output Length \(tokens\)",
    "total_latency_ms": r"Total Latency \(ms\)", "request_throughput_req_s": r"Request Throughput \(req/sec\)",
    "system_output_throughput_tok_s": r"(?:Total Output Throughput|(?<!Total )Token Throughput) \(tokens/sec\)",
    "system_total_throughput_tok_s": r"Total Token Throughput \(tokens/sec\)",
    "avg_request_latency_ms": r"Average request latency \(ms\)",
    "output_throughput_per_user_tok_s": r"Per User Output Throughput \[w/ ctx\] \(tps/user\)",
    "output_throughput_per_gpu_tok_s": r"Per GPU Output Throughput \(tps/gpu\)",
    "avg_ttft_ms": r"Average time-to-first-token \[TTFT\] \(ms\)",
    "avg_tpot_ms": r"Average time-per-output-token \[TPOT\] \(ms\)",
}  # fmt: skip
_PERCENTILES = {"Latency": "request_latency_percentiles_ms", "TPOT": "tpot_percentiles", "TTFT": "ttft_percentiles"}

_SETTINGS = ("max_batch_size", "max_num_tokens", "kv_cache_percentage", "scheduling_policy")


def is_report(value: Mapping[str, Any]) -> bool:
    """Whether an object is a JSON report."""
    performance, engine = value.get("performance"), value.get("engine")
    return isinstance(performance, Mapping) and isinstance(engine, Mapping) and "request_info" in value


def is_text(text: str) -> bool:
    """Whether a text holds the report that the tool prints."""
    return "= PERFORMANCE OVERVIEW" in text and ("WORLD + RUNTIME" in text or "Throughput (" in text)


def read_text(text: str) -> Receipt:
    """The printed report, read as the JSON of the same names."""
    start = max(text.rfind("= ENGINE DETAILS"), text.rfind("= PYTORCH BACKEND"), text.rfind("= _AUTODEPLOY BACKEND"))
    part = text[max(start, 0) :][:40_000]
    words = {name: _after(part, spelled) for name, spelled in _TEXTS.items()}
    counts = {name: _count(part, spelled) for name, spelled in _COUNTS.items()}
    if counts["num_requests"] is None:
        raise ReadError("names no number of requests", "Number of requests", "missing")
    tables: dict[str, dict[str, str]] = {}
    for kind, statistic, value in re.findall(r"\[(Latency|TPOT|TTFT)\] (\w{3,7})[ \t]{0,20}:[ \t]{0,40}([\d.]+)", part):
        tables.setdefault(_PERCENTILES[kind], {})[statistic.lower()] = value
    streaming = {name: counts.pop(name) for name in ("avg_ttft_ms", "avg_tpot_ms")}
    latency = tables.pop("request_latency_percentiles_ms", None)
    percent = (words["kv_cache_percentage"] or "").rstrip("%")
    share = number_of(percent)
    world = {name: words[name] for name in ("tp_size", "pp_size", "ep_size", "max_batch_size", "max_num_tokens")}
    value = {
        "engine": {name: words[name] for name in ("model", "version", "quantization", "kv_cache_dtype", "dtype")},
        "world_info": {**world, "scheduling_policy": words["scheduling_policy"],
                       "kv_cache_percentage": share / 100.0 if share is not None else None},
        "request_info": {name: counts.pop(name) for name in _OF_REQUESTS},
        "performance": {**counts, "request_latency_percentiles_ms": latency},
        "streaming_metrics": {**streaming, **tables},
    }  # fmt: skip
    return _read(value, "text")


_OF_REQUESTS = ("num_requests", "avg_num_concurrent_requests", "avg_input_length", "avg_output_length")


def read(value: Mapping[str, Any]) -> Receipt:
    """A JSON report: one run.

    Raises:
        ReadError: a figure that is no number.
    """
    return _read(value, "json")


def _read(value: Mapping[str, Any], form: str) -> Receipt:
    top = Source(value)
    engine, world = top.below("engine") or Source({}), top.below("world_info") or Source({})
    machine = top.below("machine") or Source({})
    degrees = {name: whole_of(world.get(f"{name}_size")) for name in ("tp", "pp", "ep")}
    engine.look("model_path", "engine_dir", "backend", "dtype", "max_input_length", "max_sequence_length")
    top.look("dataset")
    world.look("issue_rate", "world_size", *_SETTINGS)
    return Receipt(
        format=FORMAT,
        format_version=form,
        engine="tensorrt-llm",
        engine_version=engine.text("version"),
        model=engine.text("model"),
        gpu=machine.text("name"),
        gpus=whole_of(world.get("world_size")) or (degrees["tp"] or 1) * (degrees["pp"] or 1),
        degrees=Degrees(**degrees),
        weights=_format(engine.text("quantization")),
        kv_cache=_format(engine.text("kv_cache_dtype")),
        settings=settings_of(world.values, _SETTINGS),
        runs=(_run(top),),
        not_read=tuple(top.unread()),
    )


def _run(top: Source) -> Run:
    performance, requests = top.below("performance") or Source({}), top.below("request_info") or Source({})
    streaming = top.below("streaming_metrics") or Source({})
    figures: list[Figure] = []
    names = {
        "requests_per_s": "request_throughput_req_s",
        "output_tokens_per_s": "system_output_throughput_tok_s",
        "total_tokens_per_s": "system_total_throughput_tok_s",
        "tokens_per_s_per_gpu": "output_throughput_per_gpu_tok_s",
    }
    for name, spelled in names.items():
        figures += figure(performance, name, "mean", spelled)
    figures += figure(performance, "e2e_s", "mean", "avg_request_latency_ms", scale=1e-3)
    figures += figure(streaming, "ttft_s", "mean", "avg_ttft_ms", scale=1e-3)
    figures += figure(streaming, "tpot_s", "mean", "avg_tpot_ms", scale=1e-3)
    tables = {
        "e2e_s": performance.below("request_latency_percentiles_ms"),
        "ttft_s": streaming.below("ttft_percentiles"),
        "tpot_s": streaming.below("tpot_percentiles"),
    }
    for name, table in tables.items():
        figures += [one for one in statistics(table, name, 1e-3) if one.statistic != "mean" and UNITS[name] == "s"]
    return run_of(
        {
            "input_tokens": loaded(requests, "avg_input_length"),
            "output_tokens": loaded(requests, "avg_output_length"),
            "concurrency_mean": loaded(requests, "avg_num_concurrent_requests"),
            "requests": loaded(requests, "num_requests"),
            "duration_s": loaded(performance, "total_latency_ms", scale=1e-3),
        },
        figures,
    )


def _after(text: str, spelled: str) -> str | None:
    found = re.search(rf"^[ \t]*{spelled}:[ \t]*(.{{1,200}}?)[ \t]*\r?$", text, re.MULTILINE)
    value = text_of(found.group(1)) if found else None
    return None if value in ("None", "N/A", "") else value


def _count(text: str, spelled: str) -> str | None:
    found = re.search(rf"^[ \t]*{spelled}:{_NUMBER}", text, re.MULTILINE)
    return found.group(1).replace(",", "") if found else None


def _format(text: str | None) -> str | None:
    return text.lower() if text and text.lower() not in ("none", "auto") else None
