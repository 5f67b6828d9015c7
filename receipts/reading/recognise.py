"""Recognises what a text is and reads it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from receipts.reading import (
    aiperf,
    guidellm,
    llama_bench,
    llm_d,
    serving_bench,
    startup,
    trtllm_bench,
    vllm_metrics,
)
from receipts.reading.documents import MOST_CHARACTERS, csv_rows, json_lines, json_value, yaml_value
from receipts.reading.receipt import ReadError, Receipt, Run

FORMATS = (
    serving_bench.VLLM, serving_bench.SGLANG, guidellm.FORMAT, aiperf.AIPERF, aiperf.GENAI_PERF, llm_d.FORMAT,
    trtllm_bench.FORMAT, llama_bench.FORMAT, startup.FORMAT, vllm_metrics.FORMAT,
)  # fmt: skip
_OBJECTS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], Receipt]], ...] = (
    (llm_d.is_report, llm_d.read),
    (guidellm.is_guidellm, guidellm.read),
    (trtllm_bench.is_report, trtllm_bench.read),
    (aiperf.is_export, aiperf.read),
)
_MOST_RUNS = 200
# No figure of a run, in base units, is further from 1 than that.
_LEAST, _MOST = 1e-24, 1e24


def read_receipt(text: str) -> Receipt:
    """The receipt of a text.

    Raises:
        ReadError: it is none of the formats, or cannot be read as the one it is.
    """
    if not text.strip():
        raise ReadError("is empty", "", "empty")
    if len(text) > MOST_CHARACTERS:
        raise ReadError(f"has more than {MOST_CHARACTERS} characters", "", "too_long")
    text = text.lstrip("\ufeff")
    receipt = _read(text)
    if len(receipt.runs) > _MOST_RUNS:
        raise ReadError(f"has more than {_MOST_RUNS} runs", "", "too_long")
    for run in receipt.runs:
        _refuse_strange_numbers(run)
    return receipt


def _refuse_strange_numbers(run: Run) -> None:
    """Sums and quotients of what is left are finite, whatever the reader and the comparison make of it."""
    values = [(one.value, one.field) for one in run.figures]
    values += [(value, run.field_of(name)) for name, value in asdict(run.load).items() if value is not None]
    for value, field in values:
        if value and not _LEAST <= abs(value) <= _MOST:
            raise ReadError("is no number that a run has", field, "not_a_number")


def _read(text: str) -> Receipt:
    start = text.lstrip()[:1]
    if start in ("{", "["):
        return _of_json(text)
    if vllm_metrics.is_scrape(text):
        return vllm_metrics.read(text)
    if llama_bench.is_csv(text):
        return llama_bench.read_csv(csv_rows(text))
    if aiperf.is_csv(text):
        return aiperf.read_csv(csv_rows(text))
    if llama_bench.is_table(text):
        return llama_bench.read_table(text)
    if trtllm_bench.is_text(text):
        return trtllm_bench.read_text(text)
    if _looks_like_yaml(text):
        return _of_value(yaml_value(text), "yaml")
    found = startup.read(text)
    if found is None:
        raise _unknown()
    return found


def _looks_like_yaml(text: str) -> bool:
    heads = {line.split(":", 1)[0].strip("'\"") for line in text.splitlines() if line[:1].isalpha() and ":" in line}
    return bool({"scenario", "run", "benchmarks"} & heads) and bool({"version", "metadata", "metrics"} & heads)


def _of_json(text: str) -> Receipt:
    try:
        value = json_value(text)
    except ReadError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or not lines[0].rstrip().endswith("}"):
            found = _log_after_all(text)
            if found is not None:
                return found
            raise
        value = json_lines(text)
        return _of_list(value, "line {}", "jsonl")
    return _of_list(value, "{}", "json") if isinstance(value, list) else _of_value(value, "json")


def _log_after_all(text: str) -> Receipt | None:
    """A log whose first line begins with a bracket, such as that of TensorRT-LLM."""
    if trtllm_bench.is_text(text):
        return trtllm_bench.read_text(text)
    return startup.read(text)


def _of_list(values: list[Any], place: str, form: str) -> Receipt:
    entries = [(one, place.format(at + (form == "jsonl"))) for at, one in enumerate(values) if isinstance(one, Mapping)]
    if not entries or len(entries) < len(values):
        raise _unknown()
    if all(llama_bench.is_entry(one) for one, _ in entries):
        return llama_bench.read(entries, form)
    if all(serving_bench.is_vllm(one) for one, _ in entries):
        _one_model(entries)
        return serving_bench.read_vllm(entries)
    if all(serving_bench.is_sglang(one) for one, _ in entries):
        return serving_bench.read_sglang(entries)
    if len(entries) == 1:
        return _of_value(entries[0][0], form)
    raise _unknown()


def _of_value(value: Any, form: str) -> Receipt:
    if not isinstance(value, Mapping):
        raise _unknown()
    for is_it, read in _OBJECTS:
        if is_it(value):
            return read(value)
    if llama_bench.is_entry(value):
        return llama_bench.read([(value, "")], form)
    if serving_bench.is_vllm(value):
        return serving_bench.read_vllm([(value, "")])
    if serving_bench.is_sglang(value):
        return serving_bench.read_sglang([(value, "")])
    raise _unknown()


def _one_model(entries: list[tuple[Mapping[str, Any], str]]) -> None:
    if len({str(one.get("model_id")) for one, _ in entries}) > 1:
        raise ReadError("holds results of several models: give those of one", "model_id", "several_models")


def _unknown() -> ReadError:
    return ReadError(f"is none of the formats that are read: {', '.join(FORMATS)}", "", "unknown_format")
