"""Exports of AIPerf 0.1 to 0.11 and of its older sister genai-perf, JSON and CSV; read 2026-11.

The inter_token_latency of both is (end-to-end − first token) / (tokens − 1) of a request: what others call TPOT.
"""

from collections.abc import Mapping
from typing import Any

from receipts.reading.figures import UNITS, loaded, rate_scale, run_of, with_unit
from receipts.reading.receipt import Figure, ReadError, Receipt
from receipts.reading.source import Source, number_of, seconds_of, text_of

AIPERF, GENAI_PERF = "aiperf", "genai-perf"
_FIGURES = {
    "ttft_s": ("time_to_first_token",),
    "tpot_s": ("inter_token_latency",),
    "e2e_s": ("request_latency",),
    "requests_per_s": ("request_throughput",),
    "output_tokens_per_s": ("output_token_throughput",),
    "input_tokens_per_s": ("input_token_throughput",),
    "total_tokens_per_s": ("total_token_throughput",),
    "tokens_per_s_per_user": ("output_token_throughput_per_user",),
}
_TITLES = {
    "time to first token": "ttft_s", "inter token latency": "tpot_s", "request latency": "e2e_s",
    "request throughput": "requests_per_s", "output token throughput": "output_tokens_per_s",
    "input token throughput": "input_tokens_per_s", "total token throughput": "total_tokens_per_s",
    "output token throughput per user": "tokens_per_s_per_user",
}  # fmt: skip
_LOADS = {
    "input sequence length": "input_tokens", "output sequence length": "output_tokens",
    "request count": "requests", "error request count": "failed", "benchmark duration": "duration_s",
}  # fmt: skip
_COLUMNS = {"avg": "mean", "p50": "median", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "min": "min",
            "max": "max"}  # fmt: skip


def is_export(value: Mapping[str, Any]) -> bool:
    """Whether an object is an export of one of the two."""
    records = value.get("records")
    inner = records if isinstance(records, Mapping) else value
    found = [inner[name] for names in _FIGURES.values() for name in names if name in inner]
    return any(isinstance(one, Mapping) and "unit" in one for one in found)


def is_csv(text: str) -> bool:
    """Whether a text begins as the CSV of one of the two."""
    head = text.lstrip("\ufeff \r\n")[:60].lower()
    return head.startswith("metric,avg,") or head.startswith("metric,value")


def read(value: Mapping[str, Any]) -> Receipt:
    """A JSON export: one run.

    Raises:
        ReadError: a figure that is no number.
    """
    top = Source(value)
    metrics = top.below("records") or top
    figures, strange = [], []
    for name, spelled in _FIGURES.items():
        found, unknown = with_unit(metrics.below(*spelled), name)
        # Percentiles of a rate are of single moments: the mean alone is what the run did.
        figures += [one for one in found if UNITS[name] == "s" or one.statistic == "mean"]
        strange += [unknown] if unknown else []
    config = top.below("input_config")
    version = top.text("aiperf_version")
    schema = top.text("schema_version")
    load = {name: _average(metrics, *spelled) for name, spelled in _OF_LOAD.items()}
    load["duration_s"] = _seconds(metrics)
    load |= _asked(config)
    return Receipt(
        format=AIPERF if version or schema or "benchmark_duration" in metrics.values else GENAI_PERF,
        format_version=version or schema,
        model=_model(config),
        date=(top.text("start_time") or "")[:10] or None,
        runs=(run_of(load, figures),),
        not_read=(*strange, *top.unread()),
    )


_OF_LOAD = {
    "input_tokens": ("input_sequence_length",),
    "output_tokens": ("output_sequence_length", "output_token_count"),
    "total_input_tokens": ("total_isl", "total_input_tokens"),
    "total_output_tokens": ("total_output_tokens", "total_osl"),
    "requests": ("request_count",),
    "failed": ("error_request_count",),
}


def _average(metrics: Source, *names: str) -> tuple[float | None, str]:
    found = metrics.below(*names)
    if found is None:
        return None, ""
    found.look("unit", "count", "sum", "std", *_COLUMNS, "p1", "p5", "p10", "p25")
    return loaded(found, "avg")


