"""From what was asked to a version that can be computed: canonical inputs, snapshot with prices, number of rows."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.specs import WorkloadMode
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.estimates.sweep import compute as sweeps
from estimator.estimates.sweep.axes import warnings_of
from estimator.estimates.sweep.entries import label_of
from estimator.estimates.sweep.unused import unused_of_sweep
from estimator.question.sweep import Sweep, stored_targets
from estimator.question.workload import Targets
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpu_prices import OFFERS_CURRENCY
from estimator.resolvers.live import current_facts
from reports import conf
from reports.choices import VersionKind
from reports.models import ReportVersion
from reports.services.api_bills import api_bills_of
from reports.services.prices import prices_of
from reports.services.versions import Prepared

MOST_WARNINGS = 200


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
    snapshot["prices"] = _prices(sweep, pricing, facts)
    snapshot["api_bills"] = api_bills_of(sweep, _currency(pricing), facts)
    snapshot["assumptions"] = _assumptions(inputs, snapshot)
    snapshot["warnings"] = _warnings(Sweep.stored(sweep), plan, stored_targets(slo))
    return Prepared(inputs=inputs, snapshot=snapshot, total_rows=plan.total_rows, estimator_version=ESTIMATOR_VERSION)


def prepare_again(like: ReportVersion | None, given: Mapping[str, Any] | None = None) -> Prepared:
    """The question of a version against the catalog of now, with parts of it replaced by those given.

    A bare engine name keeps the profile that it meant then: another profile is another question, and its rows are not
    those of the version. A new release of the engine is asked for by naming it.

    Raises:
        ResolutionError: Every fault; the catalog may no longer hold what the version names.
    """
    inputs = dict(like.inputs) if like is not None else {}
    if like is not None:
        inputs["sweep"] = _with_engines_as_then(inputs["sweep"], like.snapshot)
    inputs |= given or {}
    return prepare(sweep=inputs["sweep"], slo=inputs.get("slo"), pricing=inputs.get("pricing"))


def _with_engines_as_then(sweep: Mapping[str, Any], snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """The sweep with each alias of an engine that means another profile by now replaced by the one it stood for."""
    facts = current_facts()
    known = facts.slugs("engine")
    rows = snapshot["facts"]["engine"].values()
    then = {
        alias: row["slug"]
        for row in rows
        for alias in row.get("aliases") or ()
        if alias in known and facts.row("engine", alias)["slug"] != row["slug"]
    }

    def named(entry: Any) -> Any:
        if isinstance(entry, str):
            return then.get(entry, entry)
        return entry | {"slug": then.get(entry["slug"], entry["slug"])}

    return dict(sweep) | {"engines": [named(entry) for entry in sweep["engines"]]}


def prepare_recost(parent: ReportVersion, pricing: Any) -> Prepared:
    """The rows of a complete version at other prices.

    Raises:
        ResolutionError: A price or offer that is unknown.
    """
    inputs = dict(parent.inputs) | {"pricing": pricing}
    snapshot = dict(parent.snapshot)
    facts = current_facts()
    snapshot["prices"] = _prices(inputs["sweep"], pricing, facts)
    snapshot["api_bills"] = api_bills_of(inputs["sweep"], _currency(pricing), facts)
    snapshot["assumptions"] = _assumptions(inputs, snapshot)
    return Prepared(
        inputs=inputs,
        snapshot=snapshot,
        total_rows=parent.total_rows,
        estimator_version=parent.estimator_version,
        kind=VersionKind.RECOST,
        parent=parent,
    )


def _currency(pricing: Mapping[str, Any] | None) -> str:
    return str((pricing or {}).get("currency") or OFFERS_CURRENCY)


def _prices(sweep: Mapping[str, Any], pricing: Any, facts: Facts) -> dict[str, Any]:
    try:
        return prices_of([label_of(entry) for entry in Sweep.stored(sweep).gpus], pricing, facts)
    except ResolutionError as error:
        raise _below(error, "pricing") from None


def _below(error: ResolutionError, name: str) -> ResolutionError:
    return ResolutionError([fault.under(name) for fault in error.faults])


def _refuse_too_many(sweep: Mapping[str, Any]) -> None:
    """Count before anything is built: a sweep far beyond the limit must cost nothing."""
    try:
        rows = sweeps.most_rows(sweep)
    except ResolutionError as error:
        raise _below(error, "sweep") from None
    _refuse_rows(rows)


def _refuse_rows(rows: int) -> None:
    most = conf.max_rows()
    if rows > most:
        detail = _("The sweep has %(rows)s rows; at most %(most)s are allowed.") % {"rows": rows, "most": most}
        raise ResolutionError([Fault(path=("sweep",), code="out_of_range", detail=detail)])


def _warnings(sweep: Sweep, plan: sweeps.Sweep, slo: Targets | None) -> list[str]:
    """What an estimate of each setting would warn of; beyond MOST_WARNINGS their number."""
    told = [*warnings_of(plan.axes), *unused_of_sweep(sweep, plan.axes, slo, is_refined=plan.is_refined)]
    beyond = len(told) - MOST_WARNINGS
    return told if beyond <= 0 else [*told[:MOST_WARNINGS], _("%(n)s more warnings of this kind.") % {"n": beyond}]


def _assumptions(inputs: Mapping[str, Any], snapshot: Mapping[str, Any]) -> list[str]:
    listed = [
        _("low, mid and high are the calibrated band; ceiling is the physical limit that nothing can pass."),
        _("Cost: the whole price of the GPUs on output tokens, at full load."),
    ]
    listed += _load_assumptions(inputs)
    missing = sorted(set(map(label_of, Sweep.stored(inputs["sweep"]).gpus)) - set(snapshot["prices"]))
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


def _load_assumptions(inputs: Mapping[str, Any]) -> list[str]:
    """What modes that set their own load count with."""
    modes = {workload.mode for workload in Sweep.stored(inputs["sweep"]).workloads}
    listed = []
    if WorkloadMode.OPEN_LOOP in modes:
        slo = stored_targets(inputs.get("slo")) or Targets()
        listed.append(
            _(
                "Open loop: cost and tokens/s are those of the arrivals, not of a full replica; TTFT and end-to-end "
                "time are held against the targets at the %(percentile)sth percentile; memory is that of the mean "
                "number of requests in flight."
            )
            % {"percentile": slo.percentile_in(WorkloadMode.OPEN_LOOP)}
        )
    if WorkloadMode.OFFLINE in modes:
        listed.append(_("Offline: as many sequences as fit run at once; there is no time to the first token."))
    return listed
