"""The accuracy table: every section recomputed from the shipped rows, as data and as text."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from estimator.engine.forward_pass.kernels import kernel_family
from estimator.validation import shipped
from estimator.validation.accuracy import Accuracy, Errors, by_group, metric_label
from estimator.validation.choice import choice_table
from estimator.validation.components import Component, components
from estimator.validation.coverage import Coverage, coverage
from estimator.validation.energy_rows import read_power_rows, summarise_power
from estimator.validation.fitted import REFERENCE_FITTED, Fitted, fitted_constants
from estimator.validation.leave_out import LeftOut, stand_in
from estimator.validation.memory_rows import FailedStart, MemorySummary, failed_starts, score_memory, summarise
from estimator.validation.odds_rows import odds_table
from estimator.validation.open_rows import OpenSummary, predict_open, read_open_runs, summarise_open
from estimator.validation.predictions import Prediction, Skipped, precision_class, predict
from estimator.validation.rows import Measurement, Source, kept_out, read_measurements, read_sources, used
from estimator.validation.rules import RuleCount, excluded
from estimator.validation.started_servers import ComparedFigure, FigureSummary, compared, summary_by_version


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table: a title, what it holds, and its rows."""

    key: str
    title: str
    rows: tuple[Accuracy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyTable:
    """Everything `manage.py validate` prints."""

    shipped_rows: int
    used_rows: int
    core_rows: int
    rules: tuple[RuleCount, ...]
    not_answered: tuple[tuple[str, int], ...]
    beats_ceiling: int
    fitted: tuple[Fitted, ...]
    fitted_before: int
    coverage: tuple[Coverage, ...]
    coverage_kept_out: tuple[Coverage, ...]
    memory: tuple[MemorySummary, ...]
    failed_starts: tuple[FailedStart, ...]
    started: tuple[FigureSummary, ...]
    started_apart: tuple[ComparedFigure, ...]
    sections: tuple[Section, ...]
    components: tuple[Component, ...]
    open_runs: tuple[OpenSummary, ...]
    power: tuple[Errors, ...]
    sources: tuple[Source, ...]


def build_table(measurements: Sequence[Measurement] | None = None) -> AccuracyTable:
    """Scores the shipped rows, or others of the same form."""
    rows = read_measurements() if measurements is None else tuple(measurements)
    predictions, skipped = predict(used(rows))
    core = [p for p in predictions if p.row.core]
    without_source = stand_in(predictions, lambda row: row.without_source)
    return AccuracyTable(
        shipped_rows=len(rows),
        used_rows=len(used(rows)),
        core_rows=len(used(rows, core=True)),
        rules=excluded(rows),
        not_answered=_reasons(skipped),
        beats_ceiling=sum(p.beats_ceiling for p in predictions),
        fitted=fitted_constants(),
        fitted_before=REFERENCE_FITTED,
        coverage=coverage(without_source),
        coverage_kept_out=coverage(stand_in(predictions, lambda row: row.kept_out), without=kept_out()),
        memory=summarise(score_memory(shipped.architecture, shipped.profile)),
        failed_starts=failed_starts(shipped.architecture, shipped.profile),
        started=summary_by_version(),
        started_apart=tuple(figure for figure in compared() if figure.is_apart),
        sections=tuple(_sections(core, predictions)),
        components=(*components(), choice_table(predictions), odds_table(without_source)),
        open_runs=summarise_open(predict_open(read_open_runs())),
        power=summarise_power(read_power_rows()),
        sources=_sources_of(rows),
    )


def _sources_of(rows: Sequence[Measurement]) -> tuple[Source, ...]:
    named = {row.source for row in rows} | {run.source for run in read_open_runs()}
    return tuple(source for source in read_sources() if source.key in named)


def _reasons(skipped: Iterable[Skipped]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(s.reason for s in skipped).items()))


