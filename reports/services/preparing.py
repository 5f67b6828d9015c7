"""From what was asked to a version that can be computed: canonical inputs, snapshot with prices, number of rows."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.version import ESTIMATOR_VERSION
from estimator.resolvers.facts import Facts
from estimator.resolvers.issues import Issue, ResolutionError
from estimator.resolvers.live import current_facts
from estimator.services import sweeps
from reports import conf
from reports.choices import VersionKind
from reports.models import ReportVersion
from reports.services.prices import prices_of
from reports.services.versions import Prepared

_AXES = ("models", "gpus", "engines", "precisions", "parallelism", "workloads")


def prepare(*, sweep: Mapping[str, Any], slo: Any, pricing: Any) -> Prepared:
    """A sweep against the catalog of now.

    Raises:
        ResolutionError: Every fault, by its place in the request.
    """
    inputs = {"sweep": dict(sweep), "slo": slo, "pricing": pricing}
    facts = current_facts()
    _refuse_too_many(sweep)
    try:
        snapshot = sweeps.snapshot_of(sweep, facts)
        plan = sweeps.load(inputs, snapshot | {"prices": {}})
    except ResolutionError as error:
        raise _below(error, "sweep") from None
    _refuse_rows(plan.total_rows)
    snapshot["prices"] = _prices(sweep["gpus"], pricing, facts)
    snapshot["assumptions"] = _assumptions(snapshot)
    snapshot["warnings"] = list(plan.axes.reasons)
    return Prepared(inputs=inputs, snapshot=snapshot, total_rows=plan.total_rows, estimator_version=ESTIMATOR_VERSION)


def prepare_recost(parent: ReportVersion, pricing: Any) -> Prepared:
    """The rows of a complete version at other prices.

    Raises:
        ResolutionError: A price or offer that is unknown.
    """
    inputs = dict(parent.inputs) | {"pricing": pricing}
    snapshot = dict(parent.snapshot)
    snapshot["prices"] = _prices(inputs["sweep"]["gpus"], pricing, current_facts())
    snapshot["assumptions"] = _assumptions(snapshot)
    return Prepared(
        inputs=inputs,
        snapshot=snapshot,
        total_rows=parent.total_rows,
        estimator_version=parent.estimator_version,
        kind=VersionKind.RECOST,
        parent=parent,
    )


def _prices(gpus: list[str], pricing: Any, facts: Facts) -> dict[str, Any]:
    try:
        return prices_of(gpus, pricing, facts)
    except ResolutionError as error:
        raise _below(error, "pricing") from None


def _below(error: ResolutionError, name: str) -> ResolutionError:
    return ResolutionError(
        [Issue(path=(name, *i.path), code=i.code, detail=i.detail, near=i.near) for i in error.issues]
    )


def _refuse_too_many(sweep: Mapping[str, Any]) -> None:
    """Count before anything is built: a sweep far beyond the limit must cost nothing."""
    rows = 1
    for axis in _AXES:
        rows *= len(sweep[axis])
    if sweep["batch_sizes"] != "max":
        try:
            rows *= len(sweeps.batch_sizes_of(sweep["batch_sizes"]))
        except ResolutionError as error:
            raise _below(error, "sweep") from None
    _refuse_rows(rows)


def _refuse_rows(rows: int) -> None:
    most = conf.max_rows()
    if rows > most:
        detail = _("The sweep has %(rows)s rows; at most %(most)s are allowed.") % {"rows": rows, "most": most}
        raise ResolutionError([Issue(path=("sweep",), code="out_of_range", detail=detail)])


def _assumptions(snapshot: Mapping[str, Any]) -> list[str]:
    listed = [
        _("low, mid and high are the calibrated band; ceiling is the physical limit that nothing can pass."),
        _("Cost: the whole price of the GPUs on output tokens, at full load."),
    ]
    missing = sorted(set(snapshot["facts"]["gpu"]) - set(snapshot["prices"]))
    if missing:
        listed.append(_("No price for %(gpus)s: cost is null there.") % {"gpus": ", ".join(missing)})
    for slug, price in sorted(snapshot["prices"].items()):
        listed.append(
            _("%(gpu)s: %(amount)s %(currency)s per GPU hour (%(source)s).")
            % {
                "gpu": slug,
                "amount": price["price_per_gpu_hour"],
                "currency": price["currency"],
                "source": price["source"],
            }
        )
    return listed
