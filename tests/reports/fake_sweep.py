"""Deterministic rows for tests of the machinery around the estimator; no figure here means anything."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.estimates.sweep.columns import COLUMNS, ColumnKind, Rows, TextValues
from estimator.estimates.sweep.costs import cost_columns

GPUS = ("h100", "a100")
PRECISIONS = ("bf16/bf16", "fp8/fp8")
PARALLELISMS = ("tp1-pp1-ep1-dp1", "tp2-pp1-ep1-dp1")
PRICES = {"h100": {"price_per_gpu_hour": "2.0", "currency": "USD"}}


@dataclass
class FakeSweep:
    """Rows over gpu × precision × parallelism × batch (powers of two); `scale` stands for the estimator."""

    total_rows: int
    prices: dict[str, Any]
    scale: float = 1.0

    def rows(self, first: int, count: int) -> Rows:
        index = np.arange(first, first + count, dtype=np.int64)
        batches = max(1, self.total_rows // 8)
        batch = 2.0 ** (index % min(batches, 12))
        setting = index // batches
        gpu, precision, parallel = setting % 2, setting // 2 % 2, setting // 4 % 2
        tp = parallel + 1.0
        fits = batch <= 256
        total = self.scale * 1000 * batch / (1 + batch / 40) * (1.5 - 0.4 * gpu) * (1 + 0.3 * precision) * tp**0.9
        columns: Rows = {}
        for column in COLUMNS:
            if column.kind is ColumnKind.TEXT:
                columns[column.name] = TextValues(codes=np.zeros(count, np.int32), labels=("x",))
            elif column.kind is ColumnKind.BOOLEAN:
                columns[column.name] = fits.astype(np.int8)
            else:
                columns[column.name] = np.full(count, 7.0)
        for name in ("offered_requests_per_s", "utilization"):  # no open load here
            columns[name] = np.full(count, np.nan)
        columns["row_index"] = index
        columns["model"] = TextValues(codes=np.zeros(count, np.int32), labels=("=cmd|' /C calc'!A0",))
        columns["gpu"] = TextValues(codes=gpu.astype(np.int32), labels=GPUS)
        columns["precision"] = TextValues(codes=precision.astype(np.int32), labels=PRECISIONS)
        columns["parallelism"] = TextValues(codes=parallel.astype(np.int32), labels=PARALLELISMS)
        columns["status"] = TextValues(codes=np.where(fits, 0, 1).astype(np.int32), labels=("ok", "does_not_fit"))
        columns["reason"] = TextValues(
            codes=np.where(fits, -1, 0).astype(np.int32), labels=('no "room", <b>at all</b>',)
        )
        columns["tp"], columns["gpus"], columns["batch_size"] = tp, tp, batch
        columns["effective_concurrency"] = batch
        for side, factor in (("low", 0.9), ("mid", 1.0), ("high", 1.1), ("ceiling", 1.5)):
            speed = np.where(fits, total * factor, np.nan)
            columns[f"tokens_per_s_total_{side}"] = speed
            columns[f"tokens_per_s_per_gpu_{side}"] = speed / tp
            columns[f"tokens_per_s_per_user_{side}"] = speed / batch
        gpu_column = columns["gpu"]
        assert isinstance(gpu_column, TextValues)
        columns |= cost_columns(
            gpu=gpu_column,
            gpus=tp,
            per_second={side: columns[f"tokens_per_s_total_{side}"] for side in ("low", "mid", "high")},
            prices=self.prices,
        )
        columns["slack_bytes"] = np.where(fits, 3.0, -1e9)
        return columns


def load(inputs: dict[str, Any], snapshot: dict[str, Any]) -> FakeSweep:
    """Stands for `estimator.estimates.sweep.compute.load`."""
    return FakeSweep(total_rows=inputs["rows"], prices=snapshot.get("prices", {}), scale=inputs.get("scale", 1.0))
