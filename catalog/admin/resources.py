"""Spreadsheets in and out: every imported row passes the checks of its model, and the revision rises once."""

from typing import Any

from django.db.models import Model
from django.utils.translation import gettext as _
from import_export import resources

from catalog.models import Checkpoint, EngineProfile, Gpu, LanguageModel, Preset
from catalog.revisions import catalog_write
from catalog.services.people import check_frozen

_OURS = ("id", "edited_by_person", "loaded_from", "loaded_version", "loaded_sha256", "created_at", "updated_at")


class CatalogResource(resources.ModelResource):
    """Rows by slug; what a spreadsheet changes counts as edited by a person."""

    def import_data(self, *args: Any, dry_run: bool = False, **options: Any) -> Any:
        """As the library's; outside a dry run in one catalog write."""
        if dry_run:
            return super().import_data(*args, dry_run=True, **options)
        with catalog_write(only_if_touched=True):
            return super().import_data(*args, dry_run=False, **options)

    def before_save_instance(self, instance: Any, row: Any, **_options: Any) -> None:
        """Refuse changes of what is frozen, and mark the row."""
        check_frozen(instance)
        instance.edited_by_person = True
        instance._change_reason = _("Imported from a spreadsheet")


class _Options:
    """Options all resources share."""

    import_id_fields = ("slug",)
    exclude: tuple[str, ...] = _OURS
    skip_unchanged = True
    report_skipped = True
    use_transactions = True
    clean_model_instances = True


def _resource(model: type[Model], *, exclude: tuple[str, ...] = (), **options: Any) -> type[CatalogResource]:
    meta = type("Meta", (_Options,), {"model": model, "exclude": _OURS + exclude, **options})
    return type(f"{model.__name__}Resource", (CatalogResource,), {"Meta": meta})


class LanguageModelResource(CatalogResource):
    """Models are made from their config by the import page; a spreadsheet edits what surrounds it."""

    class Meta(_Options):
        model = LanguageModel
        exclude = (*_OURS, "architecture", "config")

    def before_import_row(self, row: Any, **_options: Any) -> None:
        """Refuse models that are not there, and figures that come from the config only."""
        slug = str(row.get("slug", "")).strip()
        existing = LanguageModel.objects.filter(slug=slug).first()
        if existing is None:
            raise ValueError(_("There is no model %(slug)s; import new ones from their config.") % {"slug": slug})
        for name in ("config_sha256", "total_parameters", "active_parameters", "experts"):
            if name in row:
                row[name] = getattr(existing, name)


GpuResource = _resource(Gpu)
EngineProfileResource = _resource(EngineProfile)
PresetResource = _resource(Preset)
CheckpointResource = _resource(Checkpoint, import_id_fields=("model", "precision", "source"))
