"""What people voided, ended and deleted so far is remembered, and what a loader brought back since is voided again."""

import json
import secrets

from django.db import migrations, models
from django.db.models import F
from django.utils import timezone

KEY = ("provider__slug", "model", "channel", "endpoint_class", "meter", "tier_above_tokens", "window_key")
WORTH = ("amount", "unit", "currency", "tier_operator")
ROWS = ("Gpu", "LanguageModel", "EngineProfile", "Preset", "Provider", "PriceList", "CachePolicy", "GpuOffer")
BY_A_LOADER = ("Imported from ", "Loaded from ")


def remember(apps, schema_editor):
    prices = words_on_prices(apps)
    for word in prices:
        void_what_came_back(apps, word)
    rows = deleted_rows(apps)
    Withdrawal = apps.get_model("catalog", "Withdrawal")
    for word, at in [(each["withdrawal"], each["at"]) for each in prices] + rows:
        Withdrawal.objects.filter(pk=Withdrawal.objects.create(**word).pk).update(at=at)


def words_on_prices(apps):
    """Voids and ends of prices that the history does not put down to an import."""
    History = apps.get_model("catalog", "HistoricalApiPrice")
    ApiPrice = apps.get_model("catalog", "ApiPrice")
    changes = History.objects.filter(history_type="~")
    for start in BY_A_LOADER:
        changes = changes.exclude(history_change_reason__startswith=start)
    found = []
    for change in changes.order_by("history_id").iterator():
        before = History.objects.filter(id=change.id, history_id__lt=change.history_id).order_by("-history_id").first()
        row = ApiPrice.objects.filter(pk=change.id).first()
        if before is None or row is None:
            continue
        if change.voided_at and not before.voided_at:
            taken, period = "voided", (row.effective_from, row.effective_to)
        elif change.effective_to and change.effective_to == row.effective_to and change.effective_to != before.effective_to:
            taken, period = "ended", (change.effective_to, before.effective_to)
            if period[1] is not None and period[1] <= period[0]:
                continue
        else:
            continue
        ApiPrice.objects.filter(pk=row.pk).update(edited_by_person=True)
        key = list(ApiPrice.objects.filter(pk=row.pk).values_list(*KEY).get())
        user = change.history_user
        found.append(
            {
                "row": row,
                "at": change.history_date,
                "withdrawal": {
                    "kind": "apiprice",
                    "key": json.dumps(key, ensure_ascii=False),
                    "taken": taken,
                    "period_from": period[0],
                    "period_to": period[1],
                    "by": user.username if user else "",
                    "reason": change.history_change_reason or "",
                },
            }
        )
    return found


def void_what_came_back(apps, word):
    """Void rows that a loader wrote after the person's word, of the same price for days the word is about."""
    ApiPrice = apps.get_model("catalog", "ApiPrice")
    row, start, end = word["row"], word["withdrawal"]["period_from"], word["withdrawal"]["period_to"]
    same = ApiPrice.objects.filter(
        voided_at__isnull=True,
        edited_by_person=False,
        created_at__gt=word["at"],
        provider_id=row.provider_id,
        **{name: getattr(row, name) for name in KEY[1:] + WORTH},
    ).exclude(loaded_from="")
    if start is not None:
        same = same.filter(effective_from__gte=start)
    if end is not None:
        same = same.filter(effective_to__lte=end)
    done = same.update(
        voided_at=timezone.now(),
        void_reason=f"brought back by a loader after a person {word['withdrawal']['taken']} it"[:300],
    )
    if done:
        Revision = apps.get_model("catalog", "CatalogRevision")
        Revision.objects.update(number=F("number") + 1, token=secrets.token_hex(8))


def deleted_rows(apps):
    """Rows that people deleted: loaders delete none of these kinds."""
    found = []
    for name in ROWS:
        model, history = apps.get_model("catalog", name), apps.get_model("catalog", f"Historical{name}")
        there = set(model.objects.values_list("slug", flat=True))
        gone = {}
        for change in history.objects.filter(history_type="-").exclude(slug__in=there).order_by("history_id"):
            gone[change.slug] = change
        for slug, change in gone.items():
            user = change.history_user
            word = {
                "kind": name.lower(),
                "key": slug,
                "taken": "deleted",
                "by": user.username if user else "",
                "reason": change.history_change_reason or "",
            }
            found.append((word, change.history_date))
    return found


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0004_limits_are_the_memory_policys'),
    ]

    operations = [
        migrations.CreateModel(
            name='Withdrawal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text='Which table the row was in: gpu, apiprice.', max_length=40, verbose_name='kind')),
                ('key', models.TextField(help_text="The row's slug; of a price: seller, model and meter, as JSON.", verbose_name='key')),
                ('taken', models.CharField(choices=[('deleted', 'deleted'), ('renamed', 'renamed'), ('voided', 'voided'), ('ended', 'ended')], help_text='By the person.', max_length=10, verbose_name='what was done')),
                ('period_from', models.DateField(blank=True, help_text='Prices: first day without it; empty: as far back as known.', null=True, verbose_name='from')),
                ('period_to', models.DateField(blank=True, help_text='Prices: first day it may hold again; empty: for good.', null=True, verbose_name='to')),
                ('by', models.CharField(blank=True, help_text='Who; empty where it is not known.', max_length=150, verbose_name='by')),
                ('reason', models.TextField(blank=True, help_text='Why.', verbose_name='reason')),
                ('at', models.DateTimeField(auto_now_add=True, verbose_name='at')),
            ],
            options={
                'verbose_name': 'withdrawal',
                'verbose_name_plural': 'withdrawals',
                'ordering': ['-at', '-pk'],
                'indexes': [models.Index(fields=['kind'], name='withdrawal_kind')],
            },
        ),
        migrations.RunPython(remember, migrations.RunPython.noop),
    ]
