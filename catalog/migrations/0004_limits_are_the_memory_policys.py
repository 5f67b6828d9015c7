"""What the KV cache gets and how much runs at once is said by the memory policy alone, no longer by the speed as well."""

from django.db import migrations

MOVED = (
    "max_num_seqs",
    "max_batched_tokens",
    "memory_utilization",
    "memory_reserve_bytes",
    "utilization_of_free_memory",
)


def remove(apps, schema_editor):
    for name in ("EngineProfile", "HistoricalEngineProfile"):
        model = apps.get_model("catalog", name)
        for row in model.objects.filter(kind="serving"):
            kept = {key: value for key, value in row.speed_constants.items() if key not in MOVED}
            if kept != row.speed_constants:
                model.objects.filter(pk=row.pk).update(speed_constants=kept)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0003_price_periods_never_overlap")]
    operations = [migrations.RunPython(remove, migrations.RunPython.noop)]
