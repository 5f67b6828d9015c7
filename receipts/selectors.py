"""Kept things as answers show them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import exp, log
from typing import Any

from django.db.models import Prefetch, prefetch_related_objects

from estimator.resolvers.facts import Facts
from receipts.models import Calibration, Measurement, Prediction
from receipts.services.calibrations import validity

_TRUTH = ("tpot_s", "ttft_s", "e2e_s", "output_tokens_per_s")
_MOST_ROWS = 5_000
_MOST_NAMED = 100


def run_parts(run: dict[str, Any]) -> dict[str, Any]:
    """A run of an answer; the point that calibrations take is told by whether there is one."""
    shown = {name: value for name, value in run.items() if name not in ("point", "predicted")}
    return shown | {"can_calibrate": bool(run.get("point")), "predicted": run.get("predicted", [])}


def measurement_dict(row: Measurement) -> dict[str, Any]:
    """A measurement."""
    prediction = row.prediction
    return {
        "id": str(row.pk),
        "name": str(row),
        "owner": row.owner.get_username(),
        "created_at": row.created_at.isoformat(),
        "public": row.public,
        "model": row.model,
        "gpu": row.gpu,
        "engine": row.engine,
        "model_class": row.model_class,
        "prediction": None if prediction is None else str(prediction.pk),
        "predicted_before": None if prediction is None else prediction.created_at < row.created_at,
        "text_sha256": row.text_sha256,
        "read": row.read,
        "runs": [run_parts(run) for run in row.runs],
        "estimator_version": row.estimator_version,
        "constants_revision": row.constants_revision,
        "catalog_revision": row.catalog_revision,
    }


def prediction_dicts(rows: Sequence[Prediction], person: Any) -> list[dict[str, Any]]:
    """Predictions, each with up to 100 measurements of it that the person may read: one query for all."""
    seen = Measurement.objects.visible_to(person).only("prediction")[:_MOST_NAMED]
    prefetch_related_objects(rows, Prefetch("measurements", queryset=seen, to_attr="seen"))
    return [_prediction(row) for row in rows]


def _prediction(row: Any) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "name": str(row),
        "owner": row.owner.get_username(),
        "kind": row.kind,
        "created_at": row.created_at.isoformat(),
        "public": row.public,
        "inputs": row.inputs,
        "answer": row.answer,
        "figures": row.figures,
        "estimator_version": row.estimator_version,
        "constants_revision": row.constants_revision,
        "catalog_revision": row.catalog_revision,
        "sha256": row.sha256,
        "measurements": [str(one.pk) for one in row.seen],
    }


def calibration_dicts(rows: Sequence[Calibration], facts: Facts) -> list[dict[str, Any]]:
    """Calibrations, each with whether its setting still is; ids of measurements are one query for all."""
    prefetch_related_objects(rows, Prefetch("measurements", queryset=Measurement.objects.only("pk")))
    return [_calibration(row, facts) for row in rows]


def _calibration(row: Calibration, facts: Facts) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "name": row.name,
        "owner": row.owner.get_username(),
        "created_at": row.created_at.isoformat(),
        "scope": row.scope,
        "metrics": row.metrics,
        "gains": row.gains,
        "runs": len(row.points),
        "measurements": [str(one.pk) for one in row.measurements.all()],
        "enabled": row.enabled,
        "shared": row.shared,
        "invalid": validity(row, facts),
        "estimator_version": row.estimator_version,
        "constants_revision": row.constants_revision,
    }


def truth(rows: Iterable[Measurement]) -> dict[str, Any]:
    """Said and measured of public measurements: each run with its figures, and the error by class, figure and month.

    `off` and `bias` are measured over said, less one; `error` is the median of what said lies off measured.
    """
    runs: list[dict[str, Any]] = []
    errors: dict[tuple[str, str, str], list[tuple[float, bool | None]]] = defaultdict(list)
    for row in rows:
        for run in row.runs:
            figures = [
                _figure(figure, _predicted(row, run, figure["name"]))
                for figure in run["figures"]
                if figure["name"] in _TRUTH and figure["ratio"]
            ]
            if figures:
                runs.append(_run(row, run) | {"figures": figures})
            for one in figures:
                key = (row.model_class, one["figure"], row.created_at.strftime("%Y-%m"))
                errors[key].append((1.0 + one["off"], one["inside_band"]))
    return {"runs": runs, "classes": [_class(key, found) for key, found in sorted(errors.items())]}


def public_measurements() -> list[Measurement]:
    """Public ones, newest first, at most 5,000."""
    shown = ("created_at", "prediction", "model", "gpu", "engine", "model_class", "runs", "prediction__created_at")
    rows = Measurement.objects.filter(public=True).select_related("prediction").only(*shown)
    return list(rows[:_MOST_ROWS])


def _predicted(row: Measurement, run: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The figure as predicted before it was measured."""
    if row.prediction is None or row.prediction.created_at >= row.created_at:
        return None
    return next((one for one in run.get("predicted", []) if one["name"] == name), None)


def _run(row: Measurement, run: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(row.pk), "day": row.created_at.date().isoformat(), "model": row.model, "gpu": row.gpu,
        "engine": row.engine, "class": row.model_class, "load": run["workload"] or {},
    }  # fmt: skip


def _figure(figure: dict[str, Any], predicted: dict[str, Any] | None) -> dict[str, Any]:
    said = figure["said"] if predicted is None else predicted["predicted"]
    source = figure if predicted is None else predicted
    return {
        "figure": figure["name"], "unit": figure["unit"], "said": said, "measured": figure["measured"],
        "off": source["ratio"] - 1.0, "inside_band": source["inside_band"], "predicted_before": predicted is not None,
    }  # fmt: skip


def _class(key: tuple[str, str, str], found: list[tuple[float, bool | None]]) -> dict[str, Any]:
    ratios = sorted(ratio for ratio, _ in found)
    inside = [value for _, value in found if value is not None]
    middle = exp(sum(map(log, ratios)) / len(ratios))
    off = sorted(abs(1.0 / ratio - 1.0) for ratio in ratios)
    return {
        "class": key[0], "figure": key[1], "month": key[2], "runs": len(found), "bias": middle - 1.0,
        "error": off[len(off) // 2], "inside": sum(inside) / len(inside) if inside else None,
    }  # fmt: skip
