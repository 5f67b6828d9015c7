"""The setting of a receipt as the question of an estimate: what the file says, completed by what was stated."""

import json
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from estimator.api.parsing import parse_body
from estimator.engine.faults import Fault, ResolutionError
from estimator.estimates.throughput.answer import ThroughputRequest
from estimator.question.plan import Precision
from estimator.resolvers.facts import Facts
from estimator.resolvers.plan import Plan
from estimator.resolvers.resolve import resolve_plan
from receipts.checks import Flaw, lengths_agree
from receipts.comparing.asked import ReceiptRequest
from receipts.reading.receipt import Receipt, Run

_SPELLED = {"f16": "bf16", "fp16": "bf16", "float16": "bf16", "bfloat16": "bf16", "half": "bf16", "awq": "int4",
            "gptq": "int4", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "nvfp4": "nvfp4", "fp4": "nvfp4"}  # fmt: skip
_ENGINE_OF = {"vllm-bench-serve": "vllm", "sglang-bench-serving": "sglang", "trtllm-bench": "trtllm-bench"}
_DEGREES = ("tp", "pp", "ep", "dp")


def body_of(asked: ReceiptRequest, receipt: Receipt, facts: Facts) -> dict[str, Any]:
    """The setting as the body of an estimate, without its load.

    Raises:
        ResolutionError: what neither the file nor the request says.
    """
    body: dict[str, Any] = {"launch": asked.launch, "engine_settings": dict(asked.engine_settings)}
    named = {"model": receipt.model, "gpu": receipt.gpu, "engine": engine_of(receipt)}
    missing = []
    for name, written in named.items():
        stated = getattr(asked, name)
        found = stated if stated is not None else _known(name, written, facts)
        if found is None:
            missing.append(_missing(name, written))
        else:
            body[name] = found
    if missing:
        raise ResolutionError(missing)
    degrees = asked.parallelism.model_dump() if asked.parallelism is not None else {}
    body["parallelism"] = {**degrees, **{name: value for name in _DEGREES if (value := getattr(receipt.degrees, name))}}
    formats = asked.precision.model_dump(exclude_none=True) if asked.precision is not None else {}
    for name, written in (("weights", receipt.weights), ("kv_cache", receipt.kv_cache)):
        known = _format(name, written)
        if known is not None:
            formats.setdefault(name, known)
    body["precision"] = formats
    if asked.memory is not None:
        body["memory"] = asked.memory.model_dump(exclude_none=True, mode="json")
    return body


def plan_of(body: dict[str, Any], workload: dict[str, Any] | None, facts: Facts) -> Plan:
    """The plan of a setting under a load, read and checked as any question.

    Raises:
        ResolutionError: parts that are not known or do not go together.
    """
    whole = body | ({"workload": workload} if workload is not None else {})
    parsed = parse_body(ThroughputRequest, json.dumps(whole).encode(), facts)
    return resolve_plan(parsed, facts)


def workload_of(run: Run, asked: ReceiptRequest, receipt: Receipt) -> dict[str, Any] | None:
    """The load of a run as an estimate takes it; None where the file does not say what was in flight."""
    load = run.load
    if receipt.format == "llama-bench":
        inputs, outputs = load.input_tokens or 0.0, load.output_tokens or 0.0
        depth = load.depth_tokens or 0.0
        if inputs and outputs:
            return None
        return {"mode": "single_stream", "input_tokens": max(inputs + depth, 1.0), "output_tokens": max(outputs, 1.0)}
    if not load.input_tokens or not load.output_tokens:
        return None
    base: dict[str, Any] = {"input_tokens": load.input_tokens, "output_tokens": load.output_tokens}
    if asked.prefix_cache_hit_rate:
        base["prefix_cache_hit_rate"] = asked.prefix_cache_hit_rate
    concurrency = load.concurrency_asked or asked.concurrency
    if load.requests_per_s_asked and not concurrency:
        return base | {"mode": "open_loop", "requests_per_s": load.requests_per_s_asked}
    if concurrency and concurrency < 1e9:
        count = max(round(concurrency), 1)
        if count == 1:
            return base | {"mode": "single_stream"}
        return base | {"mode": "closed_loop", "concurrency": count, "traffic": traffic_of(run, count)}
    return base | {"mode": "offline"} if receipt.format == "trtllm-bench" else None


def traffic_of(run: Run, concurrency: int) -> dict[str, Any]:
    """How the requests of a benchmark came: all at once first, then one for each that ends."""
    traffic: dict[str, Any] = {"kind": "benchmark", "statistic": statistic_of(run)}
    if run.load.requests and run.load.requests >= concurrency:
        traffic["requests"] = round(run.load.requests)
    return traffic


