"""Reports of GuideLLM (JSON, and the YAML of some versions), 0.2 to 0.8; read 2026-11.

Its time_per_output_token_ms holds the first token: it is the end-to-end time over the tokens. Its
inter_token_latency_ms is what others call TPOT.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from receipts.reading.figures import loaded, run_of, statistics
from receipts.reading.receipt import Figure, Receipt, Run
from receipts.reading.source import Source

FORMAT = "guidellm"
_FIGURES = {
    "ttft_s": ("time_to_first_token_ms", 1e-3),
    "tpot_s": ("inter_token_latency_ms", 1e-3),
    "normalized_tpot_s": ("time_per_output_token_ms", 1e-3),
    "e2e_s": ("request_latency", 1.0),
    "requests_per_s": ("requests_per_second", 1.0),
    "output_tokens_per_s": ("output_tokens_per_second", 1.0),
    "input_tokens_per_s": ("prompt_tokens_per_second", 1.0),
    "total_tokens_per_s": ("tokens_per_second", 1.0),
}
_RATES = ("requests_per_s", "output_tokens_per_s", "input_tokens_per_s", "total_tokens_per_s")
_STREAMS = ("streams", "max_concurrency")


def is_guidellm(value: Mapping[str, Any]) -> bool:
    """Whether an object is a report of GuideLLM."""
    runs = value.get("benchmarks")
    if not isinstance(runs, list) or not runs or not isinstance(runs[0], Mapping):
        return False
    metrics = runs[0].get("metrics")
    return isinstance(metrics, Mapping) and any(name in metrics for name, _ in _FIGURES.values())


def read(value: Mapping[str, Any]) -> Receipt:
    """A report: a run for each benchmark.

    Raises:
        ReadError: a figure that is no number.
    """
    top = Source(value)
    metadata = top.below("metadata")
    version = metadata.text("guidellm_version") if metadata is not None else None
    runs, model, started = [], None, None
    for benchmark in top.every("benchmarks"):
        runs.append(_run(benchmark))
        model = model or _model(benchmark)
        scheduled = benchmark.below("scheduler_metrics", "run_stats")
        started = started or benchmark.number("start_time")
        started = started or (scheduled.number("start_time") if scheduled is not None else None)
    spec = top.below("args", "config")
    if spec is not None:
        inner = spec.below("spec") or spec
        backend = inner.below("backend")
        model = model or inner.text("model") or (backend.text("model") if backend is not None else None)
    number = metadata.text("version") if metadata is not None else None
    return Receipt(
        format=FORMAT,
        format_version=version or (f"report {number}" if number else "0.2"),
        model=model,
        date=datetime.fromtimestamp(started, UTC).date().isoformat() if started and 0 < started < 4e9 else None,
        runs=tuple(runs),
        not_read=tuple(top.unread()),
    )


def _run(benchmark: Source) -> Run:
    metrics = benchmark.below("metrics") or Source({})
    figures: list[Figure] = []
    for name, (spelled, scale) in _FIGURES.items():
        found = list(statistics(_done(metrics, spelled), name, scale))
        # Percentiles of a rate are of single moments: the mean alone is what the run did.
        figures += [one for one in found if name not in _RATES or one.statistic == "mean"]
    totals = metrics.below("request_totals") or _requests_made(benchmark)
    strategy = _strategy(benchmark)
    lengths = {name: _done(metrics, f"{name}_token_count") for name in ("prompt", "output")}
    reached = _done(metrics, "request_concurrency")
    nothing = (None, "")
    kind = strategy.text("type_", "type", "kind") if strategy is not None else None
    asked: tuple[float | None, str] = nothing
    if strategy is not None and kind in ("concurrent", "synchronous"):
        asked = (1.0, strategy.at("type_")) if kind == "synchronous" else loaded(strategy, *_STREAMS)
    rate = loaded(strategy, "rate") if strategy is not None and kind in ("constant", "poisson", "async") else nothing
    return run_of(
        {
            "input_tokens": _mean(lengths["prompt"]),
            "output_tokens": _mean(lengths["output"]),
            "total_input_tokens": _sum(lengths["prompt"]),
            "total_output_tokens": _sum(lengths["output"]),
            "concurrency_asked": asked,
            "concurrency_mean": _mean(reached),
            "requests_per_s_asked": rate,
            "requests": loaded(totals, "successful") if totals is not None else nothing,
            "failed": loaded(totals, "errored") if totals is not None else nothing,
            "duration_s": _duration(benchmark),
        },
        figures,
        benchmark.place,
    )


def _done(metrics: Source, name: str) -> Source | None:
    """A metric of the requests that were done; older versions hold it without that step."""
    found = metrics.below(name)
    if found is None:
        return None
    found.look("errored", "incomplete", "total")
    return found.below("successful") or found


def _requests_made(benchmark: Source) -> Source | None:
    for name in ("run_stats", "scheduler_metrics"):
        stats = benchmark.below(name)
        if stats is not None and stats.has("requests_made"):
            return stats.below("requests_made")
    return benchmark.below("request_totals")


def _strategy(benchmark: Source) -> Source | None:
    config = benchmark.below("config", "args")
    return config.below("strategy") if config is not None else None


def _model(benchmark: Source) -> str | None:
    worker = benchmark.below("worker")
    if worker is not None:
        return worker.text("backend_model")
    config = benchmark.below("config")
    backend = config.below("backend") if config is not None else None
    return backend.text("model") if backend is not None else None


def _duration(benchmark: Source) -> tuple[float | None, str]:
    found = loaded(benchmark, "duration")
    if found[0] is not None:
        return found
    measured = benchmark.below("scheduler_metrics")
    for place, ends in (
        (measured, ("measure_start_time", "measure_end_time")),
        (benchmark, ("start_time", "end_time")),
    ):
        if place is None:
            continue
        start, end = (place.number(name) for name in ends)
        if start is not None and end is not None:
            return end - start, place.at(ends[1])
    return found


def _mean(source: Source | None) -> tuple[float | None, str]:
    return loaded(source, "mean") if source is not None else (None, "")


def _sum(source: Source | None) -> tuple[float | None, str]:
    return loaded(source, "total_sum") if source is not None else (None, "")
