"""A file read, checked and held against the estimate; nothing is kept here."""

from dataclasses import asdict, dataclass
from typing import Any

from estimator.engine.errors import EngineError
from estimator.engine.faults import Fault, ResolutionError
from estimator.resolvers.calibrations import scope_of
from estimator.resolvers.facts import Facts
from estimator.resolvers.plan import Plan
from receipts.checks import LEAST_ROUNDS, Flaw, faults_of
from receipts.comparing.asked import ReceiptRequest
from receipts.comparing.memory import log_said
from receipts.comparing.said import measured_of, run_said
from receipts.comparing.setting import another_setting, body_of, plan_of
from receipts.reading.receipt import ReadError, Receipt, Run
from receipts.reading.recognise import read_receipt

MOST_FAULTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A receipt with what is said of each run; `body` is its setting as a question."""

    receipt: Receipt
    body: dict[str, Any]
    plan: Plan
    scope: dict[str, Any] | None
    runs: list[dict[str, Any]]


def measure(asked: ReceiptRequest, facts: Facts) -> Measured:
    """The file beside the estimate.

    Raises:
        ResolutionError: the file is none that is read, cannot be true, or is not of the setting that was stated; or
            neither file nor request says a part of the setting.
        EngineError: a figure of the setting that is not known.
    """
    try:
        receipt = read_receipt(asked.text)
    except ReadError as error:
        raise refusal([Flaw(code=error.code, field=error.field, detail=error.detail)]) from None
    faults = [*faults_of(receipt), *another_setting(asked, receipt, facts)]
    if faults:
        raise refusal(faults)
    body = body_of(asked, receipt, facts)
    plan = plan_of(body, None, facts)
    runs, beyond = _said(asked, receipt, body, facts)
    if beyond:
        raise refusal(beyond)
    return Measured(receipt=receipt, body=body, plan=plan, scope=scope_of(plan), runs=runs)


def _said(
    asked: ReceiptRequest, receipt: Receipt, body: dict[str, Any], facts: Facts
) -> tuple[list[dict[str, Any]], list[Flaw]]:
    if receipt.format == "startup-log":
        return [log_said(asked.text, receipt, body, facts)], []
    runs, beyond = [], []
    for run in receipt.runs:
        said, faults = run_said(run, asked, receipt, body, facts)
        runs.append(said | {"point": point_of(run, said)})
        beyond += faults
    return runs, beyond


def point_of(run: Run, said: dict[str, Any]) -> dict[str, Any] | None:
    """The run as a calibration takes it: a MeasuredPoint as JSON.

    None where its load is none that one is made of, or was too short for it.
    """
    workload = said["workload"]
    if (
        workload is None
        or workload["mode"] not in ("closed_loop", "single_stream")
        or workload.get("prefix_cache_hit_rate")
        or run.load.depth_tokens is not None
    ):
        return None
    concurrency = workload.get("concurrency", 1)
    if run.load.requests is None or run.load.requests < LEAST_ROUNDS * concurrency:
        return None
    each, first = (measured_of(name, run) for name in ("tpot_s", "ttft_s"))
    if each is None and first is None:
        return None
    return {
        "input_tokens": workload["input_tokens"],
        "output_tokens": workload["output_tokens"],
        "concurrency": concurrency,
        "tpot_s": None if each is None else each.value,
        "ttft_s": None if first is None else first.value,
        "traffic": workload.get("traffic", {}),
    }


def refusal(faults: list[Flaw]) -> ResolutionError:
    """What is wrong with a file, each fault with its place in it, at most twenty."""
    issues = []
    for fault in faults[:MOST_FAULTS]:
        stated = fault.code.startswith("another_") or fault.field in ("input_tokens", "output_tokens")
        path: tuple[str, ...] = tuple(fault.field.split(".")) if stated else ("text",)
        place = f"{fault.field}: " if fault.field and not stated else ""
        issues.append(Fault(path=path, code="invalid", detail=f"{place}{fault.detail} ({fault.code})."))
    return ResolutionError(issues)


def read_parts(receipt: Receipt) -> dict[str, Any]:
    """The receipt as it stands in answers: names, settings and figures; no text of the file."""
    return {
        "format": receipt.format,
        "format_version": receipt.format_version,
        "engine": receipt.engine,
        "engine_version": receipt.engine_version,
        "model": receipt.model,
        "gpu": receipt.gpu,
        "gpus": receipt.gpus,
        "parallelism": asdict(receipt.degrees),
        "weights": receipt.weights,
        "kv_cache": receipt.kv_cache,
        "settings": dict(receipt.settings),
        "date": receipt.date,
        "runs": [_run_parts(run) for run in receipt.runs],
        "not_read": list(receipt.not_read),
    }


def _run_parts(run: Run) -> dict[str, Any]:
    load = {name: value for name, value in asdict(run.load).items() if value is not None}
    return {"place": run.place, "load": load, "figures": [asdict(figure) for figure in run.figures]}


def engine_faults(error: EngineError) -> ResolutionError:
    """An engine's refusal as a fault of the question."""
    path = tuple(error.field.split(".")) if error.field else ("text",)
    return ResolutionError([Fault(path=path, code="invalid", detail=str(error))])
