"""Rows of existing databases say which fields people edited, and prices say the day of their source, not of the set-up."""

import datetime
import secrets

from django.db import migrations
from django.db.models import F

MODELS = (
    "ApiPrice", "CachePolicy", "Checkpoint", "EngineProfile", "Gpu", "GpuOffer", "LanguageModel", "Preset", "PriceList",
    "Provider",
)
OURS = {
    "id", "edits", "edited_by_person", "loaded_from", "loaded_version", "loaded_sha256", "created_at", "updated_at",
    "window_key",
}
BY_A_LOADER = ("Imported from genai-prices", "Imported from aforo", "Loaded from ")
PUBLISHED = {"0.2.3": datetime.date(2026, 11, 10)}
PACKAGE = "genai-prices"


def forwards(apps, schema_editor):
    for name in MODELS:
        note_edits(apps.get_model("catalog", name), apps.get_model("catalog", f"Historical{name}"))
    date_by_source(apps)
    apps.get_model("catalog", "CatalogRevision").objects.update(number=F("number") + 1, token=secrets.token_hex(8))


def note_edits(model, history):
    names = [field.attname for field in model._meta.concrete_fields if field.name not in OURS]
    plain = {field.attname: field.name for field in model._meta.concrete_fields}
    for row in model.objects.filter(edited_by_person=True).iterator():
        edits, before = {}, None
        for change in history.objects.filter(id=row.pk).order_by("history_id"):
            reason = change.history_change_reason or ""
            if not reason.startswith(BY_A_LOADER):
                user = change.history_user
                entry = {
                    "by": user.get_username() if user else "",
                    "date": change.history_date.date().isoformat(),
                    "reason": reason,
                }
                if before is None:
                    edits = {"*": entry}
                else:
                    changed = [each for each in names if getattr(before, each) != getattr(change, each)]
                    edits |= {plain[each]: entry for each in changed}
            before = change
        model.objects.filter(pk=row.pk).update(edits=edits)


def date_by_source(apps):
    PriceList, ApiPrice, Provider = (apps.get_model("catalog", each) for each in ("PriceList", "ApiPrice", "Provider"))
    for listed in PriceList.objects.filter(source=PACKAGE, edited_by_person=False):
        day, clock = PUBLISHED.get(listed.source_version), listed.retrieved_on
        notes = "" if day else "It is not known when this version was published (price_packages.yaml)."
        PriceList.objects.filter(pk=listed.pk).update(retrieved_on=day, notes=notes)
        rows = ApiPrice.objects.filter(price_list=listed, date_seen=clock)
        by_hand = [pk for pk, edits in rows.filter(edited_by_person=True).values_list("pk", "edits") if "date_seen" in edits]
        rows.exclude(pk__in=by_hand).update(date_seen=day)
        Provider.objects.filter(
            source=f"{PACKAGE} {listed.source_version}", source_date=clock, edited_by_person=False
        ).update(source_date=day)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0008_edits_and_days_of_sources")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