def _sections(core: Sequence[Prediction], everything: Sequence[Prediction]) -> Iterable[Section]:
    yield Section(key="core", title="Core rows by metric", rows=by_group(core, metric_label))
    yield Section(key="all", title="All rows by metric", rows=by_group(everything, metric_label))
    without_model = stand_in(core, _without_model)
    if without_model:
        title = "Core rows with their model left out of the fit"
        yield Section(key="leave_one_model_out", title=title, rows=by_group(without_model, metric_label))
        title = "Core rows with their GPU left out of the fit"
        without_gpu = stand_in(core, lambda row: row.without_gpu)
        yield Section(key="leave_one_gpu_out", title=title, rows=by_group(without_gpu, metric_label))
        title = "All rows with their source left out of the fit"
        without_source = stand_in(everything, lambda row: row.without_source)
        yield Section(key="leave_one_source_out", title=title, rows=by_group(without_source, metric_label))
        title = "All rows of the families that are kept out, with all of them left out of the fit"
        apart = stand_in(everything, lambda row: row.kept_out)
        yield Section(key="kept_out", title=title, rows=by_group(apart, metric_label))
    yield Section(key="source", title="All rows by source", rows=by_group(everything, _within_metric(_source)))
    for key, title, name in _BREAKDOWNS:
        yield Section(key=key, title=title, rows=by_group(core, _within_metric(name)))


def _without_model(row: LeftOut) -> float:
    return row.without_model


def _within_metric(name: Callable[[Prediction], str]) -> Callable[[Prediction], str]:
    return lambda prediction: f"{metric_label(prediction)}: {name(prediction)}"


def _source(prediction: Prediction) -> str:
    return prediction.row.source


def _engine(prediction: Prediction) -> str:
    return prediction.row.engine


def _family(prediction: Prediction) -> str:
    return kernel_family(shipped.gpu(prediction.row.gpu))


def _has_experts(prediction: Prediction) -> bool:
    groups = shipped.architecture(prediction.row.model).layer_groups
    return any(g.feed_forward and g.feed_forward.experts for g in groups)


def _precision(prediction: Prediction) -> str:
    return precision_class(prediction.row.precision, experts=_has_experts(prediction))


def _kind(prediction: Prediction) -> str:
    return "mixture of experts" if _has_experts(prediction) else "dense"


def _parallelism(prediction: Prediction) -> str:
    parallel = prediction.row.parallelism
    parts = [f"{name} {getattr(parallel, name)}" for name in ("tp", "pp", "ep", "dp") if getattr(parallel, name) > 1]
    return ", ".join(parts) or "one GPU"


_BREAKDOWNS: tuple[tuple[str, str, Callable[[Prediction], str]], ...] = (
    ("engine", "By engine", _engine),
    ("gpu_family", "By GPU family", _family),
    ("precision", "By weight format", _precision),
    ("kind", "Dense and mixture of experts", _kind),
    ("parallelism", "By parallelism", _parallelism),
    ("model", "By model", lambda prediction: prediction.row.model),
)

HEADINGS = (
    "group", "rows", "median %", "mean %", "P90 %", "bias %", "within 10 %", "within 25 %", "within 50 %",
    "roofline median %",
)  # fmt: skip


def cells(row: Accuracy) -> tuple[str, ...]:
    """One line of a section in percent, for people."""
    numbers = [f"{100 * value:.1f}" for value in (row.median, row.mean, row.p90)]
    shares = [f"{100 * share:.0f}" for share in row.within]
    return (
        row.group, str(row.rows), *numbers, f"{100 * row.bias:+.1f}", *shares, f"{100 * row.roofline_median:.0f}",
    )  # fmt: skip


def as_json(table: AccuracyTable) -> str:
    """The table as JSON; errors are fractions."""
    return json.dumps(asdict(table), indent=2, ensure_ascii=False)


def as_csv(table: AccuracyTable) -> str:
    """The sections as one CSV, a line per group; errors are fractions."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["section", "group", "rows", "median", "mean", "p90", "bias", "within_10", "within_25", "within_50",
         "roofline_median"]
    )  # fmt: skip
    for section in table.sections:
        for row in section.rows:
            figures = (row.median, row.mean, row.p90, row.bias, *row.within, row.roofline_median)
            writer.writerow([section.key, row.group, row.rows, *(f"{value:.4f}" for value in figures)])
    return stream.getvalue()
