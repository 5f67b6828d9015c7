"""Calibrations: made of a person's measurements of one setting, switched, shared by an editor."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from catalog.revisions import bump_catalog_revision
from estimator.constants.calibration import CALIBRATION_RULES
from estimator.constants.revision import constants_revision
from estimator.engine.calibration.correction import METRICS, RunError, gain
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.estimates.throughput.calibrated import errors_of
from estimator.estimates.throughput.setting import prepared_key
from estimator.question.traffic import Traffic
from estimator.resolvers.calibrations import difference, scope_of
from estimator.resolvers.facts import Facts
from estimator.resolvers.plan import Calibration as Stored
from estimator.resolvers.plan import MeasuredPoint
from receipts.comparing.setting import plan_of
from receipts.models import Calibration, Measurement


def make(
    owner: Any, name: str, measurements: Sequence[Measurement], left_out: Sequence[Measurement], facts: Facts
) -> Calibration:
    """A calibration of the setting that the measurements share, of the figures that runs left out say it helps.

    Runs of `left_out` decide where they are given, else each run by the others.

    Raises:
        ResolutionError: too few runs, several settings, or no figure that it would make better.
    """
    scope = _one_setting([*measurements, *left_out])
    points, kept_out = ([point for one in group for point in _points(one)] for group in (measurements, left_out))
    least = int(CALIBRATION_RULES.least_runs)
    if len(points) < least:
        text = _("A calibration needs %(least)s runs with their load, these hold %(count)s.")
        raise _refused(text % {"least": least, "count": len(points)})
    # What was measured is held against all that can be said.
    prepared = prepared_key(replace(plan_of(_question(scope), None, facts), kv_settings_assumed=False))
    errors, held = errors_of(prepared, points), errors_of(prepared, kept_out)
    gains = {metric: found for metric in METRICS if (found := _gain(metric, errors[metric], held[metric])) is not None}
    metrics = [metric for metric, found in gains.items() if found["better"]]
    if not metrics:
        raise _refused(_("Runs left out say that no figure gets better: nothing is calibrated. %(gains)s") % {
            "gains": said_of(gains, len(points))
        })  # fmt: skip
    with transaction.atomic():
        row = Calibration.objects.create(
            owner=owner, name=name, scope=scope, metrics=metrics, gains=gains,
            points=[_plain(point) for point in points], estimator_version=ESTIMATOR_VERSION,
            constants_revision=constants_revision(),
        )  # fmt: skip
        row.measurements.set([*measurements, *left_out])
        bump_catalog_revision()
    return row


def change(row: Calibration, values: dict[str, Any]) -> Calibration:
    """The calibration with another name or switch."""
    for name, value in values.items():
        setattr(row, name, value)
    with transaction.atomic():
        row.save(update_fields=list(values))
        bump_catalog_revision()
    return row


def share(row: Calibration, by: Any, *, shared: bool) -> Calibration:
    """Give a calibration to everybody, or take it back."""
    return change(row, {"shared": shared, "shared_by": by if shared else None})


def remove(row: Calibration) -> None:
    """The calibration is gone; the measurements stay."""
    with transaction.atomic():
        row.measurements.clear()
        row.delete()
        bump_catalog_revision()


def switched_on() -> list[Stored]:
    """What estimates may use: read once a catalog revision."""
    return [stored(row) for row in Calibration.objects.filter(enabled=True).order_by("-created_at", "id")]


def stored(row: Calibration) -> Stored:
    """A row as estimates take it."""
    return Stored(
        id=str(row.pk),
        name=row.name,
        owner=None if row.shared else row.owner_id,
        scope=row.scope,
        metrics=tuple(row.metrics),
        points=tuple(_point(point) for point in row.points),
        said=said_of(row.gains, len(row.points)),
    )


def said_of(gains: dict[str, Any], runs: int) -> str:
    """The gain in words: `3 runs; tpot_s of runs left out 12 % before, 4 % after`."""
    parts = [_("%(runs)s runs") % {"runs": runs}]
    for metric, found in gains.items():
        text = _("%(metric)s of runs left out %(before).1f %% before, %(after).1f %% after")
        values = {"metric": metric, "before": 100 * found["before"], "after": 100 * found["after"]}
        parts.append(text % values + ("" if found["better"] else _(" (not applied)")))
    return "; ".join(parts)


def validity(row: Calibration, facts: Facts) -> str | None:
    """What of its setting the catalog holds otherwise now, so that it serves no question; None where it does serve."""
    try:
        now = scope_of(plan_of(_question(row.scope), None, facts))
    except ResolutionError:
        return _("The catalog does not hold its setting any more.")
    changed = difference(row.scope, now or {})
    return None if changed is None else _("The catalog has another %(part)s now.") % {"part": changed}


def _gain(metric: str, errors: list[RunError | None], held: list[RunError | None]) -> dict[str, Any] | None:
    runs, others = [one for one in errors if one is not None], [one for one in held if one is not None]
    if len(runs) < int(CALIBRATION_RULES.least_runs):
        return None
    found = gain(metric, runs, others)
    return {"runs": found.runs, "before": found.before, "after": found.after, "better": found.better}


def _one_setting(measurements: Sequence[Measurement]) -> dict[str, Any]:
    scopes = [one.scope for one in measurements]
    first = next(iter(scopes), None)
    if first is None or any(scope is None for scope in scopes):
        raise _refused(_("Give measurements of a model and a GPU of the catalog."))
    for scope in scopes[1:]:
        changed = difference(first, scope or {})
        if changed is not None:
            raise _refused(_("The measurements are of several settings: %(part)s differs.") % {"part": changed})
    found: dict[str, Any] = first
    return found


def _question(scope: dict[str, Any]) -> dict[str, Any]:
    """The setting of a scope as the body of an estimate."""
    release = scope.get("engine_release")
    engine = scope["engine"]
    if release:
        engine = f"{engine.rsplit('-', 1)[0]}-{release}"
    return {
        "model": scope["model"], "gpu": scope["gpu"], "engine": engine, "parallelism": scope["parallelism"],
        "precision": scope["precision"], "engine_settings": scope["engine_settings"], "launch": scope["launch"],
    }  # fmt: skip


def _points(measurement: Measurement) -> list[MeasuredPoint]:
    return [_point(run["point"]) for run in measurement.runs if run.get("point")]


def _point(plain: dict[str, Any]) -> MeasuredPoint:
    return MeasuredPoint(**{**plain, "traffic": Traffic.model_validate_json(json.dumps(plain.get("traffic") or {}))})


def _plain(point: MeasuredPoint) -> dict[str, Any]:
    names = ("input_tokens", "output_tokens", "concurrency", "tpot_s", "ttft_s")
    plain = {name: getattr(point, name) for name in names}
    return plain | {"traffic": point.traffic.model_dump(mode="json", exclude_unset=True)}


def _refused(detail: str) -> ResolutionError:
    return ResolutionError([Fault(path=("measurements",), code="invalid", detail=detail)])
