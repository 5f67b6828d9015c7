"""A pasted start-up log beside the ledger: for each printed figure what is said of it, how far apart, and why."""

from collections.abc import Mapping
from typing import Literal

from django.utils.translation import gettext as _
from pydantic import Field

from catalog.engine_versions import covers, version_of
from estimator.engine.errors import InvalidInputError
from estimator.engine.faults import Fault, FaultCode, ResolutionError
from estimator.engine.memory.startup_log import PrintedFigure, StartupLog, read_startup_log
from estimator.estimates.answers import ResponsePart
from estimator.estimates.memory_fit.compute import MemoryEstimate
from estimator.estimates.memory_fit.log_causes import likely_cause
from estimator.estimates.memory_fit.log_figures import SETTINGS, agrees, said_figures

_ENGINES = "vLLM, SGLang, llama.cpp, TensorRT-LLM"
_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM", "llama.cpp": "llama.cpp"}
_SAME_LINES = {"nim": "tensorrt-llm", "trtllm-bench": "tensorrt-llm"}
"""Engines that print the lines of another."""
_MOST_LINES = 200
_NO_TEXT = [chr(code) for code in range(32) if chr(code) not in "\t\n\r\x08\x0b\x0c\x1b"] + ["\ufffd"]
_MOST_CONTROL_CODES = 0.01
"""Share of a log that may be codes no text has; progress bars leave some."""


class StartupLogLine(ResponsePart):
    """One figure that the server printed."""

    line: int = Field(description="Number of the line in the text, from 1.")
    text: str = Field(description="The line, up to 200 characters.")
    figure: str = Field(description="What it says, spelled as in this answer; a setting as in the request.")
    unit: Literal["bytes", "tokens", "count", "1"] = Field(description="Unit of printed, said and difference.")
    printed: float = Field(description="What the server printed, in unit.")
    said: float | None = Field(description="What this estimate says of it, in unit; null where it says nothing.")
    difference: float | None = Field(description="Printed less said, in unit; null where nothing is said.")
    agrees: bool | None = Field(
        description="Whether they are within what printing rounds off or 1 %; null without said."
    )
    likely_cause: str | None = Field(description="Why they differ, most likely; null where they agree.")


class StartupLogPart(ResponsePart):
    """A pasted log, line by line."""

    engine: str = Field(description="Engine whose lines were read.")
    engine_version: str | None = Field(description="Version that the log prints; null where it prints none.")
    lines: list[StartupLogLine] = Field(description="Printed figures in the order of the log, at most 200.")
    agreeing: int = Field(description="Lines that agree, count.")
    differing: int = Field(description="Lines that differ, count.")


def startup_log_part(text: str, estimate: MemoryEstimate) -> StartupLogPart:
    """The log beside the estimate.

    Raises:
        ResolutionError: the text holds no line of a known engine, is of another engine than the plan's, or prints what
            cannot be.
    """
    if sum(text.count(code) for code in _NO_TEXT) > len(text) * _MOST_CONTROL_CODES:
        raise _refused("invalid", _("is no text: paste the lines of a log."))
    try:
        log = read_startup_log(text)
    except InvalidInputError as wrong:
        raise _refused("invalid", f"{wrong}.") from None
    engine = log.engine
    if engine is None:
        raise _refused("invalid", _unread(log))
    asked = estimate.plan.engine.engine
    if engine != _SAME_LINES.get(asked, asked):
        detail = _("is a log of %(log)s, while engine is %(asked)s: ask with the engine of the log.")
        raise _refused("ambiguous", detail % {"log": _NAMES[engine], "asked": _NAMES.get(asked, asked)})
    said = said_figures(estimate, log)
    lines = [_line(printed, said, log, estimate) for printed in log.figures[:_MOST_LINES]]
    return StartupLogPart(
        engine=engine,
        engine_version=log.version,
        lines=lines,
        agreeing=sum(line.agrees is True for line in lines),
        differing=sum(line.agrees is False for line in lines),
    )


def log_warnings(part: StartupLogPart | None, estimate: MemoryEstimate) -> list[str]:
    """A warning where the log is of a version that the profile does not cover."""
    profile = estimate.plan.engine
    if part is None or part.engine_version is None or not profile.engine_version:
        return []
    if covers(profile.engine_version, version_of(part.engine_version)):
        return []
    text = _("The log is of %(engine)s %(version)s, the estimate of %(profile)s (%(range)s): ask with engine %(ask)s.")
    named = f"{part.engine}-{part.engine_version}"
    return [
        text
        % {
            "engine": _NAMES[part.engine],
            "version": part.engine_version,
            "profile": profile.slug,
            "range": profile.engine_version,
            "ask": named,
        }
    ]


def _unread(log: StartupLog) -> str:
    if log.other_engine is not None:
        text = _("is a log of %(engine)s; those of %(known)s are read.")
        return text % {"engine": log.other_engine, "known": _ENGINES}
    return _("holds no line on memory that is known; those that %(known)s print at start are read.") % {
        "known": _ENGINES
    }


def _refused(code: FaultCode, detail: str) -> ResolutionError:
    return ResolutionError([Fault(path=("startup_log",), code=code, detail=detail)])


def _line(
    printed: PrintedFigure, figures: Mapping[str, float], log: StartupLog, estimate: MemoryEstimate
) -> StartupLogLine:
    said = figures.get(printed.name)
    same = None if said is None else agrees(printed.name, printed.value, said)
    return StartupLogLine(
        line=printed.line,
        text=printed.text,
        figure=SETTINGS.get(printed.name, printed.name),
        unit=_unit(printed.name),
        printed=_written(printed.value, printed.name),
        said=None if said is None else _written(said, printed.name),
        difference=None if said is None else _written(printed.value - said, printed.name),
        agrees=same,
        likely_cause=likely_cause(printed, figures, log, estimate) if same is False else None,
    )


def _written(value: float, name: str) -> float:
    """Whole bytes, tokens and counts; other figures to six places."""
    return round(value, 6) if _unit(name) == "1" else float(round(value))


def _unit(name: str) -> Literal["bytes", "tokens", "count", "1"]:
    if name.endswith("_bytes"):
        return "bytes"
    if name in ("utilization", "concurrency"):
        return "1"
    return "count" if name in ("blocks", "max_num_seqs", "tp", "pp") else "tokens"
