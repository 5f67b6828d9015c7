"""Query sets of catalog rows: bulk writes, which send no signals, count as catalog changes too."""

from collections.abc import Collection, Iterable
from typing import Any, Self, TypeVar

from django.db import models

from catalog.revisions import catalog_write

RowT = TypeVar("RowT", bound=models.Model)


class CatalogQuerySet(models.QuerySet[RowT]):
    """Query set whose bulk writes raise the catalog revision in their own transaction.

    They write no history: use `simple_history.utils.bulk_create_with_history` and `bulk_update_with_history`, which
    come through here, or save row by row.
    """

    def update(self, **values: Any) -> int:
        """As Django's, raising the revision when rows matched."""
        with catalog_write(only_if_touched=True) as write:
            count = super().update(**values)
            if count:
                write.touch()
        return count

    def bulk_create(self, objs: Iterable[RowT], *args: Any, **options: Any) -> list[RowT]:
        """As Django's, raising the revision."""
        with catalog_write():
            return super().bulk_create(objs, *args, **options)

    def bulk_update(self, objs: Iterable[RowT], fields: Iterable[str], *args: Any, **options: Any) -> int:
        """As Django's, raising the revision."""
        with catalog_write():
            return super().bulk_update(objs, fields, *args, **options)

    def search(self, text: str, fields: Collection[str]) -> Self:
        """Rows in which every word of `text` occurs in one of `fields`, in any order, whatever the case."""
        rows = self
        for word in text.split():
            condition = models.Q()
            for field in fields:
                condition |= models.Q(**{f"{field}__icontains": word})
            rows = rows.filter(condition)
        return rows


CatalogManager = models.Manager.from_queryset(CatalogQuerySet)
