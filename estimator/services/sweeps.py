"""A sweep: from its definition and a snapshot of the catalog to rows. Rows depend on nothing else.

The same definition and snapshot give the same rows, however they are cut and whoever computes them; row order is
model, GPU, engine, precision, parallelism, workload, batch.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from estimator.engine.specs import Precision
from estimator.resolvers.facts import Facts, StoredFacts
from estimator.resolvers.issues import Issue, ResolutionError
from estimator.services import sweep_evaluation
from estimator.services.sweep_axes import Axes, resolve_axes
from estimator.services.sweep_columns import Rows, TextValues
from estimator.services.sweep_costs import cost_columns
from estimator.services.sweep_slo import meets_slo

MAX_SETTINGS = 100_000
# "max" folds every setting while the order is taken, 0.4 ms each (measured): this many are 4 s.
MAX_SETTINGS_UP_TO_FIT = 10_000
Ints = NDArray[np.int64]


class Sweep:
    """All rows of a sweep by their index, computed in any pieces."""

    def __init__(self, axes: Axes, batch_sizes: Any, slo: Mapping[str, Any] | None, prices: Mapping[str, Any]) -> None:
        self.axes = axes
        self._cache = sweep_evaluation.SettingCache(axes)
        self._slo = slo
        self._prices = prices
        self._points = int(np.prod(axes.shape))
        self._offsets: Ints | None = None
        if batch_sizes == "max":
            lists = sweep_evaluation.batches_up_to_fit(axes, self._cache, self._unsupported)
            self._batches = np.concatenate(lists).astype(np.int64)
            self._offsets = np.concatenate([[0], np.cumsum([len(batches) for batches in lists])]).astype(np.int64)
        else:
            self._batches = np.asarray(batch_sizes_of(batch_sizes), dtype=np.int64)

    @property
    def total_rows(self) -> int:
        """Rows of the whole sweep."""
        return int(self._offsets[-1]) if self._offsets is not None else self._points * len(self._batches)

    def rows(self, first: int, count: int) -> Rows:
        """Rows `first` … `first + count` as columns."""
        return self.rows_at(np.arange(first, min(first + count, self.total_rows), dtype=np.int64))

    def rows_at(self, index: Ints) -> Rows:
        """The rows of these indices as columns, in their order."""
        return self.rows_of(*self._place(index), index=index)

    def rows_of(self, point: Ints, batch: Ints, *, index: Ints | None = None) -> Rows:
        """Rows of any points (settings and workload) and batch sizes, whether the sweep holds them or not."""
        index = np.arange(len(point), dtype=np.int64) if index is None else index
        codes = np.unravel_index(point, self.axes.shape)
        columns = self._key_columns(index, codes, batch)
        unsupported = self._unsupported(codes)
        columns |= sweep_evaluation.evaluate(self.axes, self._cache, codes, batch, unsupported)
        columns["reason"] = _reasons(self.axes, unsupported, columns["reason"])
        gpus = np.array([p.gpus for p in self.axes.parallelism], dtype=np.float64)[codes[4]]
        columns |= cost_columns(
            gpu=_text(columns["gpu"]),
            gpus=gpus,
            per_second={side: _floats(columns[f"tokens_per_s_total_{side}"]) for side in ("low", "mid", "high")},
            prices=self._prices,
        )
        columns["meets_slo"] = meets_slo(columns, self._slo)
        return columns

    def point_of(self, row: Mapping[str, Any]) -> int | None:
        """The point of a stored row by its labels, None when this sweep has no such setting."""
        codes = []
        for name, labels in self._labels.items():
            if row[name] not in labels:
                return None
            codes.append(labels.index(row[name]))
        return int(np.ravel_multi_index(codes, self.axes.shape))

    def _place(self, index: Ints) -> tuple[Ints, Ints]:
        if self._offsets is None:
            return index // len(self._batches), self._batches[index % len(self._batches)]
        return np.searchsorted(self._offsets, index, side="right") - 1, self._batches[index]

    @cached_property
    def _labels(self) -> dict[str, tuple[str, ...]]:
        axes = self.axes
        return {
            "model": tuple(model.slug or model.name for model in axes.models),
            "gpu": tuple(gpu.slug or gpu.name for gpu in axes.gpus),
            "engine": tuple(engine.slug for engine in axes.engines),
            "precision": tuple(map(precision_label, axes.precisions)),
            "parallelism": tuple(f"tp{p.tp}-pp{p.pp}-ep{p.ep}-dp{p.dp}" for p in axes.parallelism),
            "workload": tuple(workload.label for workload in axes.workloads),
        }

    def _key_columns(self, index: Ints, codes: tuple[Any, ...], batch: Ints) -> Rows:
        axes = self.axes
        columns: Rows = {"row_index": index, "batch_size": batch}
        for (name, labels), code in zip(self._labels.items(), codes, strict=True):
            columns[name] = TextValues(codes=code.astype(np.int32), labels=labels)
        columns["tp"] = np.array([p.tp for p in axes.parallelism], dtype=np.int64)[codes[4]]
        columns["gpus"] = np.array([p.gpus for p in axes.parallelism], dtype=np.int64)[codes[4]]
        for name in ("input_tokens", "output_tokens"):
            columns[name] = np.array([getattr(w, name) for w in axes.workloads], dtype=np.int64)[codes[5]]
        return columns

    def _unsupported(self, codes: tuple[Any, ...]) -> NDArray[np.int32]:
        """Index of the reason why a row has no figures, −1 where it has."""
        axes = self.axes
        found = axes.parallel_reason[codes[0], codes[4]]
        found = np.where(found >= 0, found, axes.precision_reason[codes[1], codes[3]])
        return np.asarray(np.where(found >= 0, found, axes.window_reason[codes[0], codes[5]]), dtype=np.int32)


def batch_sizes_of(given: Any) -> list[int]:
    """Batch sizes of a list or a range, ascending and each once.

    Raises:
        ResolutionError: A range that ends before it begins.
    """
    if isinstance(given, Mapping):
        first, last = int(given["from"]), int(given["to"])
        if last < first:
            detail = _("The range ends before it begins.")
            raise ResolutionError([Issue(path=("batch_sizes", "to"), code="out_of_range", detail=detail)])
        if given["scale"] == "powers_of_two":
            sizes = {first, last} | {2**power for power in range(first.bit_length(), last.bit_length())}
            return sorted(size for size in sizes if first <= size <= last)
        return list(range(first, last + 1))
    return sorted(set(given))


def precision_label(precision: Precision) -> str:
    """weights/kv_cache, with the other formats behind where they are set."""
    label = f"{precision.weights}/{precision.kv_cache}"
    for name in ("attention_weights", "expert_weights", "activations"):
        if value := getattr(precision, name):
            label += f" {name.removesuffix('_weights')}={value}"
    return label


def snapshot_of(sweep: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    """The facts that a sweep uses, as stored with a version: kinds of rows by slug, and the revision they belong to.

    Raises:
        ResolutionError: A slug that the catalog does not hold.
    """
    resolve_axes(sweep, facts)
    kinds = (("gpu", "gpus"), ("model", "models"), ("engine", "engines"))
    rows: dict[str, dict[str, Any]] = {}
    for kind, axis in kinds:
        found = [facts.row(kind, slug) for slug in sweep[axis]]  # type: ignore[arg-type]
        rows[kind] = {row["slug"]: dict(row) for row in found}
    return {"catalog_revision": facts.catalog_revision, "facts": rows}


def load(inputs: Mapping[str, Any], snapshot: Mapping[str, Any]) -> Sweep:
    """The sweep of a version from its stored inputs and snapshot.

    Raises:
        ResolutionError: Settings that do not go together, or too many of them.
    """
    facts = StoredFacts(snapshot["facts"], catalog_revision=int(snapshot["catalog_revision"]))
    axes = resolve_axes(inputs["sweep"], facts)
    settings = int(np.prod(axes.shape[:5]))
    most = MAX_SETTINGS_UP_TO_FIT if inputs["sweep"]["batch_sizes"] == "max" else MAX_SETTINGS
    if settings > most:
        detail = _("%(settings)s settings (without workloads and batch sizes) are more than %(most)s.") % {
            "settings": settings,
            "most": most,
        }
        raise ResolutionError([Issue(path=(), code="out_of_range", detail=detail)])
    return Sweep(axes, inputs["sweep"]["batch_sizes"], inputs.get("slo"), snapshot.get("prices", {}))


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


def _floats(values: Any) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)
