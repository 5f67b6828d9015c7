"""The catalog revision: one counter row, raised in the transaction of every catalog write.

Every process caches what it read from the catalog under the revision it read first. A write and its raise of the
counter become visible together, so the next request of any process sees either both or neither. The token beside the
number is new with each raise: a raise that was rolled back can never share a cache key with a later one.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from catalog.models.revision import CatalogRevision


class Revision(NamedTuple):
    """State of the catalog: `number` for people, `token` for cache keys."""

    number: int
    token: str


@dataclass(slots=True)
class CatalogWrite:
    """An open catalog write; `touched` says whether the revision has to rise at its end."""

    touched: bool = False

    def touch(self) -> None:
        """Record that a row changed."""
        self.touched = True


_READ = f"SELECT number, token FROM {CatalogRevision._meta.db_table} WHERE id = %s"  # noqa: S608  our own table name
_open_write: ContextVar[CatalogWrite | None] = ContextVar("catalog_open_write", default=None)


def current_revision() -> Revision:
    """The revision now, by one read of one row; number 0 before the first write."""
    # Every request makes this read: plain SQL takes a tenth of the time the ORM needs to put the same query together.
    with connection.cursor() as cursor:
        cursor.execute(_READ, [CatalogRevision.ONLY_PK])
        row = cursor.fetchone()
    return Revision(*row) if row else Revision(0, "")


def bump_catalog_revision() -> None:
    """Raise the revision by one; call inside the transaction of the write it stands for."""
    token = secrets.token_hex(8)
    changed = CatalogRevision.objects.filter(pk=CatalogRevision.ONLY_PK).update(
        number=F("number") + 1, token=token, changed_at=timezone.now()
    )
    if not changed:
        CatalogRevision.objects.get_or_create(pk=CatalogRevision.ONLY_PK, defaults={"number": 1, "token": token})


@contextmanager
def catalog_write(*, only_if_touched: bool = False) -> Iterator[CatalogWrite]:
    """One transaction whose catalog writes raise the revision once, at its end; inner ones join the outer.

    Args:
        only_if_touched: raise only when a row was in fact written (signals of saved and deleted rows count).
    """
    outer = _open_write.get()
    if outer is not None:
        if not only_if_touched:
            outer.touch()
        with transaction.atomic():
            yield outer
        return
    write = CatalogWrite(touched=not only_if_touched)
    reset = _open_write.set(write)
    try:
        with transaction.atomic():
            yield write
            if write.touched:
                bump_catalog_revision()
    finally:
        _open_write.reset(reset)


def row_was_written() -> None:
    """Called for each saved or deleted row: joins the open catalog write, else raises the revision at once."""
    write = _open_write.get()
    if write is not None:
        write.touch()
    else:
        bump_catalog_revision()
