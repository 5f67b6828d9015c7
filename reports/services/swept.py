"""A sweep from the body of an estimate: its plan on several GPUs, under loads around its own."""

from collections.abc import Sequence
from typing import Any

import orjson
from django.utils.translation import gettext as _
from pydantic import BaseModel

from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.specs import WorkloadMode
from estimator.estimates.verdict.answer import VerdictRequest
from estimator.question.sweep import BATCH_MODES
from estimator.resolvers.gpu_prices import OFFERS_CURRENCY

LAST_POWER = 8
# A queue is seen on both sides of the rate that was asked for.
_RATES = (0.5, 1.0, 2.0)
_SAME = ("memory", "engine_settings", "launch", "speculative", "lora", "mtp_layers_loaded", "power", "power_cap_w")


def order_of(asked: VerdictRequest, *, gpus: Sequence[Any] | None, batch_sizes: Any) -> dict[str, Any]:
    """Sweep, targets and pricing as `preparing.prepare` takes them.

    Args:
        asked: the body of a verdict.
        gpus: GPUs to compare beside its own.
        batch_sizes: loads of the workload as JSON; None: powers of two, and its own.

    Raises:
        ResolutionError: the body has no workload, or one that takes no batch sizes.
    """
    if asked.workload is None:
        path = ("estimate", "workload")
        raise ResolutionError([Fault(path=path, code="required", detail=_("This field is required."))])
    if batch_sizes is not None and asked.workload.mode not in BATCH_MODES:
        detail = _("Only a workload of mode %(modes)s takes batch sizes.") % {"modes": ", ".join(BATCH_MODES)}
        raise ResolutionError([Fault(path=("batch_sizes",), code="not_supported", detail=detail)])
    given = _json(asked)
    others = [_json(one) if isinstance(one, BaseModel) else one for one in gpus or ()]
    sweep: dict[str, Any] = {
        "models": [given["model"]],
        "gpus": [given["gpu"], *(one for one in others if one != given["gpu"])],
        **{f"{name}s": [given[name]] for name in ("engine", "precision") if name in given},
        **({"parallelism": [given["parallelism"]]} if "parallelism" in given else {}),
        "workloads": [_workload(given["workload"], asked.workload.mode)],
        **{name: given[name] for name in _SAME if name in given},
    }
    if asked.workload.mode in BATCH_MODES:
        sweep["batch_sizes"] = batch_sizes or _batches(asked.workload.concurrency)
        sweep["refine"] = asked.slo is not None
    return {"sweep": sweep, "slo": given.get("slo"), "pricing": _pricing(given)}


def _json(body: BaseModel) -> Any:
    """What was given of a body, by the names of the API."""
    return orjson.loads(body.model_dump_json(by_alias=True, exclude_unset=True))


def _workload(given: dict[str, Any], mode: WorkloadMode) -> dict[str, Any]:
    """The workload without a load of its own, which the sweep gives; arrivals at half, once and twice their rate."""
    own = {name: value for name, value in given.items() if name not in ("concurrency", "batch_sizes")}
    if mode is WorkloadMode.OPEN_LOOP and own.get("requests_per_s"):
        own["requests_per_s"] = [own["requests_per_s"] * share for share in _RATES]
    return own


def _batches(own: int | None) -> list[int]:
    return sorted({*(2**power for power in range(LAST_POWER + 1)), own or 1})


def _pricing(given: dict[str, Any]) -> dict[str, Any] | None:
    """The price of the estimate's own GPU; the others have their default prices."""
    currency, gpu = given.get("currency") or OFFERS_CURRENCY, given["gpu"]
    label = gpu if isinstance(gpu, str) else gpu.get("name") or ""
    if given.get("price_per_gpu_hour") is not None:
        return {"currency": currency, "price_per_gpu_hour": {label: given["price_per_gpu_hour"]}}
    if given.get("offer") is not None:
        return {"currency": currency, "offers": {label: given["offer"]}}
    return {"currency": currency} if given.get("currency") else None
