"""Keeps predictions before anybody measures, and measurements with what was said of them."""

import hashlib
import json
import uuid
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from estimator.api.view import answer_to
from estimator.constants.revision import constants_revision
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.forward_pass.traffic import rank_layout
from estimator.engine.speed.bands import model_class
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.estimates.endpoint import Endpoint
from estimator.resolvers.facts import Facts
from estimator.resolvers.plan import Plan
from receipts.checks import lengths_agree
from receipts.comparing.asked import MeasurementRequest
from receipts.comparing.said import inside_band
from receipts.models import Measurement, Prediction
from receipts.services.measuring import Measured, read_parts
from reports import canonical


def hash_of(prediction: Prediction) -> str:
    """sha256 of what a prediction says, of what, with which versions, and when."""
    return canonical.sha256(
        {
            "kind": prediction.kind,
            "inputs": prediction.inputs,
            "answer": prediction.answer,
            "estimator_version": prediction.estimator_version,
            "constants_revision": prediction.constants_revision,
            "catalog_revision": prediction.catalog_revision,
            "created_at": prediction.created_at.isoformat(),
        }
    )


def keep_estimate(
    owner: Any, endpoint: Endpoint[Any, Any], body: dict[str, Any], facts: Facts, *, name: str, public: bool
) -> Prediction:
    """An estimate as a prediction.

    Raises:
        ResolutionError: faults of the body.
        EngineError: a figure that is not known.
    """
    answer = json.loads(answer_to(endpoint, json.dumps(body).encode(), facts=facts, explain=False))
    return _keep(owner, endpoint.slug, body, answer, name=name, public=public, revision=facts.catalog_revision)


def keep_row(owner: Any, version: Any, row: dict[str, Any], *, name: str, public: bool) -> Prediction:
    """A row of a complete report as a prediction: said by the version's estimator on the version's catalog."""
    inputs = {"report": str(version.report_id), "version": version.number, "row_index": row["row_index"],
              "content_sha256": version.content_sha256}  # fmt: skip
    return _keep(
        owner, "report_row", inputs, row, name=name, public=public,
        revision=int(version.snapshot.get("catalog_revision", 0)), estimator_version=version.estimator_version,
    )  # fmt: skip


def _keep(
    owner: Any,
    kind: str,
    inputs: dict[str, Any],
    answer: dict[str, Any],
    *,
    name: str,
    public: bool,
    revision: int,
    estimator_version: str = ESTIMATOR_VERSION,
) -> Prediction:
    prediction = Prediction(
        id=uuid.uuid4(),
        owner=owner,
        name=name,
        kind=kind,
        inputs=inputs,
        answer=answer,
        figures=figures_of(answer),
        estimator_version=estimator_version,
        constants_revision=constants_revision(),
        catalog_revision=revision,
        public=public,
        created_at=timezone.now(),
    )
    prediction.sha256 = hash_of(prediction)
    prediction.save(force_insert=True)
    return prediction


def figures_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The speed that an answer says, by figure: low, mid and high; of a verdict, a throughput or a report's row."""
    block = answer.get("expected") or answer.get("speed")
    if isinstance(block, dict):
        return {name: value for name, value in block.items() if isinstance(value, dict) and "mid" in value}
    found: dict[str, dict[str, Any]] = {}
    for name, value in answer.items():
        stem, _, side = name.rpartition("_")
        if side in ("low", "mid", "high") and isinstance(value, int | float):
            found.setdefault(stem, {})[side] = value
    return {name: sides for name, sides in found.items() if "mid" in sides}


