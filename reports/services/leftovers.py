"""Versions that were ordered with an estimator of which no worker lives any more: ordered anew with this one."""

import logging

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from estimator.engine.version import ESTIMATOR_VERSION
from reports import canonical, conf
from reports.choices import ACTIVE, State, VersionKind
from reports.errors import explain
from reports.models import ReportChunk, ReportVersion
from reports.services.preparing import prepare_again
from reports.services.versions import Prepared, chunks_of
from reports.work import bell, claims, estimators, turns

log = logging.getLogger(__name__)


def order_anew() -> int:
    """Order the leftovers anew; how many. The version keeps its number, and its warnings say what happened.

    While a worker of the other estimator lives, the version is its work: then nothing is done here.
    """
    others = ReportVersion.objects.filter(state__in=ACTIVE).exclude(needs_estimator__in=("", ESTIMATOR_VERSION))
    estimators.expect(set(others.values_list("needs_estimator", flat=True).distinct()))
    gone = estimators.gone(conf.leftovers_after_s())
    done = 0
    for version in others.filter(needs_estimator__in=gone).order_by("pk"):
        try:
            done += _order_anew(version)
        except DatabaseError:
            raise  # not the version's fault: it is a leftover in the next round too
        except Exception as error:  # one that cannot be ordered anew must not keep the others waiting
            text = _("Ordered with estimator %(old)s, of which no worker lives, and not possible with %(new)s: %(why)s")
            why = explain(error)[1] if not str(error) else str(error)
            names = {"old": version.needs_estimator, "new": ESTIMATOR_VERSION, "why": why}
            claims.fail_version(version.pk, "estimator_changed", text % names)
    return done


def _order_anew(version: ReportVersion) -> bool:
    prepared = _prepared(version)
    with transaction.atomic():
        leftover = ReportVersion.objects.select_for_update().filter(
            pk=version.pk, state__in=ACTIVE, needs_estimator=version.needs_estimator
        )
        if not leftover.exists():
            return False
        # A worker of the other release that lives after all is fenced out: its chunk is gone.
        ReportChunk.objects.filter(version=version).delete()
        ReportVersion.objects.filter(pk=version.pk).update(
            state=State.QUEUED,
            started_at=None,
            finalize_token="",
            finalize_until=None,
            inputs=prepared.inputs,
            inputs_sha256=canonical.sha256(prepared.inputs),
            snapshot=prepared.snapshot,
            snapshot_sha256=canonical.sha256(prepared.snapshot),
            estimator_version=prepared.estimator_version,
            needs_estimator=ESTIMATOR_VERSION,
            total_rows=prepared.total_rows,
            **turns.place(version.report.owner_id, prepared.total_rows),
        )
        chunks = chunks_of(version, prepared.total_rows)
        ReportChunk.objects.bulk_create(chunks, batch_size=500)
        transaction.on_commit(lambda: bell.ring(len(chunks)))
    log.warning("version %s of estimator %s is ordered anew", version.pk, version.needs_estimator)
    return True


def _prepared(version: ReportVersion) -> Prepared:
    """The version as this release would order it; the rows of one that is priced anew stay those of its parent."""
    if version.kind == VersionKind.RECOST:
        return Prepared(
            inputs=version.inputs,
            snapshot=version.snapshot,
            total_rows=version.total_rows,
            estimator_version=version.estimator_version,
        )
    prepared = prepare_again(version)
    told = _("Ordered with estimator %(old)s, which has no workers any more; computed with %(new)s and its catalog.")
    names = {"old": version.estimator_version, "new": ESTIMATOR_VERSION}
    prepared.snapshot["warnings"] = [told % names, *prepared.snapshot["warnings"]]
    return prepared
