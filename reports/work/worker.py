"""What a woken worker does: claim and do the best piece of work until nothing is claimable."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from itertools import cycle

from django.db import DatabaseError, connection
from django.utils.translation import gettext as _

from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.estimates.sweep import compute as sweeps
from reports import conf
from reports.choices import VersionKind
from reports.doing import doing
from reports.errors import PASSING, LeaseLostError, PermanentReportError, explain
from reports.models import ReportChunk, ReportVersion
from reports.rows import hashing, repricing, tables
from reports.storage.patience import patient
from reports.work import claims, derive, put_off
from reports.work.claims import CHUNK
from reports.work.finalize import finalize
from reports.work.keeper import LeaseKeeper
from reports.work.leases import Claim
from reports.work.new_file import new_file
from reports.work.pauses import pause_point

log = logging.getLogger(__name__)
_plans: OrderedDict[tuple[str, str], sweeps.Sweep] = OrderedDict()
_PLANS_KEPT = 2
Piece = tuple[Callable[[], Claim | None], Callable[[Claim], None]]
# However many files are ordered, every other piece of work is a chunk.
_file_first = cycle((True, False))


def run() -> bool:
    """Work until nothing is claimable or WORK_BUDGET_S are spent; True when work may be left."""
    started = time.monotonic()
    while time.monotonic() - started < conf.WORK_BUDGET_S:
        if not step():
            return False
    return True


def step() -> bool:
    """Do one piece of work: a last step, else a file or a chunk in turn; False when nothing was claimable."""
    file, chunk = (claims.claim_artifact, derive.make), (claims.claim_chunk, compute_chunk)
    others: tuple[Piece, Piece] = (file, chunk) if next(_file_first) else (chunk, file)
    for claim_one, work in ((claims.claim_finalize, finalize), *others):
        claim = claim_one()
        if claim is not None:
            with patient(conf.store_wait_s()):
                work(claim)
            return True
    return False


def _plan(version: ReportVersion) -> sweeps.Sweep:
    key = (version.inputs_sha256, version.snapshot_sha256)
    plan = _plans.get(key)
    if plan is None:
        plan = _plans[key] = _load(version)
        while len(_plans) > _PLANS_KEPT:
            _plans.popitem(last=False)
    return plan


def _load(version: ReportVersion) -> sweeps.Sweep:
    """The sweep of a version; one that this release cannot read was ordered with another, and trying again is vain."""
    try:
        return sweeps.load(version.inputs, version.snapshot)
    except (ResolutionError, EngineError, LookupError, TypeError, ValueError) as error:
        log.warning("inputs of version %s cannot be read", version.pk, exc_info=error)
        text = _("This release cannot read what the version was ordered with (%(reason)s): rebuild it.")
        raise PermanentReportError("estimator_changed", text % {"reason": error}) from error


def forget_plans() -> None:
    """Drop the plans kept in this process."""
    _plans.clear()


def compute_chunk(claim: Claim) -> None:
    """Evaluate the rows of a claimed chunk and record its part file; every way out leaves a state that goes on."""
    chunk = ReportChunk.objects.select_related("version").get(pk=claim.pk)
    version = chunk.version
    with doing(version.ordered_by_request, report=version.report_id, version=version.number, chunk=chunk.index):
        _compute_or_give_up(claim, chunk)


def _compute_or_give_up(claim: Claim, chunk: ReportChunk) -> None:
    try:
        _compute(claim, chunk)
        log.info("%d rows computed, attempt %d", chunk.rows, chunk.attempts)
    except LeaseLostError:
        return
    except SystemExit:  # the pool asks this process to stop: the attempt is given back
        claims.release_chunk(claim, give_attempt_back=True)
        raise
    except DatabaseError:
        connection.close()  # the database is away: nothing can be recorded, the lease will end by itself
        raise
    except Exception as error:  # any error belongs to the chunk, not to the worker
        _give_up(claim, error)


def _give_up(claim: Claim, error: Exception) -> None:
    code, text = explain(error)
    log.warning("a chunk is given up: %s", text)
    chunk = ReportChunk.objects.get(pk=claim.pk)
    if code in PASSING:
        put_off.put_off_chunk(claim, chunk.version_id, code, text)
    elif claims.release_chunk(claim, error=text) and (
        isinstance(error, PermanentReportError) or code == "cannot_compute" or chunk.attempts >= conf.MAX_ATTEMPTS
    ):
        claims.fail_version(chunk.version_id, code, text)


def _refuse_other_estimator(version: ReportVersion) -> None:
    """Rows of two estimators must not stand in one version, which names one."""
    if version.estimator_version != ESTIMATOR_VERSION:
        text = _("Ordered with estimator %(old)s, which is now %(new)s: rebuild it.")
        raise PermanentReportError(
            "estimator_changed", text % {"old": version.estimator_version, "new": ESTIMATOR_VERSION}
        )


def _compute(claim: Claim, chunk: ReportChunk) -> None:
    version = chunk.version
    name = f"rows/{version.report_id}/v{version.number}/{chunk.index:06d}-{claim.token}.parquet"
    with new_file(name) as file:
        if version.kind == VersionKind.RECOST:
            repricing.write_recosted(version, chunk, file.scratch)
        else:
            _refuse_other_estimator(version)
            plan = _plan(version)
            if plan.total_rows != version.total_rows:
                raise PermanentReportError(
                    "rows_changed", _("This estimator makes another number of rows from these inputs: rebuild it.")
                )
            tables.write_rows(plan.rows(chunk.first_row, chunk.rows), file.scratch)
        if not CHUNK.heartbeat(claim):
            raise LeaseLostError
        # The store may be away for longer than a lease holds; the rows are not computed again for that.
        with LeaseKeeper(lambda: CHUNK.heartbeat(claim)) as keeper:
            leaves = hashing.leaves_of(file.scratch, chunk.first_row, chunk.rows)
            part = file.keep()
        keeper.check()
        pause_point(f"part:{chunk.index}")
        file.recorded = claims.complete_chunk(claim, part, leaves)
    pause_point(str(chunk.index))
