"""Parts of the model beside measurements of those parts: all-reduces, kernel efficiencies, what a draft gains.

The files data/allreduce.csv and data/kernel_efficiency.csv hold measured kernels of aiconfigurator-core 0.12 (NVIDIA,
Apache-2.0): of all-reduces the engines' own kernels inside captured graphs (fastest and median), of the others
percentiles of the share of bandwidth or dense peak. data/speculation.csv holds published gains and accepted lengths,
each with its source.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from estimator.constants import kernels
from estimator.engine.forward_pass.kernels import link_row
from estimator.engine.speculation.gain import implied_acceptance_rate, speed_up, tokens_per_pass
from estimator.validation import shipped
from estimator.validation.rows import DATA_DIR

_GPUS = {
    "a100_sxm": "a100-sxm4-80gb",
    "h100_sxm": "h100-sxm5-80gb",
    "h200_sxm": "h200-sxm-141gb",
    "b200_sxm": "b200-sxm-180gb",
    "b300_sxm": "b300-sxm-288gb",
    "gb200": "gb200",
    "gb300": "gb300",
    "l40s": "l40s",
    "rtx_pro_6000_server": "rtx-pro-6000-server",
}
_MATRIX_SIDE, _PROMPT_TOKENS = 8192.0, 8192.0
_FROM_DRAFTS = 3
_FORMATS = {"bfloat16": "bf16", "fp8": "fp8", "nvfp4": "nvfp4"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One table of a part: a title, a sentence on what is compared, headings, and cells."""

    key: str
    title: str
    note: str
    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


def components() -> tuple[Component, ...]:
    """The parts that are measured on their own."""
    return (_all_reduces(), _kernels(), _gains(), _lengths())


def all_reduce_errors() -> dict[tuple[str, int], list[float]]:
    """Signed relative errors of `latency + 2(n − 1)/n · bytes / bus` by system and GPUs."""
    found: dict[tuple[str, int], list[float]] = {}
    for row in _rows("allreduce.csv"):
        gpus, size = int(row["gpus"]), float(row["bytes"])
        link = link_row(shipped.gpu(_GPUS[row["system"]]), gpus, kernels.shipped())
        said = link.latency_s + 2.0 * (gpus - 1) / gpus * size / link.bus_bytes_per_s
        found.setdefault((row["system"], gpus), []).append(said / float(row["median_s"]) - 1.0)
    return found


def _all_reduces() -> Component:
    return Component(
        key="all_reduce",
        title="All-reduce inside a node, against measured kernels",
        note=(
            "One latency and one bus bandwidth for each link and number of GPUs. L40S and RTX PRO nodes of the kernel "
            "tables have slow PCIe topologies; the figures in use come from throughput tables of PCIe nodes."
        ),
        headings=("system and GPUs", "rows", "median %", "P90 %", "bias %"),
        lines=tuple((f"{system}, {gpus}", *_errors(errors)) for (system, gpus), errors in all_reduce_errors().items()),
    )


def kernel_shares() -> Iterable[tuple[dict[str, str], float]]:
    """Each measured kernel efficiency with the share that the model uses in its place."""
    for row in _rows("kernel_efficiency.csv"):
        family = shipped.gpu(_GPUS[row["system"]]).kernel_family or ""
        ours = _our_share(row["operator"], row["format"], family)
        if ours is not None:
            yield row, ours


def _our_share(operator: str, form: str, family: str) -> float | None:
    tables, constants = kernels.reference(), kernels.shipped()
    if operator == "gemm_large":
        row = tables.gemm.get((family, _FORMATS.get(form, "")))
        return row.compute_share * _MATRIX_SIDE / (_MATRIX_SIDE + row.half_size) if row else None
    if operator == "decode_mla":
        latent = tables.latent_attention[family]
        return latent.decode_bf16 if form == "kv bfloat16" else latent.decode_fp8
    attention = tables.attention[family]
    if operator == "decode_attention":
        return attention.decode_bf16 if form == "kv bfloat16" else attention.decode_fp8
    if form != "attn bfloat16/kv bfloat16":
        return None
    filled = _PROMPT_TOKENS / (_PROMPT_TOKENS + constants.operators.prefill_half_length_tokens)
    return constants.attention[family].prefill_bf16 * filled


