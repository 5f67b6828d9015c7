"""Whether the store of report files that a process reaches is the one that its database goes with.

A web machine that looks into another folder or bucket than the workers would never find a file, and two workers with
two folders would not find each other's parts.
"""

import uuid

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from reports.models import StoreMark
from reports.storage import get_storage

_ONLY = 1


class OtherStoreError(Exception):
    """The store does not say what the database says."""


def check() -> None:
    """Compare the marker in the store with the database's; where neither says anything yet, both are written.

    Raises:
        OtherStoreError: This is another store, or one that lost its marker.
        StoreAwayError: The store does not answer.
    """
    found = get_storage().read_marker()
    mark = StoreMark.objects.filter(pk=_ONLY).first()
    if mark is None or mark.marked_at is None:
        mark, found = _first(found)
    if found is None:
        raise OtherStoreError(
            _(
                "The store of report files has no marker, and the database knows one: this is another store, or an "
                "empty folder where it should be mounted. If it is the right one, run manage.py adopt_store."
            )
        )
    if found != mark.identity:
        raise OtherStoreError(
            _("This is another store: its marker is %(found)s, the database goes with %(known)s.")
            % {"found": found, "known": mark.identity}
        )


def adopt() -> str:
    """Have the database go with the store that is there, whatever it went with; the identity of both."""
    storage = get_storage()
    found = storage.read_marker()
    identity = found or uuid.uuid4().hex
    with transaction.atomic():
        StoreMark.objects.update_or_create(pk=_ONLY, defaults={"identity": identity, "marked_at": Now()})
        if found is None:
            storage.write_marker(identity)
    return identity


def _first(found: str | None) -> tuple[StoreMark, str | None]:
    """The mark and the marker, written under a lock of the row: of all that start at once, one does it."""
    with transaction.atomic():
        StoreMark.objects.get_or_create(pk=_ONLY, defaults={"identity": found or uuid.uuid4().hex})
        mark = StoreMark.objects.select_for_update().get(pk=_ONLY)
        storage = get_storage()
        if mark.marked_at is not None:
            return mark, storage.read_marker()
        if found is None:
            storage.write_marker(mark.identity)
        StoreMark.objects.filter(pk=_ONLY).update(marked_at=Now())
        return mark, found or mark.identity