def keep_measurement(
    owner: Any, asked: MeasurementRequest, measured: Measured, prediction: Prediction | None
) -> Measurement:
    """A file as read, with what was said; the text is not kept.

    Raises:
        ResolutionError: the prediction is of another model, GPU or engine, or another split.
    """
    if prediction is not None:
        _refuse_another_setting(prediction, measured.plan)
    stated = asked.model_dump(mode="json", exclude_unset=True, exclude={"text", "name", "prediction", "public"})
    runs = measured.runs
    if prediction is not None:
        runs = [run | {"predicted": against(prediction, run)} for run in runs]
    kept = Measurement(
        id=uuid.uuid4(),
        owner=owner,
        name=asked.name or "",
        prediction=prediction,
        text_sha256=hashlib.sha256(asked.text.encode()).hexdigest(),
        read=read_parts(measured.receipt),
        stated=stated,
        runs=runs,
        scope=measured.scope,
        model=measured.plan.model.name,
        gpu=measured.plan.gpu.slug or measured.plan.gpu.name,
        engine=measured.plan.engine.slug,
        model_class=class_of(measured.plan),
        estimator_version=ESTIMATOR_VERSION,
        constants_revision=constants_revision(),
        catalog_revision=measured.plan.catalog_revision,
        public=asked.public,
        created_at=timezone.now(),
    )
    kept.save(force_insert=True)
    return kept


def _refuse_another_setting(prediction: Prediction, plan: Plan) -> None:
    """A file answers no prediction of something else."""
    said = prediction.answer.get("inputs") or prediction.answer
    degrees = said.get("parallelism", said)
    found = {
        "model": (_name(said.get("model")), plan.model.slug or plan.model.name),
        "gpu": (_name(said.get("gpu")), plan.gpu.slug or plan.gpu.name),
        "engine": (_name(said.get("engine")), plan.engine.slug),
        **{name: (degrees.get(name), getattr(plan.parallelism, name)) for name in ("tp", "pp", "dp", "ep")},
    }
    for name, (one, other) in found.items():
        if one is not None and one != other:
            detail = _("The prediction is of another setting: its %(name)s is %(one)s, that of the file %(other)s.")
            words = {"name": name, "one": one, "other": other}
            raise ResolutionError([Fault(path=("prediction",), code="invalid", detail=detail % words)])


def _name(part: Any) -> Any:
    """The slug of a part of a question, or its name where it is none of the catalog."""
    return (part.get("slug") or part.get("name")) if isinstance(part, dict) else part


def class_of(plan: Plan) -> str:
    """The class of errors that a setting belongs to: dense, moe, attention_dp or mxfp4."""
    return model_class(rank_layout(plan.model.architecture, plan.gpu.spec, plan.precision, plan.parallelism))


def against(prediction: Prediction, run: dict[str, Any]) -> list[dict[str, Any]]:
    """Figures of a run beside those that were predicted, where the prediction is of this load."""
    if not _same_load(prediction.inputs.get("workload") or prediction.answer, run["workload"] or {}):
        return []
    found = []
    for figure in run["figures"]:
        said = prediction.figures.get(_NAMES.get(figure["name"], figure["name"]))
        if said is None or not said.get("mid"):
            continue
        low, high, measured = said.get("low"), said.get("high"), figure["measured"]
        found.append(
            {"name": figure["name"], "predicted": said["mid"], "low": low, "high": high, "measured": measured,
             "ratio": measured / said["mid"], "inside_band": inside_band(low, measured, high)}
        )  # fmt: skip
    return found


_NAMES = {"output_tokens_per_s": "tokens_per_s_total"}


def _same_load(predicted: dict[str, Any], measured: dict[str, Any]) -> bool:
    """Whether a prediction was of this load: as many in flight, lengths within 10 %."""
    if (predicted.get("mode") == "open_loop") != (measured.get("mode") == "open_loop"):
        return False
    count = predicted.get("concurrency", predicted.get("batch_size", 1)) or 1
    if count != measured.get("concurrency", 1):
        return False
    for name in ("input_tokens", "output_tokens"):
        said, got = predicted.get(name), measured.get(name)
        if said is not None and got is not None and not lengths_agree(got, said):
            return False
    return True
