"""Triggers that keep predictions and measurements as they were, on PostgreSQL and SQLite.

Put in place by `post_migrate`, as those of reports are: SQLite drops the triggers of a table that Django remakes.
"""

from typing import Any

from django.db import connections

TABLES = ("receipts_prediction", "receipts_measurement")
_TEXT = "aforo: what was kept is never changed"
_FUNCTION = f"""CREATE OR REPLACE FUNCTION receipts_kept() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN RAISE EXCEPTION '{_TEXT}' USING ERRCODE = '23514'; END $body$"""


def _names(table: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{table}_kept_{verb.lower()}", verb) for verb in ("UPDATE", "DELETE"))


def _tables_exist(using: str) -> bool:
    connection = connections[using]
    with connection.cursor() as cursor:
        return set(TABLES) <= set(connection.introspection.table_names(cursor))


def drop(using: str = "default") -> None:
    """Take the triggers away; only tests that flush the database do this."""
    if not _tables_exist(using):
        return
    sqlite = connections[using].vendor == "sqlite"
    with connections[using].cursor() as cursor:
        for table in TABLES:
            for name, _verb in _names(table):
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}" + ("" if sqlite else f" ON {table}"))


def ensure(using: str = "default") -> None:
    """Put the triggers in place; running it again changes nothing."""
    if not _tables_exist(using):
        return
    drop(using)
    sqlite = connections[using].vendor == "sqlite"
    body = f"BEGIN SELECT RAISE(ABORT, '{_TEXT}'); END" if sqlite else "EXECUTE FUNCTION receipts_kept()"
    with connections[using].cursor() as cursor:
        if not sqlite:
            cursor.execute(_FUNCTION)
        for table in TABLES:
            for name, verb in _names(table):
                cursor.execute(f"CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW {body}")


def on_post_migrate(sender: Any, using: str = "default", **_: Any) -> None:
    """Handler of `post_migrate` for this app."""
    ensure(using)
