"""Figures of a run from the names of a file."""

from collections.abc import Iterator, Mapping
from typing import Any

from receipts.reading.receipt import Figure, Load, Run
from receipts.reading.source import Source, seconds_of

UNITS = {
    "ttft_s": "s", "tpot_s": "s", "itl_s": "s", "e2e_s": "s", "normalized_tpot_s": "s", "queue_s": "s",
    "prefill_s": "s", "decode_s": "s", "requests_per_s": "requests/s", "output_tokens_per_s": "tokens/s",
    "input_tokens_per_s": "tokens/s", "total_tokens_per_s": "tokens/s", "prefill_tokens_per_s": "tokens/s",
    "decode_tokens_per_s": "tokens/s", "mixed_tokens_per_s": "tokens/s", "tokens_per_s_per_user": "tokens/s",
    "tokens_per_s_per_gpu": "tokens/s", "cache_share": "1", "prefix_hit_share": "1", "preemptions": "1",
    "accepted_tokens": "1",
}  # fmt: skip
"""Base unit of each figure, by the name that Aforo gives it."""
_STATISTICS = {
    "mean": "mean", "avg": "mean", "average": "mean", "median": "median", "p50": "median", "50%": "median",
    "min": "min", "minimum": "min", "max": "max", "maximum": "max",
    "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99",
}  # fmt: skip


def figure(source: Source, name: str, statistic: str, *spellings: str, scale: float = 1.0) -> Iterator[Figure]:
    """The figure where the file has it; `scale` turns the file's unit into the base unit."""
    spelled = source.has(*spellings)
    value = source.number(*spellings)
    if value is None or spelled is None:
        return
    yield Figure(name=name, statistic=statistic, value=value * scale, unit=UNITS[name], field=source.at(spelled))


def statistics(source: Source | None, name: str, scale: float = 1.0) -> Iterator[Figure]:
    """Mean, median and percentiles of an object that holds them by their names, or under `percentiles`.

    The first of two spellings of one statistic counts; what they are beside these is not read.
    """
    if source is None:
        return
    source.look("unit", "units", "count", "std", "std_dev", "stddev", "variance", "mode", "total_sum", "sum", "pdf")
    source.look("p0p1", "p1", "p5", "p10", "p25", "p99p9", "p001", "p01", "p05", "p999")
    found: set[str] = set()
    places = [source, source.below("percentiles")]
    for place in places:
        for spelled, statistic in _STATISTICS.items():
            if place is not None and place.has(spelled) and statistic not in found:
                found.add(statistic)
                yield from figure(place, name, statistic, spelled, scale=scale)
        if place is not None:
            place.look(*_STATISTICS, "p001", "p01", "p05", "p10", "p25", "p999")


def with_unit(source: Source | None, name: str, *, least: str = "") -> tuple[list[Figure], str | None]:
    """Figures of an object that states its unit, and the place of a unit that is not known."""
    if source is None:
        return [], None
    unit = source.text("unit", "units") or least
    scale = seconds_of(unit) if UNITS[name] == "s" else rate_scale(unit)
    if scale is None:
        return [], f"{source.place} (unit {unit[:20]})"
    return list(statistics(source, name, scale)), None


def rate_scale(unit: str) -> float | None:
    """1 for a unit per second or a plain count, 0.01 for percent; None for another."""
    name = unit.strip().lower().replace(" ", "")
    if name in ("percent", "%"):
        return 0.01
    plain = ("", "1", "count", "ratio", "fraction", "tokens", "requests")
    per_second = name.split("/user")[0].endswith(("/s", "/sec", "/second", "persec", "persecond"))
    return 1.0 if name in plain or per_second else None


def run_of(load: Mapping[str, tuple[float | None, str]], figures: list[Figure], place: str = "") -> Run:
    """A run from the values of its load, each with its place in the file."""
    values: dict[str, Any] = {name: value for name, (value, _) in load.items()}
    fields = {name: at for name, (value, at) in load.items() if value is not None and at}
    return Run(load=Load(**values), figures=tuple(figures), place=place, fields=fields)


def loaded(source: Source, *spellings: str, scale: float = 1.0) -> tuple[float | None, str]:
    """A value of the load with its place."""
    value = source.number(*spellings)
    return (None if value is None else value * scale), source.at(source.has(*spellings) or spellings[0])


def mean_of(total: tuple[float | None, str], count: tuple[float | None, str]) -> tuple[float | None, str]:
    """A mean from a total, with the place of the total; None where either is missing or nothing was counted."""
    if total[0] is None or not count[0] or count[0] < 0:
        return None, total[1]
    return total[0] / count[0], total[1]
