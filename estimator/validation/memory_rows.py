"""Start-up logs against the memory model: KV capacity given the settings a log states, and failed starts.

`score_memory()` recomputes every row from the shipped data; `manage.py validate` prints its summary.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from estimator.engine.memory.fit import MemoryFit, memory_fit
from estimator.engine.memory.ledger import rank_memory
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.policy import GIB
from estimator.engine.model.spec import Architecture
from estimator.engine.options import Lora, MemoryOverrides
from estimator.engine.specs import EngineProfile, Parallelism, Precision
from estimator.validation.accuracy import Sizes, sizes_of

_FILE = Path(__file__).parent / "data" / "memory.yaml"
UNKNOWN_BYTES = 10**15
_NEWEST = "vllm-0.19"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartUp:
    """One start of a server: settings, and what it printed (GiB of one GPU, tokens of the replica).

    Without `memory_gib` and `utilization` only bytes per token can be compared. `assumed` names a setting that the
    log does not print. Rows that are not clean leave something unsaid.
    """

    id: str
    model: str
    engine: str
    engine_version: str
    clean: bool
    source: str
    date: str
    memory_gib: float | None = None
    utilization: float | None = None
    gpu_family: str | None = None
    tp: int = 1
    pp: int = 1
    weights: str = "bf16"
    kv_cache: str = "bf16"
    max_model_len: int | None = None
    max_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    lora_rank: int | None = None
    kv_gib: float | None = None
    kv_tokens: int | None = None
    weights_gib: float | None = None
    activation_gib: float | None = None
    started: bool = True
    assumed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScore:
    """One row predicted: cache of a GPU in GiB, tokens of the replica, and the error as a fraction.

    `compares` says what was compared: kv_gib, kv_tokens (from memory and settings), or tokens_from_bytes.
    """

    row: StartUp
    compares: str
    measured: float
    predicted: float
    error: float
    error_gib: float | None
    weights_gib: float
    activation_gib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySummary(Sizes):
    """Errors of a group of rows as fractions; `within_gib` is the share within 1 GiB, None where no bytes are known."""

    worst: float
    within_gib: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedStart:
    """A start that failed: whether the model refuses it and the term it names; the same on the newest vLLM."""

    row: StartUp
    refused: bool
    binding_term: str
    refused_on_newest: bool


@cache
def read_start_ups() -> tuple[StartUp, ...]:
    """The shipped rows."""
    with _FILE.open(encoding="utf-8") as stream:
        rows: list[dict[str, Any]] = yaml.safe_load(stream)
    return tuple(StartUp(**{**row, "date": str(row["date"])}) for row in rows)


def memory_plan_of(row: StartUp, architecture: Architecture, engine: EngineProfile) -> MemoryPlan:
    """The memory model's inputs for a row."""
    return MemoryPlan(
        architecture=architecture,
        memory_bytes=UNKNOWN_BYTES if row.memory_gib is None else int(row.memory_gib * GIB),
        gpu_family=row.gpu_family,
        policy=engine.memory,
        precision=Precision(weights=row.weights, kv_cache=row.kv_cache),
        parallelism=Parallelism(tp=row.tp, pp=row.pp),
        overrides=MemoryOverrides(
            utilization=row.utilization,
            max_batched_tokens=row.max_batched_tokens,
            max_num_seqs=row.max_num_seqs,
        ),
        lora=None if row.lora_rank is None else Lora(max_loras=1, max_rank=row.lora_rank),
        longest_tokens=row.max_model_len or architecture.max_context_tokens or 1,
    )


