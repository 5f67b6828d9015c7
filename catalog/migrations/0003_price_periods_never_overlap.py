"""PostgreSQL refuses overlapping periods of one price by itself; on SQLite the service checks them."""

from django.contrib.postgres.operations import BtreeGistExtension
from django.db import migrations

# Only NOT NULL parts can be compared with =; an open end is an unbounded range. Voided rows do not count.
ADD = """
ALTER TABLE catalog_apiprice ADD CONSTRAINT apiprice_periods_never_overlap
EXCLUDE USING gist (
    provider_id WITH =, model WITH =, channel WITH =, endpoint_class WITH =, meter WITH =,
    tier_above_tokens WITH =, window_key WITH =,
    daterange(effective_from, effective_to, '[)') WITH &&
) WHERE (voided_at IS NULL)
"""
DROP = "ALTER TABLE catalog_apiprice DROP CONSTRAINT apiprice_periods_never_overlap"


def on_postgresql(statement):
    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_pricing")]
    operations = [
        BtreeGistExtension(),
        migrations.RunPython(on_postgresql(ADD), on_postgresql(DROP)),
    ]
