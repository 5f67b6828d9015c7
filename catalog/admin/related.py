"""Rows of the catalog that name another row: offers of an accelerator, prices of a seller, copies of a profile."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.urls import reverse

from catalog.usage import Usage


def rows_that_name(row: Any) -> Iterator[Usage]:
    """Each kind of row that points to this one, with its number and the list of them."""
    for relation in row._meta.related_objects:
        model: Any = relation.related_model
        if model._meta.app_label != "catalog" or model._meta.model_name.startswith("historical"):
            continue
        count = model._default_manager.filter(**{relation.field.name: row.pk}).count()
        if count:
            url = None
            if model in admin.site._registry:
                url = reverse(f"admin:catalog_{model._meta.model_name}_changelist")
                url += f"?{relation.field.name}__id__exact={row.pk}"
            name = model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural
            yield Usage(label=str(name), count=count, url=url)
