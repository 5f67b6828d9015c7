"""A sweep: from its definition and a snapshot of the catalog to rows. Rows depend on nothing else.

The same definition and snapshot give the same rows, however they are cut and whoever computes them; row order is
model, GPU, engine, precision, parallelism, workload, load (batch size, or rate of arrival).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from catalog.engine_versions import RELEASE
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.options import BandSide
from estimator.engine.specs import WorkloadMode
from estimator.estimates.sweep import evaluation as sweep_evaluation
from estimator.estimates.sweep.axes import Axes, resolve_axes
from estimator.estimates.sweep.columns import CHANCE, Rows, TextValues
from estimator.estimates.sweep.costs import cost_columns, electricity_columns
from estimator.estimates.sweep.entries import Entry, slug_of
from estimator.estimates.sweep.loads import (
    Loads,
    batch_sizes_of,
    count_of_loads,
    joined,
    loads_of,
    of_batches,
)
from estimator.estimates.sweep.refining import has_targets, of_side, with_refined
from estimator.estimates.sweep.slo import goodput_columns, meets_slo
from estimator.estimates.throughput.goodput import tpot_binds
from estimator.estimates.throughput.odds import chance_column
from estimator.question.fields import Kind
from estimator.question.sweep import UP_TO_FIT, stored_targets
from estimator.question.sweep import Sweep as Asked
from estimator.question.workload import Targets
from estimator.resolvers.facts import Facts, StoredFacts

MAX_SETTINGS = 100_000
# "max" folds every setting while the order is taken, 0.4 ms each (measured): this many are 4 s.
MAX_SETTINGS_UP_TO_FIT = 10_000
# A refined sweep is evaluated once while the order is taken, and once by each worker: this many rows are half a second.
MAX_REFINED_ROWS = 200_000
Ints = NDArray[np.int64]


class Sweep:
    """All rows of a sweep by their index, computed in any pieces."""

    def __init__(
        self, axes: Axes, batch_sizes: Any, slo: Targets | None, prices: Mapping[str, Any], *, refine: bool = False
    ) -> None:
        self.axes = axes
        self._cache = sweep_evaluation.SettingCache(axes)
        self._slo = slo
        self._prices = prices
        # Loads of each point where they hang on what fits, else of each workload: the same for every setting.
        self._by_point = batch_sizes == UP_TO_FIT
        if self._by_point:
            lists = sweep_evaluation.loads_up_to_fit(axes, self._cache)
        else:
            batches = batch_sizes_of(batch_sizes)
            lists = [loads_of(workload, batches) for workload in axes.swept]
        if refine and slo is not None and has_targets(slo):
            lists = self._refined(lists if self._by_point else lists * int(np.prod(axes.shape[:5])), slo)
            self._by_point = True
        self._loads = joined(lists)
        self._offsets: Ints = np.concatenate([[0], np.cumsum([len(loads) for loads in lists])]).astype(np.int64)

    @property
    def total_rows(self) -> int:
        """Rows of the whole sweep."""
        return len(self._loads) * (1 if self._by_point else int(np.prod(self.axes.shape[:5])))

    @property
    def is_refined(self) -> bool:
        """Whether it has a row that nobody asked for: a batch size between two that were."""
        return bool(np.any(self._loads.refined))

    def rows(self, first: int, count: int) -> Rows:
        """Rows `first` … `first + count` as columns."""
        return self.rows_at(np.arange(first, min(first + count, self.total_rows), dtype=np.int64))

    def rows_at(self, index: Ints) -> Rows:
        """The rows of these indices as columns, in their order."""
        return self.rows_of(*self._place(index), index=index)

    def rows_of(self, point: Ints, loads: Loads, *, index: Ints | None = None) -> Rows:
        """Rows of any points (settings and workload) and loads, whether the sweep holds them or not."""
        index = np.arange(len(point), dtype=np.int64) if index is None else index
        codes = np.unravel_index(point, self.axes.shape)
        columns = self._key_columns(index, codes, loads)
        unsupported = self.axes.unsupported(codes)
        columns |= sweep_evaluation.evaluate(self.axes, self._cache, codes, loads, unsupported)
        columns["reason"] = _reasons(self.axes, unsupported, columns["reason"])
        gpus = np.array([p.gpus for p in self.axes.parallelism], dtype=np.float64)[codes[4]]
        columns |= cost_columns(
            gpu=_text(columns["gpu"]),
            gpus=gpus,
            per_second={side: _floats(columns[f"tokens_per_s_total_{side}"]) for side in ("low", "mid", "high")},
            prices=self._prices,
        )
        columns |= electricity_columns(self.axes.power, gpus, columns)
        binds = np.array([tpot_binds(workload) for workload in self.axes.workloads])[codes[5]]
        columns |= goodput_columns(columns, self._slo, binds)
        columns["meets_slo"] = meets_slo(columns, self._slo, binds)
        columns[CHANCE] = chance_column(
            columns,
            self._slo,
            opened=~np.isnan(_floats(columns["offered_requests_per_s"])),
            static=np.array([w.mode is WorkloadMode.STATIC_BATCH for w in self.axes.workloads])[codes[5]],
            binds=binds,
        )
        return columns

    def _refined(self, lists: list[Loads], slo: Targets) -> list[Loads]:
        """The loads of each point with the largest batches within the targets, at either side of the band."""
        counts = [len(loads) for loads in lists]
        if sum(counts) > MAX_REFINED_ROWS:
            detail = _("A sweep of %(rows)s rows is too large to refine; at most %(most)s.")
            words = {"rows": sum(counts), "most": MAX_REFINED_ROWS}
            raise ResolutionError([Fault(path=("refine",), code="out_of_range", detail=detail % words)])
        taken = [
            workload.takes_batches and len(loads) > 1
            for workload, loads in zip(self.axes.swept * (len(lists) // len(self.axes.swept)), lists, strict=True)
        ]
        points = np.flatnonzero(taken)
        if not len(points):
            return lists
        return with_refined(lists, points, [partial(self._holds, slo=of_side(slo, side)) for side in BandSide])

    def _holds(self, point: Ints, batch: Ints, *, slo: Targets) -> NDArray[np.int8]:
        """Whether points hold the targets at batch sizes: 1, 0, or −1 where that is not known."""
        columns = self.rows_of(point, of_batches(batch))
        workload = np.unravel_index(point, self.axes.shape)[5]
        return meets_slo(columns, slo, np.array([tpot_binds(one) for one in self.axes.workloads])[workload])

    def point_of(self, row: Mapping[str, Any]) -> int | None:
        """The point of a stored row by its labels, None when this sweep has no such setting."""
        codes = []
        for name, labels in self.axes.labels.items():
            if row[name] not in labels:
                return None
            codes.append(labels.index(row[name]))
        return int(np.ravel_multi_index(codes, self.axes.shape))

    def slug_of(self, kind: str, label: str) -> str | None:
        """The catalog row behind a label of the axis `model`, `gpu` or `engine`; None for one given inline."""
        entries: dict[str, list[str | None]] = {
            "model": [model.slug for model in self.axes.models],
            "gpu": [gpu.slug for gpu in self.axes.gpus],
            "engine": [engine.profile.slug for engine in self.axes.engines],
        }
        return dict(zip(self.axes.labels[kind], entries[kind], strict=True)).get(label)

    def _place(self, index: Ints) -> tuple[Ints, Loads]:
        setting, place = np.divmod(index, len(self._loads))
        inside = np.searchsorted(self._offsets, place, side="right") - 1
        point = inside if self._by_point else setting * len(self.axes.workloads) + inside
        return point, self._loads.at(place)

    def _key_columns(self, index: Ints, codes: tuple[Any, ...], loads: Loads) -> Rows:
        axes = self.axes
        batch = np.where(loads.batch > 0, loads.batch, np.nan) if np.any(loads.batch == 0) else loads.batch
        columns: Rows = {"row_index": index, "batch_size": batch, "offered_requests_per_s": loads.rate}
        columns["refined"] = loads.refined.astype(np.int8)
        for (name, labels), code in zip(axes.labels.items(), codes, strict=True):
            columns[name] = TextValues(codes=code.astype(np.int32), labels=labels)
        columns["tp"] = np.array([p.tp for p in axes.parallelism], dtype=np.int64)[codes[4]]
        columns["gpus"] = np.array([p.gpus for p in axes.parallelism], dtype=np.int64)[codes[4]]
        for name in ("input_tokens", "output_tokens"):
            columns[name] = _whole_if_all([getattr(w, name) for w in axes.workloads])[codes[5]]
        return columns


def most_rows(sweep: Mapping[str, Any]) -> int:
    """Rows of a sweep counted from its definition alone, where nothing is built yet; "max" counts as one batch.

    Raises:
        ResolutionError: A range of batch sizes that ends before it begins.
    """
    asked = Asked.stored(sweep)
    batches = [1] if asked.batch_sizes == UP_TO_FIT else batch_sizes_of(asked.batch_sizes)
    loads = sum(count_of_loads(workload, len(batches)) for workload in asked.workloads)
    settings = 1
    for axis in ("models", "gpus", "engines", "precisions", "parallelism"):
        settings *= len(getattr(asked, axis))
    return settings * loads


def snapshot_of(sweep: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    """The facts that a sweep uses, as stored with a version: kinds of rows by slug, and the revision they belong to.

    Raises:
        ResolutionError: A slug that the catalog does not hold.
    """
    asked = Asked.stored(sweep)
    resolve_axes(asked, facts)
    draft = [asked.speculative.draft_model] if asked.speculative and asked.speculative.draft_model else []
    entries: dict[Kind, Sequence[Entry]] = {
        "gpu": asked.gpus,
        "model": [*asked.models, *draft],
        "engine": asked.engines,
    }
    rows: dict[str, dict[str, Any]] = {}
    for kind, listed in entries.items():
        slugs = [slug for entry in listed if (slug := slug_of(entry)) is not None]
        found = [facts.row(kind, slug) for slug in slugs]
        rows[kind] = {row["slug"]: {name: row[name] for name in row if name != RELEASE} for row in found}
    return {"catalog_revision": facts.catalog_revision, "facts": rows}


def load(inputs: Mapping[str, Any], snapshot: Mapping[str, Any]) -> Sweep:
    """The sweep of a version from its stored inputs and snapshot.

    Raises:
        ResolutionError: Settings that do not go together, or too many of them.
    """
    facts = StoredFacts(snapshot["facts"], catalog_revision=int(snapshot["catalog_revision"]))
    asked = Asked.stored(inputs["sweep"])
    axes = resolve_axes(asked, facts)
    settings = int(np.prod(axes.shape[:5]))
    batch_sizes = asked.batch_sizes
    most = MAX_SETTINGS_UP_TO_FIT if batch_sizes == UP_TO_FIT or asked.refine else MAX_SETTINGS
    if settings > most:
        detail = _("%(settings)s settings (without workloads and batch sizes) are more than %(most)s.") % {
            "settings": settings,
            "most": most,
        }
        raise ResolutionError([Fault(path=(), code="out_of_range", detail=detail)])
    slo = stored_targets(inputs.get("slo"))
    return Sweep(axes, batch_sizes, slo, snapshot.get("prices", {}), refine=asked.refine)


def _reasons(axes: Axes, unsupported: NDArray[np.int32], own: Any) -> TextValues:
    """Reasons of unsupported settings before those of the evaluation."""
    evaluated = _text(own)
    shifted = np.where(evaluated.codes >= 0, evaluated.codes + len(axes.reasons), -1)
    codes = np.where(unsupported >= 0, unsupported, shifted).astype(np.int32)
    return TextValues(codes=codes, labels=(*axes.reasons, *evaluated.labels))


def _text(values: Any) -> TextValues:
    if not isinstance(values, TextValues):
        raise TypeError("not a text column")
    return values


def _whole_if_all(values: Sequence[float]) -> NDArray[Any]:
    """Lengths as whole numbers where all of them are."""
    found = np.array(values, dtype=np.float64)
    return found.astype(np.int64) if np.all(found == np.rint(found)) else found


def _floats(values: Any) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)
