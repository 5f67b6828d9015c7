"""A start-up log beside the ledger of memory-fit, which reads it line by line."""

import json
from typing import Any

from estimator.api.parsing import parse_body
from estimator.estimates.endpoint import Asked
from estimator.estimates.memory_fit.answer import MemoryFitRequest, answer_memory_fit
from estimator.resolvers.facts import Facts
from receipts.comparing.said import beside
from receipts.reading.receipt import Receipt

_MOST_CHARACTERS = 200_000
_OF_LOG = {"utilization": "utilization", "max_model_len": "max_model_len", "max_batched_tokens": "max_batched_tokens"}


def log_said(text: str, receipt: Receipt, body: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """Each printed figure beside the said one, and in which part the difference sits.

    Raises:
        ResolutionError: a setting that no server has.
        EngineError: a figure that is not known.
    """
    whole = body | {"startup_log": text[:_MOST_CHARACTERS]}
    memory = dict(whole.get("memory", {}))
    for written, name in _OF_LOG.items():
        value = receipt.settings.get(written)
        if isinstance(value, float) and name not in memory:
            memory[name] = value if name == "utilization" else int(value)
    parsed = parse_body(MemoryFitRequest, json.dumps(whole | {"memory": memory}).encode(), facts)
    log = answer_memory_fit(parsed, Asked(facts=facts, explain=False)).startup_log
    lines = [] if log is None else log.lines
    figures = [
        beside(line.figure, "value", line.printed, line.unit, said=line.said, inside=line.agrees) for line in lines
    ]
    apart = [line for line in lines if line.agrees is False and line.unit == "bytes" and line.difference is not None]
    whole_bytes = sum(abs(line.difference or 0.0) for line in apart)
    where = [
        {"part": "cache", "seconds": 0.0, "share": abs(line.difference or 0.0) / whole_bytes,
         "text": f"{line.figure}: {line.likely_cause or ''}".rstrip(": ")}
        for line in apart if whole_bytes
    ]  # fmt: skip
    return {"place": "", "workload": None, "figures": figures, "where": where, "unsaid": None}
