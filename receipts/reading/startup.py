"""Start-up logs of vLLM, SGLang, TensorRT-LLM and llama.cpp, by the reader of memory-fit."""

import re

from estimator.engine.errors import InvalidInputError
from estimator.engine.memory.startup_log import StartupLog, read_startup_log
from receipts.reading.receipt import Degrees, Figure, Load, ReadError, Receipt, Run, Scalar
from receipts.reading.source import text_of, whole_of

FORMAT = "startup-log"
UNITS = {"kv_cache_tokens": "tokens", "max_model_len": "tokens", "longest_tokens": "tokens", "blocks": "1",
         "concurrency": "1", "block_tokens": "tokens", "context_tokens": "tokens"}  # fmt: skip
_SETTINGS = ("utilization", "max_model_len", "max_num_seqs", "max_batched_tokens", "context_tokens")
_MODEL = re.compile(
    r"(?:\bmodel=['\"]?|model_path=['\"]?|served_model_name=\[?['\"]|general\.name str\s{1,20}= )([\w./:-]{2,160})"
)
_QUANTIZATION = re.compile(r"quantization=['\"]?([\w-]{2,30})")
_GPU = re.compile(r"Device \d{1,2}: ([^,\n]{3,80}),|using device \w{3,12} \(([^)\n]{3,80})\)")


def read(text: str) -> Receipt | None:
    """What a log prints; None where it is none of an engine that is read.

    Raises:
        ReadError: a line prints what cannot be.
    """
    try:
        log = read_startup_log(text)
    except InvalidInputError as error:
        raise ReadError(str(error)) from None
    if log.engine is None or not log.figures:
        return None
    figures = tuple(
        Figure(
            name=one.name,
            statistic="value",
            value=one.value,
            unit=UNITS.get(one.name, "bytes"),
            field=f"line {one.line}",
        )
        for one in log.figures
        if one.name not in ("tp", "pp", *_SETTINGS)
    )
    model, quantization, gpu = _MODEL.search(text), _QUANTIZATION.search(text), _GPU.search(text)
    weights = quantization.group(1).lower() if quantization else None
    return Receipt(
        format=FORMAT,
        format_version=log.engine,
        engine=log.engine,
        engine_version=log.version,
        model=text_of(model.group(1)) if model else None,
        gpu=text_of(gpu.group(1) or gpu.group(2)) if gpu else None,
        degrees=Degrees(tp=whole_of(log.first("tp")), pp=whole_of(log.first("pp"))),
        weights=None if weights in (None, "none", "false", "true") else weights,
        settings=_settings(log),
        runs=(Run(load=Load(), figures=figures),),
    )


def _settings(log: StartupLog) -> dict[str, Scalar]:
    return {name: value for name in _SETTINGS if (value := log.first(name)) is not None}
