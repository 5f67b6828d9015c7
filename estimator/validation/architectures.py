"""The reader against exact answers: every shipped model's counts and cache figures, and what differs with the reason.

The answers (estimator/validation/data/exact_answers.csv) were made by building each model without weights and counting;
trust A equals the published integer, B differs from it by an explained amount, C is within 1.5 % of a rounded figure,
D has nothing published.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from estimator.engine.model.cache import kv_cache_summary
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.model.spec import Architecture
from estimator.validation import shipped

_FILE = Path(__file__).parent / "data" / "exact_answers.csv"
FIGURES = (
    "total_params",
    "text_params",
    "active_params",
    "active_matmul_params",
    "kv_bytes_per_token_bf16",
    "indexer_bytes_per_token_bf16",
    "window_bytes_per_token_bf16",
    "window_bytes_per_seq_cap_bf16",
    "state_bytes_per_seq_vllm_bf16",
    "state_bytes_per_seq_vllm_fp32ssm",
)
_V4 = "K and V of DeepSeek V4 are one vector: the figure there counts it twice for a token, once for the window's cap"
_STEP = "the count there took the class default vocabulary (128,815) where the file says 128,896; no cache was built"
_KIMI = "the count there left out tower and projector (471,143,920), which the page's 554.32 GiB hold"
# What is read otherwise than the answer on purpose, by model and figure ("*": all), with the reason.
ON_PURPOSE: dict[str, tuple[tuple[str, ...], str]] = {
    "deepseek-v4-flash": (("window_bytes_per_token_bf16",), _V4),
    "deepseek-v4-pro": (("window_bytes_per_token_bf16",), _V4),
    "deepseek-v4-flash-nvfp4": (("window_bytes_per_token_bf16",), _V4),
    "deepseek-v4-pro-nvfp4": (("window_bytes_per_token_bf16",), _V4),
    "step-3.7-flash": (FIGURES, _STEP),
    "kimi-k2.5": (("total_params",), _KIMI),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Exact figures of one shipped model; `published_total` and `reason` explain its trust."""

    slug: str
    trust: str
    figures: dict[str, int]
    published_total: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One model read: figures that differ (read, exact), those that differ on purpose, and the reason."""

    answer: Answer
    wrong: dict[str, tuple[int, int]]
    on_purpose: dict[str, tuple[int, int]]
    reason: str


@cache
def read_answers() -> tuple[Answer, ...]:
    """The shipped answers."""
    with _FILE.open(encoding="utf-8") as stream:
        return tuple(
            Answer(
                slug=row["slug"],
                trust=row["trust"],
                figures={name: int(row[name]) for name in FIGURES},
                published_total=int(row["published_total"]) if row["published_total"] else None,
                reason=row["reason"],
            )
            for row in csv.DictReader(stream)
        )


def figures_of(architecture: Architecture) -> dict[str, int]:
    """The reader's figures under the names of the answers."""
    totals = parameter_totals(architecture)
    cache_figures = kv_cache_summary(architecture)
    return {
        "total_params": totals.total,
        "text_params": totals.text,
        "active_params": totals.active,
        "active_matmul_params": totals.active_without_input_embedding,
        "kv_bytes_per_token_bf16": cache_figures.bytes_per_token,
        "indexer_bytes_per_token_bf16": cache_figures.index_bytes_per_token,
        "window_bytes_per_token_bf16": cache_figures.window_bytes_per_token,
        "window_bytes_per_seq_cap_bf16": cache_figures.window_bytes_per_sequence,
        "state_bytes_per_seq_vllm_bf16": cache_figures.state_bytes_per_sequence_bf16,
        "state_bytes_per_seq_vllm_fp32ssm": cache_figures.state_bytes_per_sequence_fp32,
    }


def compare(answer: Answer, architecture: Architecture) -> Comparison:
    """One model's figures against its answer."""
    read = figures_of(architecture)
    differs = {name: (read[name], exact) for name, exact in answer.figures.items() if read[name] != exact}
    names, reason = ON_PURPOSE.get(answer.slug, ((), ""))
    return Comparison(
        answer=answer,
        wrong={name: pair for name, pair in differs.items() if name not in names},
        on_purpose={name: pair for name, pair in differs.items() if name in names},
        reason=reason,
    )


def compare_all() -> tuple[Comparison, ...]:
    """Every shipped model that has an answer."""
    return tuple(compare(answer, shipped.architecture(answer.slug)) for answer in read_answers())


_REASONS = {
    "C": "published figure is rounded, or recalled",
    "D": "nothing published to compare with",
}


def document() -> str:
    """docs/architectures.md: how many models are read exactly, and the rest with the reason for each."""
    comparisons = compare_all()
    exact = [one for one in comparisons if not one.wrong and not one.on_purpose]
    lines = [
        "# Models read from config.json",
        "",
        "Written by `manage.py write_architectures_doc`; a test keeps it current. " + " ".join((__doc__ or "").split()),
        "",
        f"{len(comparisons)} models have exact answers; {len(exact)} are read to every figure of theirs: total, text",
        "and active parameters by both definitions, cache bytes per token, windows, index and state.",
        "",
        "## Figures read otherwise on purpose",
        "",
        "| model | figure | read | answer | reason |",
        "|---|---|---|---|---|",
    ]
    for one in comparisons:
        for name, (read, answer) in {**one.wrong, **one.on_purpose}.items():
            lines.append(f"| {one.answer.slug} | {name} | {read:,} | {answer:,} | {one.reason or 'WRONG'} |")
    lines += [
        "",
        "## Counts that differ from the published figure, or have none",
        "",
        "| model | trust | counted | published | difference | reason |",
        "|---|---|---|---|---|---|",
    ]
    for one in comparisons:
        lines += _published_line(one.answer)
    return "\n".join(lines) + "\n"


def _published_line(answer: Answer) -> list[str]:
    total, published = answer.figures["total_params"], answer.published_total
    if answer.trust == "A" or published == total:
        return []
    reason = answer.reason or _REASONS.get(answer.trust, "")
    shown = "" if published is None else f"{published:,}"
    difference = "" if published is None else f"{total - published:+,}"
    return [f"| {answer.slug} | {answer.trust} | {total:,} | {shown} | {difference} | {reason} |"]
