"""Which releases of the estimator have workers: while a deploy rolls, there are two.

Each worker takes the versions of its own estimator. Of complete versions it makes files unless a newer release made
them, whose columns it may not know.
"""

from django.db.models.functions import Now
from packaging.version import InvalidVersion, Version

from estimator.engine.version import ESTIMATOR_VERSION
from reports import clock
from reports.models import WorkerEstimator


def say_alive() -> None:
    """A worker of this release is alive; said every few seconds."""
    if not WorkerEstimator.objects.filter(estimator_version=ESTIMATOR_VERSION).update(seen_at=Now()):
        expect({ESTIMATOR_VERSION})


def expect(versions: set[str]) -> None:
    """Give workers of these releases the benefit of the doubt from now on, where none was ever seen."""
    rows = [WorkerEstimator(estimator_version=version) for version in sorted(versions)]
    WorkerEstimator.objects.bulk_create(rows, ignore_conflicts=True)


def gone(for_s: float) -> set[str]:
    """Releases other than this one of which no worker has lived for so many seconds."""
    unseen = WorkerEstimator.objects.filter(seen_at__lt=clock.after(-for_s))
    return set(unseen.values_list("estimator_version", flat=True)) - {ESTIMATOR_VERSION}


def newer_than_ours() -> set[str]:
    """Releases that workers were seen of and that are newer than this one."""
    return {
        version for version in WorkerEstimator.objects.values_list("estimator_version", flat=True) if newer(version)
    }


def newer(version: str) -> bool:
    """Whether a release is newer than this one; one whose name is no version is taken for another."""
    try:
        return Version(version) > Version(ESTIMATOR_VERSION)
    except InvalidVersion:
        return version != ESTIMATOR_VERSION
