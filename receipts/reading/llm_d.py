"""llm-d's Benchmark Report, versions 0.1 and 0.2 (YAML or JSON); read 2026-11."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from receipts.reading.figures import UNITS, loaded, run_of, with_unit
from receipts.reading.receipt import Degrees, Figure, Receipt, Run, Scalar
from receipts.reading.source import Source, number_of, setting_of, whole_of

FORMAT = "llm-d-benchmark-report"
_TIMES = {
    "ttft_s": ("time_to_first_token",),
    "tpot_s": ("time_per_output_token",),
    "itl_s": ("inter_token_latency",),
    "normalized_tpot_s": ("normalized_time_per_output_token",),
    "e2e_s": ("request_latency",),
}
_RATES = {
    "requests_per_s": ("requests_per_sec", "request_rate"),
    "output_tokens_per_s": ("output_tokens_per_sec", "output_token_rate"),
    "input_tokens_per_s": ("input_tokens_per_sec", "input_token_rate"),
    "total_tokens_per_s": ("total_tokens_per_sec", "total_token_rate"),
}
_DURATION = re.compile(r"PT(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,20})?)S)?\Z")


def is_report(value: Mapping[str, Any]) -> bool:
    """Whether an object is a report of either version."""
    return "version" in value and ("scenario" in value or "run" in value) and ("metrics" in value or "results" in value)


def read(value: Mapping[str, Any]) -> Receipt:
    """A report: one run.

    Raises:
        ReadError: a figure that is no number.
    """
    top = Source(value)
    version = top.text("version")
    if "results" in value:
        return _second(top, version)
    return _first(top, version)


def _first(top: Source, version: str | None) -> Receipt:
    """Version 0.1: `metrics`, and lists of hosts and engines in `scenario`."""
    scenario = top.below("scenario") or Source({})
    metrics = top.below("metrics") or Source({})
    time = metrics.below("time") or Source({})
    platform, host = scenario.below("platform"), scenario.below("host")
    engines = list(platform.every("engine")) if platform is not None else []
    cards = list(host.every("accelerator")) if host is not None else []
    model = scenario.below("model")
    run, strange = _run(metrics, loaded(time, "duration"), {})
    started = time.number("start")
    return Receipt(
        format=FORMAT,
        format_version=version,
        engine=engines[0].text("name") if engines else None,
        engine_version=engines[0].text("version") if engines else None,
        model=model.text("name") if model is not None else None,
        weights=model.text("quantization") if model is not None else None,
        gpu=_one([card.text("model") for card in cards]),
        gpus=_gpus(cards),
        degrees=_degrees(cards[0].below("parallelism")) if len(cards) == 1 else Degrees(),
        settings=_arguments(engines[0].below("args")) if engines else {},
        date=_day(started),
        runs=(run,),
        not_read=(*strange, *top.unread()),
    )


def _second(top: Source, version: str | None) -> Receipt:
    """Version 0.2: `run`, `scenario.stack` of components and `results.request_performance.aggregate`."""
    about = top.below("run") or Source({})
    time = about.below("time") or Source({})
    scenario = top.below("scenario") or Source({})
    results = top.below("results") or Source({})
    performance = results.below("request_performance") or results
    aggregate = performance.below("aggregate") or performance
    servers = [one for one in map(_server, scenario.every("stack")) if one is not None]
    first = servers[0] if servers else None
    card = first.below("accelerator") if first is not None else None
    model = first.below("model") if first is not None else None
    run, strange = _run(aggregate, _iso(time), _asked(scenario))
    return Receipt(
        format=FORMAT,
        format_version=version,
        engine=_engine_of(first),
        engine_version=_version_of(first),
        model=model.text("name") if model is not None else None,
        gpu=_one([card.text("model") if card is not None else None]),
        gpus=_gpus([card] if card is not None else []),
        degrees=_degrees(card.below("parallelism")) if card is not None and len(servers) == 1 else Degrees(),
        settings=_native(scenario),
        date=(time.text("start") or "")[:10] or None,
        runs=(run,),
        not_read=(*strange, *top.unread()),
    )


def _run(
    metrics: Source, duration: tuple[float | None, str], asked: dict[str, tuple[float | None, str]]
) -> tuple[Run, list[str]]:
    counts, times, rates = (metrics.below(name) or Source({}) for name in ("requests", "latency", "throughput"))
    figures: list[Figure] = []
    strange: list[str] = []
    for name, spelled in _TIMES.items():
        found, unknown = with_unit(times.below(*spelled), name)
        figures += found
        strange += [unknown] if unknown else []
    for name, names in _RATES.items():
        nested = rates.below(*names)
        if nested is not None:
            found, unknown = with_unit(nested, name)
            figures += [one for one in found if one.statistic == "mean"]
            strange += [unknown] if unknown else []
        elif rates.has(*names):
            value, at = loaded(rates, *names)
            figures.append(Figure(name=name, statistic="mean", value=value or 0.0, unit=UNITS[name], field=at))
    total, failed = loaded(counts, "total"), loaded(counts, "failures", "failed")
    done = total if total[0] is None else (total[0] - (failed[0] or 0.0), total[1])
    nothing: tuple[float | None, str] = (None, "")
    lengths = {name: counts.below(f"{name}_length") for name in ("input", "output")}
    for one in lengths.values():
        if one is not None:
            one.look("units", "stddev", "min", "max", *(f"p{n}" for n in (1, 5, 10, 25, 50, 75, 90, 95, 99)))
            one.look("p0p1", "p99p9")
    load = {f"{name}_tokens": loaded(one, "mean") if one is not None else nothing for name, one in lengths.items()}
    reached = counts.below("concurrency")
    if reached is not None:
        load["concurrency_mean"] = loaded(reached, "mean")
    return run_of(load | asked | {"requests": done, "failed": failed, "duration_s": duration}, figures), strange


def _asked(scenario: Source) -> dict[str, tuple[float | None, str]]:
    """Lengths, rate and concurrency of the load of version 0.2; inf means no limit."""
    load = scenario.below("load")
    said = load.below("standardized") if load is not None else None
    if said is None:
        return {}
    found: dict[str, tuple[float | None, str]] = {}
    for name, spelled in (("concurrency_asked", "concurrency"), ("requests_per_s_asked", "rate_qps")):
        number = number_of(said.get(spelled))
        if number is not None and math.isfinite(number):
            found[name] = (number, said.at(spelled))
    for name, spelled in (("input_tokens_asked", "input_seq_len"), ("output_tokens_asked", "output_seq_len")):
        length = said.below(spelled)
        if length is not None and length.text("distribution") == "fixed":
            found[name] = loaded(length, "value")
    return found


def _server(component: Source) -> Source | None:
    found = component.below("standardized")
    return found if found is not None and found.text("kind") == "inference_engine" else None


def _engine_of(server: Source | None) -> str | None:
    """The engine where the tool names one: llm-d is a stack around vLLM, which it does not name."""
    tool = (server.text("tool") or "").lower() if server is not None else ""
    return next((name for name in ("vllm", "sglang") if name in tool), None)


def _version_of(server: Source | None) -> str | None:
    version = server.text("tool_version") if server is not None else None
    return version if version and _engine_of(server) and "/" not in version else None


def _degrees(source: Source | None) -> Degrees:
    if source is None:
        return Degrees()
    source.look("dp_local", "workers")
    return Degrees(**{name: whole_of(source.get(name)) for name in ("tp", "pp", "ep", "dp")})


def _gpus(cards: list[Source]) -> int | None:
    counts = [whole_of(card.get("count")) for card in cards]
    for card in cards:
        card.look("memory")
    return sum(count for count in counts if count) or None


def _one(names: list[str | None]) -> str | None:
    found = {name for name in names if name}
    return found.pop() if len(found) == 1 else None


def _arguments(source: Source | None) -> dict[str, Scalar]:
    """Arguments of the launch; addresses, ports and what is no plain value are left."""
    if source is None:
        return {}
    found: dict[str, Scalar] = {}
    for name, value in list(source.values.items())[:60]:
        plain = str(name).lstrip("-").replace("-", "_")[:60]
        if any(word in plain for word in ("address", "port", "host", "key", "token", "url", "config")):
            continue
        source.look(name)
        setting = setting_of(value)
        if setting is not None:
            found[plain] = {"true": True, "false": False}.get(str(setting).lower(), setting)
    return found


def _native(scenario: Source) -> dict[str, Scalar]:
    for component in scenario.every("stack"):
        native = component.below("native")
        arguments = native.below("args") if native is not None else None
        if arguments is not None:
            return _arguments(arguments)
    return {}


def _iso(time: Source) -> tuple[float | None, str]:
    text = time.text("duration") or ""
    found = _DURATION.match(text)
    if found is None:
        number = number_of(text)
        return number, time.at("duration")
    hours, minutes, seconds = (float(part or 0.0) for part in found.groups())
    return 3600.0 * hours + 60.0 * minutes + seconds, time.at("duration")


def _day(started: float | None) -> str | None:
    return datetime.fromtimestamp(started, UTC).date().isoformat() if started and 0 < started < 4e9 else None
