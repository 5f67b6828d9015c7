"""Spreadsheets in and out: every imported row passes the checks of its model, and the revision rises once."""

from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model
from django.utils.translation import gettext as _
from import_export import fields, resources
from import_export.widgets import ForeignKeyWidget

from catalog.admin.import_faults import faults_of_file, faults_of_rows
from catalog.admin.units import kind_of_figure, read_figure
from catalog.models import (
    ApiModel,
    ApiPrice,
    CachePolicy,
    Checkpoint,
    EngineProfile,
    Gpu,
    GpuOffer,
    LanguageModel,
    Preset,
    PriceList,
    PriceRule,
    Provider,
)
from catalog.revisions import catalog_write
from catalog.services.people import save_by_person

_OURS = (
    "id",
    "edited_by_person",
    "edits",
    "loaded_from",
    "loaded_version",
    "loaded_sha256",
    "created_at",
    "updated_at",
)


class CatalogResource(resources.ModelResource):
    """Rows by slug; what a spreadsheet changes counts as edited by a person."""

    _user: Any = None
    # Columns that an import passes over.
    passed_over: tuple[str, ...] = ()
    # Figures that are there and that the file leaves empty.
    erased: list[str]

    def import_data(self, dataset: Any, dry_run: bool = False, **options: Any) -> Any:
        """As the library's; outside a dry run in one catalog write. A trial collects every fault of the file."""
        self.erased = []
        if not dry_run:
            with catalog_write(only_if_touched=True):
                return super().import_data(dataset, dry_run=False, **options)
        of_file = faults_of_file(self, dataset)
        result = super().import_data(dataset, dry_run=True, **options)
        result.faults = of_file + faults_of_rows(result, dataset)
        result.erased = self.erased
        return result

    def import_field(self, field: Any, instance: Any, row: Any, is_m2m: bool = False, **options: Any) -> None:
        """As the library's; figures may be written with their unit, and one that goes is noted.

        Raises:
            ValueError: the value is none of the column's, in words.
        """
        name = field.attribute or ""
        before = getattr(instance, name, None) if instance.pk else None
        text = row.get(field.column_name)
        if (kind := kind_of_figure(name)) and isinstance(text, str) and text.strip() and not _is_number(text):
            row[field.column_name] = read_figure(text, kind)
        try:
            super().import_field(field, instance, row, is_m2m, **options)
        except ArithmeticError as broken:
            raise ValueError(_("This is no number.")) from broken
        except ObjectDoesNotExist as missing:
            text = _("There is no %(kind)s %(slug)s.") % {"kind": field.column_name, "slug": text}
            raise ValueError(text) from missing
        if before not in (None, "") and getattr(instance, name, None) in (None, ""):
            self.erased.append(f"{instance}: {field.column_name} ({before})")

    def before_import(self, dataset: Any, **options: Any) -> None:
        """Remember who imports."""
        self._user = options.get("user")

    def do_instance_save(self, instance: Any, is_create: bool) -> None:
        """Save through the one service for people's edits."""
        save_by_person(instance, user=self._user, reason=_("Imported from a spreadsheet"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Options:
    """Options all resources share."""

    import_id_fields = ("slug",)
    exclude: tuple[str, ...] = _OURS
    skip_unchanged = True
    report_skipped = True
    use_transactions = True
    clean_model_instances = True


def _resource(
    model: type[Model], *, exclude: tuple[str, ...] = (), linked: dict[str, type[Model]] | None = None, **options: Any
) -> type[CatalogResource]:
    """The resource of a model; `linked` are columns that name another row by its slug."""
    meta = type("Meta", (_Options,), {"model": model, "exclude": _OURS + exclude, **options})
    columns = {
        name: fields.Field(column_name=name, attribute=name, widget=ForeignKeyWidget(other, "slug"))
        for name, other in (linked or {}).items()
    }
    return type(f"{model.__name__}Resource", (CatalogResource,), {"Meta": meta, **columns})


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
ProviderResource = _resource(Provider)
PriceListResource = _resource(PriceList)
ApiModelResource = _resource(ApiModel, linked={"provider": Provider})
CachePolicyResource = _resource(CachePolicy, linked={"provider": Provider})
PriceRuleResource = _resource(PriceRule, linked={"provider": Provider})
GpuOfferResource = _resource(GpuOffer, linked={"gpu": Gpu})


class ApiPriceResource(CatalogResource):
    """Prices by their number; a row without one is a new price. What was priced never changes (docs/prices.md)."""

    provider = fields.Field(
        column_name="provider", attribute="provider", widget=ForeignKeyWidget(Provider, "slug"), readonly=False
    )

    class Meta(_Options):
        model = ApiPrice
        import_id_fields = ("id",)
        exclude = (*_OURS[1:], "slug", "window_key", "price_list", "voided_at", "void_reason")