def _seconds(metrics: Source) -> tuple[float | None, str]:
    found = metrics.below("benchmark_duration")
    if found is None:
        return None, ""
    scale = seconds_of(found.text("unit") or "s")
    return loaded(found, "avg", scale=scale) if scale is not None else (None, "")


def _asked(config: Source | None) -> dict[str, tuple[float | None, str]]:
    """Concurrency, rate and lengths that the client was told; older and newer exports place them elsewhere."""
    if config is None:
        return {}
    places = [config, *(config.below(name) for name in ("loadgen", "perf_analyzer"))]
    places += [one for one in config.every("phases") if one.text("name") in (None, "profiling")]
    stimulus = next((place.below("stimulus") for place in places if place is not None and place.has("stimulus")), None)
    places.append(stimulus)
    found: dict[str, tuple[float | None, str]] = {}
    names = {
        "concurrency_asked": ("concurrency",),
        "requests_per_s_asked": ("request_rate", "rate"),
        "requests_asked": ("request_count", "requests"),
    }
    for name, spelled in names.items():
        for place in places:
            if place is None or name in found or number_of(place.values.get(place.has(*spelled) or "")) is None:
                continue
            found[name] = loaded(place, *spelled)
    return found


def _model(config: Source | None) -> str | None:
    if config is None:
        return None
    for place in (config, config.below("endpoint")):
        if place is None:
            continue
        names = place.get("model_names", "model", "models")
        if isinstance(names, Mapping):
            items = names.get("items")
            names = [one.get("name") for one in items if isinstance(one, Mapping)] if isinstance(items, list) else None
        if isinstance(names, list):
            names = names[0] if names else None
        if (name := text_of(names)) is not None:
            return name
    return None


def read_csv(rows: list[list[str]]) -> Receipt:
    """A CSV export: tables of metrics, each with its own head.

    Raises:
        ReadError: a figure that is no number.
    """
    figures: list[Figure] = []
    load: dict[str, tuple[float | None, str]] = {}
    left: list[str] = []
    head: list[str] = []
    for row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            head = []
        elif not head:
            head = [cell.lower() for cell in cells]
        elif head[0] == "metric":
            _metric(head, cells, figures, load, left)
        else:
            left.append(cells[0][:100])
    return Receipt(
        format=AIPERF if "duration_s" in load or "p1" in [name.strip() for name in rows[0]] else GENAI_PERF,
        format_version="csv",
        runs=(run_of(load, figures),),
        not_read=tuple(dict.fromkeys(left)),
    )


def _metric(
    head: list[str], cells: list[str], figures: list[Figure], load: dict[str, tuple[float | None, str]], left: list[str]
) -> None:
    """One line of a table: `Time To First Token (ms),63.2,…`."""
    title, _, unit = cells[0].partition("(")
    title, unit = title.strip().lower(), unit.rstrip(") ")
    if len(cells) != len(head):
        raise ReadError("has another number of cells than its head", cells[0][:100], "ragged")
    values = dict(zip(head[1:], cells[1:], strict=True))
    value = _number(values.get("avg") or values.get("value"), cells[0])
    scale = seconds_of(unit)
    if title in _LOADS and value is not None:
        load[_LOADS[title]] = (value * (scale or 1.0), cells[0])
        return
    name = _TITLES.get(title)
    factor = None if name is None else scale if UNITS[name] == "s" else rate_scale(unit)
    if name is None or factor is None:
        left.append(cells[0][:100])
        return
    for column, statistic in {**_COLUMNS, "value": "mean"}.items():
        found = _number(values.get(column), cells[0])
        if found is not None and (UNITS[name] == "s" or statistic == "mean"):
            figures.append(
                Figure(name=name, statistic=statistic, value=found * factor, unit=UNITS[name], field=cells[0])
            )


def _number(text: str | None, place: str) -> float | None:
    if text is None or text in ("", "N/A", "n/a"):
        return None
    found = number_of(text.replace(",", ""))
    if found is None:
        raise ReadError("is not a finite number", place[:100], "not_a_number")
    return found
