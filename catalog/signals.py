"""Every saved or deleted catalog row raises the catalog revision."""

from typing import Any

from django.apps import AppConfig
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save

from catalog.models.row import CatalogRecord
from catalog.revisions import row_was_written


def connect(app: AppConfig) -> None:
    """Connect the signals of every catalog model of `app`; history rows are not catalog facts."""
    for model in app.get_models():
        if issubclass(model, CatalogRecord):
            post_save.connect(_on_write, sender=model, dispatch_uid=f"catalog-revision-save-{model.__name__}")
            post_delete.connect(_on_write, sender=model, dispatch_uid=f"catalog-revision-delete-{model.__name__}")
            for field in model._meta.many_to_many:
                m2m_changed.connect(
                    _on_m2m, sender=field.remote_field.through, dispatch_uid=f"catalog-revision-m2m-{field}"
                )


def _on_write(sender: type[Model], **_: Any) -> None:
    row_was_written()


def _on_m2m(sender: type[Model], action: str, **_: Any) -> None:
    if action.startswith("post_"):
        row_was_written()