def score_row(row: StartUp, architecture: Architecture, engine: EngineProfile) -> MemoryScore:
    """A row predicted; logs of pipelines are those of the first stage.

    Raises:
        ValueError: the row prints neither cache bytes nor tokens.
    """
    rank = rank_memory(memory_plan_of(row, architecture, engine), stage=0)
    common: dict[str, Any] = {
        "row": row,
        "weights_gib": rank.weights_bytes / GIB,
        "activation_gib": rank.activation_bytes / GIB,
    }
    block = rank.allocation.main_block_tokens
    per_token = float(rank.allocation.short_bytes_per_token)
    if row.memory_gib is None:
        if row.kv_tokens is None or row.kv_gib is None:
            raise ValueError(f"{row.id} prints nothing to compare")
        tokens = row.kv_gib * GIB / per_token
        return MemoryScore(
            compares="tokens_from_bytes",
            measured=row.kv_tokens,
            predicted=tokens,
            error=tokens / row.kv_tokens - 1,
            error_gib=None,
            **common,
        )
    cache_gib = rank.kv_budget_bytes / GIB
    if row.kv_gib is not None:
        return MemoryScore(
            compares="kv_gib",
            measured=row.kv_gib,
            predicted=cache_gib,
            error=(cache_gib - row.kv_gib) / abs(row.kv_gib),
            error_gib=cache_gib - row.kv_gib,
            **common,
        )
    if row.kv_tokens is None:
        raise ValueError(f"{row.id} prints nothing to compare")
    tokens = int(rank.kv_budget_bytes / (block * per_token)) * block
    return MemoryScore(
        compares="kv_tokens",
        measured=row.kv_tokens,
        predicted=tokens,
        error=tokens / row.kv_tokens - 1,
        error_gib=(tokens - row.kv_tokens) * per_token / GIB,
        **common,
    )


def score_memory(architecture: Any, engine: Any, rows: Sequence[StartUp] | None = None) -> tuple[MemoryScore, ...]:
    """Every row that started, predicted.

    Args:
        architecture: slug → Architecture of a shipped model.
        engine: slug → EngineProfile of a shipped engine.
        rows: other rows of the same form; None takes the shipped ones.
    """
    chosen = read_start_ups() if rows is None else rows
    return tuple(score_row(row, architecture(row.model), engine(row.engine)) for row in chosen if row.started)


def failed_starts(architecture: Any, engine: Any) -> tuple[FailedStart, ...]:
    """Every start that failed, fitted at the length it asked for."""
    found = []
    for row in read_start_ups():
        if row.started:
            continue
        fit, newest = (_fit_of(row, architecture, engine(name)) for name in (row.engine, _NEWEST))
        found.append(
            FailedStart(
                row=row,
                refused=not fit.feasible,
                binding_term=fit.binding_term.value,
                refused_on_newest=not newest.feasible,
            )
        )
    return tuple(found)


def _fit_of(row: StartUp, architecture: Any, engine: EngineProfile) -> MemoryFit:
    plan = memory_plan_of(row, architecture(row.model), engine)
    return memory_fit(plan, sequences=1, context_tokens=plan.longest_tokens)


def summarise(scores: Iterable[MemoryScore]) -> tuple[MemorySummary, ...]:
    """The groups of the bars: vLLM 0.11 and 0.19, all clean rows, and the rest of the engines."""
    listed = list(scores)
    clean = [score for score in listed if score.row.clean]
    recent = [score for score in clean if score.row.engine_version.startswith(("0.11", "0.19"))]
    groups = [("vLLM 0.11 and 0.19", recent), ("all clean rows", clean)]
    for name in sorted({score.row.engine for score in clean}):
        groups.append((name, [score for score in clean if score.row.engine == name]))
    return tuple(_summary(name, rows) for name, rows in groups if rows)


def _summary(name: str, scores: Sequence[MemoryScore]) -> MemorySummary:
    sizes = [abs(score.error) for score in scores]
    gib = [abs(score.error_gib) <= 1.0 for score in scores if score.error_gib is not None]
    return MemorySummary(
        **sizes_of(name, sizes),
        worst=max(sizes),
        within_gib=sum(gib) / len(gib) if gib else None,
    )
