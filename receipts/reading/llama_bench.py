"""Results of llama-bench: JSON, JSON lines, CSV and the Markdown table, builds of 2023 to 2026; read 2026-11."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from receipts.reading.figures import UNITS, loaded, run_of
from receipts.reading.receipt import Figure, ReadError, Receipt, Run
from receipts.reading.source import Source, number_of, settings_of, text_of

FORMAT = "llama-bench"
_TEST = re.compile(r"(pp|tg) ?(\d{1,9})(?:\+(tg) ?(\d{1,9}))?(?: @ d(\d{1,9}))?\Z")
_BUILD = re.compile(r"^build: ([0-9a-f]{6,40}) \((\d{1,9})\)", re.MULTILINE)
_DEVICE = re.compile(r"^ {0,4}(?:Device \d{1,2}|ggml_vulkan: \d{1,2}(?= =)) ?[:=] ?([^,\n|(]{3,80})", re.MULTILINE)
_QUANT = re.compile(
    r"\b(B?F16|BF16|F32|I?Q\d_(?:K_XL|K_XXS|K_[SML]|K|XXS|XS|NL|S|M|\d)|I?Q\d_\d|TQ\d_\d|MXFP4(?: MoE)?)\b"
)
_SETTINGS = (
    "n_batch", "n_ubatch", "n_threads", "n_gpu_layers", "split_mode", "flash_attn", "tensor_split", "no_kv_offload",
    "use_mmap", "n_cpu_moe", "backends", "mmap", "ngl", "fa", "threads", "backend", "n_kv_max", "sm", "ts",
)  # fmt: skip
_LOOKED = (
    "build_commit", "build_number", "cpu_info", "model_size", "model_n_params", "avg_ns", "stddev_ns", "stddev_ts",
    "samples_ns", "samples_ts", "embeddings", "main_gpu", "test_time", "model_filename", "type_k", "type_v",
)  # fmt: skip


def is_entry(value: Mapping[str, Any]) -> bool:
    """Whether an object is one test of llama-bench."""
    return "avg_ts" in value and ("n_gen" in value or "n_prompt" in value)


def is_csv(text: str) -> bool:
    """Whether a text begins as its CSV."""
    head = text.lstrip("\ufeff \r\n").split("\n", 1)[0]
    return "build_commit" in head and "avg_ts" in head


def is_table(text: str) -> bool:
    """Whether a text holds its Markdown table."""
    return any(_is_head(line) for line in text.splitlines()[:2000])


def read(values: Sequence[tuple[Mapping[str, Any], str]], form: str) -> Receipt:
    """Tests of one model: a run each.

    Raises:
        ReadError: a figure that is no number.
    """
    sources = [Source(value, place) for value, place in values]
    runs = tuple(_run(source) for source in sources)
    first = sources[0]
    models = {source.text("model_type", "model_filename") for source in sources}
    if len(models) > 1:
        raise ReadError("holds tests of several models: give those of one", first.at("model_type"), "several_models")
    kind = first.text("model_type")
    for source in sources:
        source.look(*_LOOKED, *_SETTINGS, "gpu_info", "model_type", "n_depth")
    named = number_of(first.values.get("build_number"))
    return Receipt(
        format=FORMAT,
        format_version=form,
        engine="llama.cpp",
        engine_version=f"b{named:.0f}" if named else first.text("build_commit"),
        model=_model(first, kind),
        gpu=_gpu(first.text("gpu_info")),
        gpus=1,
        weights=quant_of(kind or "") or quant_of(first.text("model_filename") or ""),
        kv_cache=_kv(first),
        settings=settings_of(first.values, _SETTINGS),
        date=(first.text("test_time") or "")[:10] or None,
        runs=runs,
        not_read=tuple(dict.fromkeys(place for source in sources for place in source.unread())),
    )


def read_csv(rows: list[list[str]]) -> Receipt:
    """The CSV: a test each row.

    Raises:
        ReadError: a figure that is no number.
    """
    head, *tests = [row for row in rows if any(cell.strip() for cell in row)]
    if not tests:
        raise ReadError("has a head and no tests", "1", "missing")
    for position, row in enumerate(tests):
        if len(row) != len(head):
            raise ReadError("has another number of cells than the head", f"row {position + 2}", "ragged")
    values = [
        ({name: cell or None for name, cell in zip(head, row, strict=True)}, f"row {position + 2}")
        for position, row in enumerate(tests)
    ]
    return read(values, "csv")


def read_table(text: str) -> Receipt:
    """The Markdown table, with what is printed around it.

    Raises:
        ReadError: a test or rate that cannot be read, or tests of several models.
    """
    entries: list[tuple[dict[str, Any], str]] = []
    head: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if _is_head(line):
            head = [cell.lower() for cell in cells]
        elif head and line.strip().startswith("|") and not set(line) <= set("|-: \r"):
            if len(cells) != len(head):
                raise ReadError("has another number of cells than the head", f"line {number}", "ragged")
            entries.append((_entry(dict(zip(head, cells, strict=True)), number), f"line {number}"))
    if not entries:
        raise ReadError("has a table without a test", "t/s", "missing")
    build, device = _BUILD.search(text), _DEVICE.search(text)
    for entry, _ in entries:
        entry |= {
            "build_commit": build.group(1) if build else None,
            "build_number": build.group(2) if build else None,
            "gpu_info": device.group(1).strip() if device else None,
        }
    return read(entries, "md")


def _is_head(line: str) -> bool:
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    return line.lstrip().startswith("|") and cells[0] == "model" and "t/s" in cells and "test" in cells


def _entry(cells: Mapping[str, str], number: int) -> dict[str, Any]:
    test = _TEST.match(cells.get("test", ""))
    rate = number_of(cells.get("t/s", "").partition("±")[0].strip())
    if test is None:
        raise ReadError("is no test such as pp512 or tg128", f"line {number}.test", "not_a_test")
    if rate is None:
        raise ReadError("is not a finite number", f"line {number}.t/s", "not_a_number")
    kind, first, second, more, depth = test.groups()
    known = {"model", "size", "params", "test", "t/s", "type_k", "type_v"}
    return {
        **{name: cell for name, cell in cells.items() if name not in known},
        "model_type": cells.get("model"),
        "type_k": cells.get("type_k"),
        "type_v": cells.get("type_v"),
        "n_prompt": float(first) if kind == "pp" else 0.0,
        "n_gen": float(first) if kind == "tg" else float(more) if second else 0.0,
        "n_depth": float(depth or 0.0),
        "avg_ts": rate,
    }


def _run(source: Source) -> Run:
    prompt, answer = (source.number(name) or 0.0 for name in ("n_prompt", "n_gen"))
    rate = source.number("avg_ts")
    if rate is None:
        raise ReadError("is missing", source.at("avg_ts"), "missing")
    names = {(True, False): "prefill_tokens_per_s", (False, True): "decode_tokens_per_s"}
    name = names.get((prompt > 0, answer > 0), "mixed_tokens_per_s")
    return run_of(
        {
            "input_tokens": (prompt, source.at("n_prompt")),
            "output_tokens": (answer, source.at("n_gen")),
            "depth_tokens": loaded(source, "n_depth"),
            "concurrency_asked": (1.0, ""),
        },
        [Figure(name=name, statistic="mean", value=rate, unit=UNITS[name], field=source.at("avg_ts"))],
        source.place,
    )


def quant_of(text: str) -> str | None:
    """The format of the weights in a model's type or file name.

    >>> quant_of("qwen2 7B Q4_K - Medium"), quant_of("Llama-3.1-8B-Instruct-Q8_0.gguf")
    ('q4_k_m', 'q8_0')
    """
    spelled = text.upper().replace(".", " ")
    for word, letter in (("SMALL", "_S"), ("MEDIUM", "_M"), ("LARGE", "_L")):
        spelled = spelled.replace(f" - {word}", letter)
    found = _QUANT.search(spelled.replace("-", " "))
    return found.group(1).lower().replace(" moe", "").strip() if found else None


def _model(source: Source, kind: str | None) -> str | None:
    """Name of the file where there is one, which says the release; else the type, which says family and size."""
    name = source.text("model_filename")
    if name:
        return name.replace("\\", "/").rsplit("/", 1)[-1][:200]
    return kind


def _gpu(text: str | None) -> str | None:
    """The one GPU of `gpu_info`; None where several are named."""
    names = {name.strip() for name in re.split(r"[,/]", text or "") if name.strip()}
    return names.pop() if len(names) == 1 else None


def _kv(source: Source) -> str | None:
    kinds = {source.values.get("type_k") or "f16", source.values.get("type_v") or "f16"}
    return text_of(kinds.pop()) if len(kinds) == 1 else None
