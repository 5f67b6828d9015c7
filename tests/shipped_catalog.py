"""The catalog as shipped, in a test's database within a fraction of a second."""

from django.core.management import call_command
from django.db import connection

from tests import templates


def load_shipped_catalog(*, with_genai_prices: bool = True) -> None:
    """Does what `manage.py load_catalog` does to an empty catalog."""
    if connection.vendor != "sqlite":
        call_command("load_catalog", without_genai_prices=not with_genai_prices, verbosity=0)
        return
    kind: templates.Kind = "whole" if with_genai_prices else "own"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA database_list")
        if kind not in {name for _number, name, _file in cursor.fetchall()}:
            # It stays: nothing is detached inside a transaction.
            cursor.execute(f'ATTACH DATABASE %s AS "{kind}"', [f"file:{templates.sqlite_rows(kind)}?mode=ro"])
        tables = f"SELECT name FROM \"{kind}\".sqlite_master WHERE type = 'table' AND name LIKE %s ESCAPE '!'"
        cursor.execute(tables, ["catalog!_%"])
        for (table,) in sorted(cursor.fetchall()):
            # Columns of the copy stand as the same migrations put them.
            cursor.execute(f'INSERT OR REPLACE INTO main."{table}" SELECT * FROM "{kind}"."{table}"')