def statistic_of(run: Run) -> str:
    """The statistic of first tokens that a run states: the mean, else the median."""
    return "p50" if run.figure("ttft_s", "mean") is None and run.figure("ttft_s", "median") is not None else "mean"


def engine_of(receipt: Receipt) -> str | None:
    """The engine with its release where the file says both."""
    engine = receipt.engine or _ENGINE_OF.get(receipt.format)
    if receipt.format == "trtllm-bench":
        return "trtllm-bench"
    if engine is None or receipt.engine_version is None or engine == "llama.cpp":
        return receipt.engine
    release = ".".join(receipt.engine_version.lstrip("v").split(".")[:2])
    return f"{engine}-{release}"


def another_setting(asked: ReceiptRequest, receipt: Receipt, facts: Facts) -> list[Flaw]:
    """What was stated and is not what the file says: another GPU, engine, split, format or length."""
    return [*_other_hardware(asked, receipt, facts), *_other_formats(asked, receipt), *_other_lengths(asked, receipt)]


def _other_hardware(asked: ReceiptRequest, receipt: Receipt, facts: Facts) -> Iterator[Flaw]:
    if asked.gpu is not None and receipt.gpu is not None:
        meant = facts.spelled("gpu", receipt.gpu)
        if meant and asked.gpu not in meant:
            yield _fault("another_gpu", "gpu", _("the file is of %(file)s") % {"file": receipt.gpu})
    if asked.engine is not None and receipt.engine is not None and not _same_engine(asked.engine, receipt, facts):
        said = f"{receipt.engine} {receipt.engine_version or ''}".strip()
        yield _fault("another_engine", "engine", _("the file is of %(file)s") % {"file": said})
    stated = asked.parallelism
    for name in _DEGREES if stated is not None else ():
        written = getattr(receipt.degrees, name)
        asked_for = getattr(stated, name) if stated is not None and name in stated.model_fields_set else None
        if asked_for is not None and written is not None and written != asked_for:
            text = _("the file has %(name)s %(file)s") % {"name": name, "file": written}
            yield _fault("another_split", f"parallelism.{name}", text)


def _other_formats(asked: ReceiptRequest, receipt: Receipt) -> Iterator[Flaw]:
    for name, written in (("weights", receipt.weights), ("kv_cache", receipt.kv_cache)):
        known, stated = _format(name, written), getattr(asked.precision, name, None)
        if known is not None and stated is not None and stated != known:
            text = _("the file has %(file)s") % {"file": written}
            yield _fault("another_format", f"precision.{name}", text)


def _other_lengths(asked: ReceiptRequest, receipt: Receipt) -> Iterator[Flaw]:
    for run in receipt.runs:
        for name in ("input_tokens", "output_tokens"):
            stated, got = getattr(asked, name), getattr(run.load, name)
            if stated is not None and got is not None and not lengths_agree(got, stated):
                text = _("the file has %(got)s a request") % {"got": f"{got:.6g}"}
                yield _fault("lengths_do_not_match", name, text)


def _same_engine(stated: str, receipt: Receipt, facts: Facts) -> bool:
    try:
        row = facts.row("engine", stated)
    except LookupError:
        return True
    mine = {str(row.get("engine")), str(row.get("slug")).split("-")[0]}
    if receipt.engine not in mine and not (receipt.engine == "tensorrt-llm" and "trtllm-bench" in mine | {row["slug"]}):
        return False
    written = engine_of(receipt)
    if written is None or receipt.engine_version is None or receipt.engine == "llama.cpp":
        return True
    try:
        return bool(facts.row("engine", written)["slug"] == row["slug"])
    except LookupError:
        return True


def _known(kind: str, written: str | None, facts: Facts) -> str | None:
    """The slug that a file's name means, where it means one."""
    if written is None:
        return None
    names = [written, written.rstrip("/").rsplit("/", 1)[-1]]
    for name in names:
        try:
            return str(facts.row(kind, name)["slug"]) if kind != "engine" else _engine_name(name, facts)  # type: ignore[arg-type]
        except LookupError:
            meant = facts.spelled(kind, name)  # type: ignore[arg-type]
            if len(meant) == 1:
                return meant[0]
    return None


def _engine_name(name: str, facts: Facts) -> str:
    facts.row("engine", name)
    return name


def _missing(name: str, written: str | None) -> Fault:
    if written is None:
        detail = _("The file does not say it.")
    else:
        detail = _("The file says “%(name)s”, which is none of the catalog: say which it is.") % {"name": written[:100]}
    return Fault(path=(name,), code="required", detail=detail)


def _fault(code: str, name: str, detail: str) -> Flaw:
    return Flaw(code=code, field=name, detail=detail)


def _format(name: str, written: str | None) -> str | None:
    if written is None:
        return None
    known = _SPELLED.get(written.lower(), written.lower())
    try:
        Precision.model_validate({name: known})
    except ValueError:
        return None
    return known
