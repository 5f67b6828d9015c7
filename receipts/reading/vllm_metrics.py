"""A scrape of vLLM's /metrics, versions 0.4 to 0.25 (Prometheus text); read 2026-11.

A scrape counts since the server started: means are sums over counts, percentiles lie inside a bucket of the histogram.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from receipts.reading.figures import UNITS, run_of
from receipts.reading.receipt import Figure, ReadError, Receipt, Run, Scalar
from receipts.reading.source import number_of, setting_of, text_of

FORMAT = "vllm-metrics"
_LINE = re.compile(r"vllm[:_](\w{2,80})(?:\{([^}]{0,2000})\})? ([-+\w.]{1,40})(?: \d{1,16})?\s*\Z")
_LABEL = re.compile(r'(\w{1,60})="((?:[^"\\]|\\.){0,300})"')
_HISTOGRAMS = {
    "time_to_first_token_seconds": "ttft_s",
    "request_time_per_output_token_seconds": "tpot_s",
    "inter_token_latency_seconds": "itl_s",
    "time_per_output_token_seconds": "itl_s",
    "e2e_request_latency_seconds": "e2e_s",
    "request_queue_time_seconds": "queue_s",
    "request_prefill_time_seconds": "prefill_s",
    "request_decode_time_seconds": "decode_s",
}
_PERCENTILES = {"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_GAUGES = {"cache_share": ("kv_cache_usage_perc", "gpu_cache_usage_perc")}
_LOOKED = ("_created", "_info", "_bucket", "_sum", "_count")

Samples = dict[str, list[tuple[dict[str, str], float, int]]]


def is_scrape(text: str) -> bool:
    """Whether a text is a scrape of vLLM."""
    return re.search(r"^vllm[:_]\w{2,80}(?:\{| )", text, re.MULTILINE) is not None


def read(text: str) -> Receipt:
    """A scrape: a run for each model.

    Raises:
        ReadError: a value that is no number, or a counter below zero.
    """
    samples = _samples(text)
    models = sorted({labels["model_name"] for entries in samples.values() for labels, _, _ in entries
                     if "model_name" in labels})  # fmt: skip
    names: list[str | None] = [*models] if models else [None]
    runs, used = [], set()
    for name in names:
        run, read_names = _run(samples, name)
        runs.append(run)
        used |= read_names
    cache = next(iter(samples.get("cache_config_info", ())), ({}, 0.0, 0))[0]
    return Receipt(
        format=FORMAT,
        format_version="v1" if "kv_cache_usage_perc" in samples or _has_label(samples, "engine") else "v0",
        engine="vllm",
        model=text_of(names[0]) if len(names) == 1 and names[0] else None,
        kv_cache=_cache_format(cache),
        settings=_settings(cache),
        runs=tuple(runs),
        not_read=tuple(sorted({f"vllm:{name}" for name in samples if _stem(name) not in used}))[:100],
    )


def _samples(text: str) -> Samples:
    found: Samples = defaultdict(list)
    for number, line in enumerate(text.splitlines()[:20_000], 1):
        if not line.startswith(("vllm:", "vllm_")):
            continue
        match = _LINE.match(line)
        if match is None:
            raise ReadError("is no line of a scrape", f"line {number}", "not_a_sample")
        name, labels, value = match.groups()
        parsed = number_of(value)
        if parsed is None and value.strip("+").lower() not in ("inf", "nan"):
            raise ReadError("is not a number", f"line {number}", "not_a_number")
        if parsed is None:
            continue
        if parsed < 0.0:
            raise ReadError("is below zero, which no counter of a scrape is", f"line {number}", "negative")
        found[name].append((dict(_LABEL.findall(labels or "")), parsed, number))
    return found


def _run(samples: Samples, model: str | None) -> tuple[Run, set[str]]:
    figures: list[Figure] = []
    used: set[str] = {"cache_config_info"}
    for name, figure in _HISTOGRAMS.items():
        used.add(name)
        if any(one.name == figure for one in figures):
            continue
        figures += _histogram(samples, name, figure, model)
    for figure, names in _GAUGES.items():
        for name in names:
            used.add(name)
            values = [value for _, value, _ in _of(samples, name, model)]
            if values:
                mean = sum(values) / len(values)
                figures.append(Figure(name=figure, statistic="value", value=mean, unit="1", field=f"vllm:{name}"))
    hits, asked = (_total(samples, f"prefix_cache_{name}", model) for name in ("hits", "queries"))
    used |= {"prefix_cache_hits", "prefix_cache_queries"}
    if hits[0] is not None and asked[0]:
        figures.append(
            Figure(name="prefix_hit_share", statistic="mean", value=hits[0] / asked[0], unit="1", field=hits[1])
        )
    evicted = _total(samples, "num_preemptions", model)
    if evicted[0] is not None:
        figures.append(Figure(name="preemptions", statistic="value", value=evicted[0], unit="1", field=evicted[1]))
    used |= {"num_preemptions", "num_requests_running", "num_requests_waiting", "prompt_tokens", "generation_tokens"}
    used |= {"request_success", "request_prompt_tokens", "request_generation_tokens"}
    load = _load(samples, model)
    return run_of(load, figures, f'model_name="{model}"' if model else ""), used


def _load(samples: Samples, model: str | None) -> dict[str, tuple[float | None, str]]:
    done = _total(samples, "request_success", model)
    ended = [
        (labels.get("finished_reason"), value) for labels, value, _ in _of(samples, "request_success_total", model)
    ]
    failed = sum(value for reason, value in ended if reason in ("error", "abort")) if ended else None
    totals = {way: _total(samples, name, model) for way, name in
              (("input", "prompt_tokens"), ("output", "generation_tokens"))}  # fmt: skip
    requests = None if done[0] is None else done[0] - (failed or 0.0)
    load: dict[str, tuple[float | None, str]] = {
        "requests": (requests, done[1]),
        "failed": (failed, done[1]),
        "total_input_tokens": totals["input"],
        "total_output_tokens": totals["output"],
    }
    for way, name in (("input", "request_prompt_tokens"), ("output", "request_generation_tokens")):
        total, count = (
            _total(samples, f"{name}_sum", model, exact=True),
            _total(samples, f"{name}_count", model, exact=True),
        )
        if total[0] is not None and count[0]:
            load[f"{way}_tokens"] = (total[0] / count[0], total[1])
    return load


def _histogram(samples: Samples, name: str, figure: str, model: str | None) -> Iterator[Figure]:
    total, count = (_total(samples, f"{name}_{part}", model, exact=True) for part in ("sum", "count"))
    if total[0] is None or not count[0]:
        return
    unit, field = UNITS[figure], total[1]
    yield Figure(name=figure, statistic="mean", value=total[0] / count[0], unit=unit, field=field)
    buckets: dict[float, float] = defaultdict(float)
    for labels, value, _ in _of(samples, f"{name}_bucket", model):
        border = number_of(labels.get("le"))
        buckets[math.inf if border is None else border] += value
    ordered = sorted(buckets.items())
    if any(later < earlier for (_, earlier), (_, later) in pairwise(ordered)):
        raise ReadError("has fewer in a wider bucket", f"vllm:{name}_bucket", "out_of_order")
    if ordered and ordered[-1][0] == math.inf and ordered[-1][1] != count[0]:
        raise ReadError("counts other requests than its buckets", f"vllm:{name}_count", "contradiction")
    for statistic, share in _PERCENTILES.items():
        ends = _bucket(ordered, share * count[0])
        if ends is not None:
            low, high, value = ends
            yield Figure(
                name=figure,
                statistic=statistic,
                value=value,
                unit=unit,
                field=f"vllm:{name}_bucket",
                low=low,
                high=high,
            )


def _bucket(ordered: list[tuple[float, float]], rank: float) -> tuple[float, float, float] | None:
    """Borders of the bucket that holds a rank, and the value inside as Prometheus places it; None in the last one."""
    below, before = 0.0, 0.0
    for border, count in ordered:
        if count >= rank and math.isfinite(border):
            inside = (rank - before) / (count - before) if count > before else 1.0
            return below, border, below + (border - below) * inside
        below, before = border, count
    return None


def _of(samples: Samples, name: str, model: str | None) -> Iterator[tuple[dict[str, str], float, int]]:
    for labels, value, line in samples.get(name, ()):
        if model is None or labels.get("model_name", model) == model:
            yield labels, value, line


def _total(samples: Samples, name: str, model: str | None, *, exact: bool = False) -> tuple[float | None, str]:
    """Sum over engines of a counter; newer clients write `_total` behind its name."""
    for spelled in (name,) if exact else (f"{name}_total", name):
        values = [value for _, value, _ in _of(samples, spelled, model)]
        if values:
            return sum(values), f"vllm:{spelled}"
    return None, f"vllm:{name}"


def _stem(name: str) -> str:
    for ending in (*_LOOKED, "_total"):
        if name.endswith(ending) and name != "cache_config_info":
            name = name.removesuffix(ending)
    return name


def _has_label(samples: Samples, label: str) -> bool:
    return any(label in labels for entries in samples.values() for labels, _, _ in entries)


def _cache_format(labels: dict[str, str]) -> str | None:
    name = text_of(labels.get("cache_dtype"))
    return None if name in (None, "auto", "None") else name


def _settings(labels: dict[str, str]) -> dict[str, Scalar]:
    names = ("block_size", "gpu_memory_utilization", "num_gpu_blocks", "enable_prefix_caching", "swap_space_bytes")
    found: dict[str, Scalar] = {}
    for name in names:
        setting = setting_of(labels.get(name))
        if isinstance(setting, float):
            found[name] = setting
        elif setting in ("True", "False"):
            found[name] = setting == "True"
    return found
