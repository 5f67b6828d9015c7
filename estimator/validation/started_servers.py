"""Servers of 2024 to 2026 that printed their memory at start: each asked as a request, each printed figure beside it.

`data/started_servers.yaml` holds the body of a memory-fit request for every log and what the log printed. Two things
are compared: what the engine makes of the cache it printed (concurrency, tokens, blocks), and the room that the ledger
leaves for the cache where the log states memory and utilization.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import yaml

from estimator.engine.memory.ledger import RankMemory, rank_memory
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.policy import GIB
from estimator.engine.memory.startup_lines import bytes_of_printed, printed_tokens, startup_lines
from estimator.engine.specs import EngineProfile
from estimator.estimates.memory_fit.load import memory_plan
from estimator.question.plan import PlanRequest
from estimator.resolvers.plan import Plan
from estimator.resolvers.resolve import resolve_plan
from estimator.validation import shipped
from estimator.validation.memory_rows import score_memory

_FILE = Path(__file__).parent / "data" / "started_servers.yaml"
GIB_FIGURES = ("room", "activation", "cuda_graph")
"""Figures whose error is said in GiB; that of the others is a share."""
_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM"}
_MOST_GIB, _MOST_SHARE = 0.3, 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedServer:
    """One start: the question as a request states it, and what was printed.

    `states` are the settings that the log itself says (version, length, batched, utilization, memory); the others are
    the version's defaults or read from the figures. `slots` of llama.cpp. `causes` tells by figure why it differs.
    """

    id: str
    question: Mapping[str, Any]
    printed: Mapping[str, float]
    source: str
    date: str
    version: str | None = None
    states: tuple[str, ...] = ()
    slots: int = 1
    causes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFigure:
    """One printed figure and what is said of it; `error` is a share, or GiB for `GIB_FIGURES`."""

    server: StartedServer
    family: str
    name: str
    printed: float
    said: float
    error: float

    @property
    def is_apart(self) -> bool:
        """Whether it is further off than the bars: 0.3 GiB, or 1 %."""
        return abs(self.error) > (_MOST_GIB if self.name in GIB_FIGURES else _MOST_SHARE)

    @property
    def cause(self) -> str:
        """Why they differ, empty where nobody has to ask."""
        return self.server.causes.get(self.name, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSummary:
    """Errors of one figure in one family of versions: absolute, shares or GiB."""

    family: str
    name: str
    rows: int
    median: float
    p90: float
    worst: float


@cache
def read_started_servers() -> tuple[StartedServer, ...]:
    """The shipped logs that can be asked."""
    return tuple(
        StartedServer(**{**row, "states": tuple(row.get("states", ())), "date": str(row["date"])})
        for row in _content()["servers"]
    )


def not_asked() -> dict[str, str]:
    """Logs that cannot be asked, with the reason."""
    return {row["id"]: row["reason"] for row in _content()["left_out"]}


@cache
def _content() -> dict[str, list[dict[str, Any]]]:
    with _FILE.open(encoding="utf-8") as stream:
        content: dict[str, list[dict[str, Any]]] = yaml.safe_load(stream)
    return content


def plan_of(server: StartedServer) -> tuple[Plan, int]:
    """The plan of a log, resolved from the shipped data as a request is, and the length of its server in tokens."""
    plan = resolve_plan(PlanRequest.model_validate(server.question), shipped.facts())
    return plan, plan.memory.max_model_len or plan.model.context_window_tokens or 1


def family_of(engine: EngineProfile) -> str:
    """The versions that share the rules of a profile."""
    return f"{_NAMES.get(engine.engine, engine.engine)} {engine.engine_version}"


def compare(server: StartedServer) -> tuple[ComparedFigure, ...]:
    """Every printed figure of a log beside what is said of it."""
    plan, length = plan_of(server)
    memory = memory_plan(plan, longest_tokens=length)
    rank = rank_memory(memory)
    return tuple(
        ComparedFigure(
            server=server,
            family=family_of(plan.engine),
            name=name,
            printed=printed,
            said=said,
            error=said - printed if name in GIB_FIGURES else said / printed - 1,
        )
        for name, printed, said in _figures(server, memory, rank, length, plan.engine.engine)
    )


def _figures(
    server: StartedServer, memory: MemoryPlan, rank: RankMemory, length: int, engine: str
) -> Iterator[tuple[str, float, float]]:
    printed = server.printed
    if "weights_gib" in printed:
        yield "weights", printed["weights_gib"], rank.weights_bytes / GIB
    if "activation_gib" in printed:
        activation = rank.activation_bytes + rank.outside_activation_bytes
        yield "activation", printed["activation_gib"], activation / GIB
    if "cuda_graph_gib" in printed:
        graphs = rank.cuda_graph_bytes + rank.outside_graph_bytes
        yield "cuda_graph", printed["cuda_graph_gib"], graphs / GIB
    if engine == "llama.cpp":
        need = rank.allocation.load_bytes(server.slots, length // server.slots)
        yield "cache", printed["cache_gib"], float(need) / GIB
        return
    yield from _of_the_pool(server, memory, rank, length)
    if {"utilization", "memory"} <= set(server.states):
        tokens = printed.get("kv_cache_tokens", 0)
        room = printed.get("cache_gib") or bytes_of_printed(memory, rank, tokens / memory.parallelism.dp) / GIB
        yield "room", room, rank.kv_budget_bytes / GIB


def _of_the_pool(
    server: StartedServer, memory: MemoryPlan, rank: RankMemory, length: int
) -> Iterator[tuple[str, float, float]]:
    """What the engine makes of the cache that was printed."""
    printed = server.printed
    pool = printed.get("pool_gib") or printed.get("cache_gib")
    if pool is None:
        return
    available = pool * GIB
    lines = startup_lines(memory, rank, available_bytes=available, max_model_len=length)
    if "concurrency" in printed and lines.concurrency is not None:
        yield "concurrency", printed["concurrency"], lines.concurrency
    tokens = printed_tokens(memory, rank, available_bytes=available, max_model_len=length)
    if "kv_cache_tokens" in printed and tokens is not None:
        yield "tokens", printed["kv_cache_tokens"], tokens
    if "blocks" in printed and lines.blocks is not None:
        yield "blocks", printed["blocks"], lines.blocks


@cache
def compared() -> tuple[ComparedFigure, ...]:
    """Every figure of every shipped log."""
    return tuple(figure for server in read_started_servers() for figure in compare(server))


def rooms_of_older_logs() -> Iterator[tuple[str, str, float]]:
    """Errors of the room in the logs of `memory.yaml` that state memory and utilization, GiB by family."""
    for score in score_memory(shipped.architecture, shipped.profile):
        states = score.row.utilization is not None and score.row.assumed is None
        if score.compares == "kv_gib" and states and score.error_gib is not None:
            yield family_of(shipped.profile(score.row.engine)), "room", score.error_gib


def summarise_figures(errors: Iterable[tuple[str, str, float]]) -> tuple[FigureSummary, ...]:
    """Absolute errors by family of versions and figure, sorted by name."""
    groups: dict[tuple[str, str], list[float]] = {}
    for family, name, error in errors:
        groups.setdefault((family, name), []).append(abs(error))
    return tuple(_summary(family, name, group) for (family, name), group in sorted(groups.items()))


def summary_by_version() -> tuple[FigureSummary, ...]:
    """The logs of both files, by family of versions and figure."""
    own = ((figure.family, figure.name, figure.error) for figure in compared())
    return summarise_figures((*own, *rooms_of_older_logs()))


def _summary(family: str, name: str, errors: Sequence[float]) -> FigureSummary:
    return FigureSummary(
        family=family,
        name=name,
        rows=len(errors),
        median=median(errors),
        p90=float(np.quantile(errors, 0.9)),
        worst=max(errors),
    )
