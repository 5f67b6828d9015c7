"""A token without scopes could do whatever its user may; it now names them all, and an empty list allows nothing."""

from django.db import migrations, models

import config.access.models

EVERY_SCOPE = ["read", "estimate", "reports", "catalog"]


def name_all(apps, schema_editor):
    tokens = apps.get_model("access", "ApiToken").objects
    for pk, scopes in tokens.values_list("pk", "scopes"):
        if not scopes:
            tokens.filter(pk=pk).update(scopes=EVERY_SCOPE)


class Migration(migrations.Migration):
    dependencies = [("access", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="apitoken",
            name="scopes",
            field=models.JSONField(default=config.access.models.fewest_scopes, verbose_name="scopes"),
        ),
        migrations.RunPython(name_all, migrations.RunPython.noop),
    ]