def _kernels() -> Component:
    return Component(
        key="kernel_efficiency",
        title="Kernel efficiencies beside the constants in use",
        note=(
            "Share of the dense peak (products of 4,096 and more, prompts of 4,096 and more) or of bandwidth (decode "
            "attention). Ours for a matrix side and a prompt of 8,192; prefill attention with its fitted factor 1.3: "
            "whole engines run the best library of a shape, the percentiles are over libraries."
        ),
        headings=("system, operator, format", "P10", "median", "P90", "best library", "ours"),
        lines=tuple(
            (
                f"{row['system']}, {row['operator']}, {row['format']}",
                *(row[name] for name in ("p10", "p50", "p90", "best_engine_p50")),
                f"{ours:.2f}",
            )
            for row, ours in kernel_shares()
        ),
    )


def gain_errors() -> dict[str, list[float]]:
    """Signed relative errors of the speed-up from acceptance, drafts and the draft's share of parameters, by draft."""
    found: dict[str, list[float]] = {}
    for row in _of_kind("speed_up"):
        said = speed_up(
            acceptance_rate=float(row["acceptance_rate"]),
            draft_tokens=int(row["draft_tokens"]),
            draft_cost_ratio=float(row["draft_share"]),
        )
        found.setdefault(f"{row['model']} with {row['draft']}", []).append(float(said) / float(row["value"]) - 1.0)
    return found


def _gains() -> Component:
    return Component(
        key="speculation_gain",
        title="Speculative decoding: gain of one stream, against published runs",
        note=(
            "From the acceptance rate, the drafted tokens and the draft's share of parameters as its cost (a lower "
            "bound of it). Rows that state no acceptance rate (EAGLE by batch, Spec-Bench, n-grams) cannot be scored."
        ),
        headings=("target and draft", "rows", "median %", "P90 %", "bias %"),
        lines=tuple((name, *_errors(errors)) for name, errors in gain_errors().items()),
    )


def length_errors() -> dict[str, list[float]]:
    """Signed relative errors of the accepted length at 1 to 8 drafts, from the acceptance at 3 drafts, by class."""
    curves: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in _of_kind("accepted_length"):
        curve = curves.setdefault((row["method"], row["model"], row["task"]), {})
        curve[int(row["draft_tokens"])] = float(row["value"])
    found: dict[str, list[float]] = {}
    for (method, _, _), curve in curves.items():
        rate = implied_acceptance_rate(accepted_length=curve[_FROM_DRAFTS], draft_tokens=_FROM_DRAFTS)
        for drafts, measured in curve.items():
            if drafts != _FROM_DRAFTS:
                said = float(tokens_per_pass(acceptance_rate=rate, draft_tokens=drafts))
                side = "fewer" if drafts < _FROM_DRAFTS else "more"
                found.setdefault(f"{method}, {side} than 3 drafts", []).append(said / measured - 1.0)
    return found


def _lengths() -> Component:
    return Component(
        key="speculation_length",
        title="Speculative decoding: accepted length, from the acceptance at three drafts",
        note=(
            "One acceptance rate for every place in the draft. Later places are accepted less often, so that long "
            "drafts come out too good: state the rate measured at the length that is run."
        ),
        headings=("method", "rows", "median %", "P90 %", "bias %"),
        lines=tuple((name, *_errors(errors)) for name, errors in sorted(length_errors().items())),
    )


def _errors(signed: Sequence[float]) -> tuple[str, ...]:
    size = np.abs(signed)
    figures = (np.median(size), np.quantile(size, 0.9))
    return str(len(signed)), *(f"{100 * figure:.1f}" for figure in figures), f"{100 * np.median(signed):+.1f}"


def _of_kind(kind: str) -> list[dict[str, str]]:
    return [row for row in _rows("speculation.csv") if row["kind"] == kind]


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA_DIR / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
