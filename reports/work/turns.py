"""Whose turn it is: owners in a round, and the versions of an owner by what is left of them and how long they waited.

The turn goes to the owner with work whose last one lies furthest back, so that nobody waits for another's flood. Within
an owner the version goes first that is due after the fewest rows: those claimed for the owner when it was ordered, plus
its own. A small version thus overtakes a large one. A large one ages: once as many rows were claimed as it has itself,
nothing that is ordered later goes before it.
"""

from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Now

from estimator.engine.version import ESTIMATOR_VERSION
from reports.choices import ACTIVE, State
from reports.models import OwnerTurn, ReportChunk, ReportVersion


def workable() -> Q:
    """Versions that workers of this release may work on now: their own estimator's, not waiting for a disk."""
    now = Q(next_try_at__isnull=True) | Q(next_try_at__lt=Now())
    return now & Q(state__in=ACTIVE, needs_estimator=ESTIMATOR_VERSION)


def with_chunks(free: Q) -> QuerySet[ReportVersion]:
    """Versions of which a chunk could be claimed; `free` is the guard of a chunk."""
    return ReportVersion.objects.filter(workable(), Exists(ReportChunk.objects.filter(free, version=OuterRef("pk"))))


def best_versions(free: Q) -> QuerySet[Any, Any]:
    """Owners with work in the order of their turns; `best` is the version of each to claim from."""
    due = with_chunks(free).filter(owner=OuterRef("owner")).order_by("due_after_rows", "pk")
    owners = OwnerTurn.objects.annotate(best=Subquery(due.values("pk")[:1]))
    return owners.filter(best__isnull=False).order_by("last_turn", "owner")


def versions_in_turn(free: Q, most: int) -> Iterator[int]:
    """The version of each owner to claim from, in the order of turns; then what else is due of each, up to `most`."""
    owners = list(best_versions(free).values_list("owner", "best")[:most])
    for _owner, best in owners:
        yield best
    for owner, _best in owners:
        due = with_chunks(free).filter(owner=owner).order_by("due_after_rows", "pk")
        yield from due.values_list("pk", flat=True)[1:most]


def last_turn(owner: str) -> Coalesce:
    """The last turn of the owner that a query names in the column `owner`, for its ordering; 0: never."""
    return Coalesce(Subquery(OwnerTurn.objects.filter(owner=OuterRef(owner)).values("last_turn")), 0)


def note(owner_id: Any, rows: int = 0) -> None:
    """The owner had a turn, of so many rows."""
    newest = Subquery(OwnerTurn.objects.order_by("-last_turn").values("last_turn")[:1])
    turn = OwnerTurn.objects.filter(owner=owner_id)
    if not turn.update(last_turn=newest + 1, served_rows=F("served_rows") + rows):
        OwnerTurn.objects.bulk_create([OwnerTurn(owner_id=owner_id, last_turn=0)], ignore_conflicts=True)


def place(owner_id: Any, rows: int) -> dict[str, Any]:
    """The columns of a version that put so many rows of this owner into the queue."""
    OwnerTurn.objects.bulk_create([OwnerTurn(owner_id=owner_id)], ignore_conflicts=True)
    served = OwnerTurn.objects.values_list("served_rows", flat=True).get(owner=owner_id)
    return {"owner_id": owner_id, "remaining_rows": rows, "due_after_rows": served + rows}


def put_right() -> int:
    """Place what an older release ordered, and count anew what one worked on; how many versions were wrong.

    While a deploy rolls, web and workers of the release before write to the same tables and know no turns.
    """
    wrong = 0
    turnless = ReportVersion.objects.filter(state__in=ACTIVE, owner__isnull=False).exclude(
        Exists(OwnerTurn.objects.filter(owner=OuterRef("owner")))
    )
    owners = set(turnless.values_list("owner", flat=True))
    OwnerTurn.objects.bulk_create([OwnerTurn(owner_id=owner) for owner in owners], ignore_conflicts=True)
    for version in ReportVersion.objects.filter(state__in=ACTIVE, owner=None).select_related("report"):
        columns = place(version.report.owner_id, version.total_rows)
        wrong += ReportVersion.objects.filter(pk=version.pk, owner=None).update(
            needs_estimator=version.estimator_version, **columns
        )
    open_rows = ReportChunk.objects.filter(version=OuterRef("pk")).exclude(state=State.COMPLETE).order_by()
    left = Coalesce(Subquery(open_rows.values("version").annotate(rows_left=Sum("rows")).values("rows_left")), 0)
    drifted = ReportVersion.objects.filter(state__in=ACTIVE).annotate(left=left).exclude(left=F("remaining_rows"))
    for pk in drifted.values_list("pk", flat=True):
        wrong += recount(pk)
    return wrong


def recount(version_id: int) -> int:
    """Count the remaining rows of a version anew, under its lock; 1 when it is still in flight."""
    with transaction.atomic():
        version = ReportVersion.objects.select_for_update(no_key=True).only("pk").filter(pk=version_id).first()
        chunks = ReportChunk.objects.filter(version=version_id).exclude(state=State.COMPLETE)
        left = chunks.aggregate(left=Sum("rows"))["left"] or 0
        found = ReportVersion.objects.filter(pk=version_id, state__in=ACTIVE)
        return found.update(remaining_rows=left) if version else 0


def forget_idle() -> int:
    """Remove the turns of owners with nothing in flight, so that a claim looks at few."""
    busy = ReportVersion.objects.filter(state__in=ACTIVE, owner=OuterRef("owner"))
    idle = OwnerTurn.objects.exclude(Exists(busy)).values_list("owner", flat=True)
    return OwnerTurn.objects.filter(owner__in=list(idle)).delete()[0]
