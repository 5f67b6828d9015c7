"""Triggers that keep a complete version as it is, on PostgreSQL and SQLite.

Put in place by `post_migrate`, not by a migration: SQLite drops the triggers of a table whenever Django remakes it.
"""

from typing import Any

from django.db import connections

_SQLITE_CREATE = (
    """CREATE TRIGGER reports_version_frozen_update BEFORE UPDATE ON reports_reportversion
    WHEN OLD.state = 'complete' OR (OLD.state = 'cancelled' AND NEW.state <> OLD.state)
    BEGIN SELECT RAISE(ABORT, 'aforo: a complete report version is frozen'); END""",
    """CREATE TRIGGER reports_version_frozen_delete BEFORE DELETE ON reports_reportversion
    WHEN OLD.state = 'complete' AND NOT EXISTS (SELECT 1 FROM reports_tombstone WHERE version_id = OLD.id)
    BEGIN SELECT RAISE(ABORT, 'aforo: a complete report version is frozen'); END""",
)
_SQLITE_DROP = (
    "DROP TRIGGER IF EXISTS reports_version_frozen_update",
    "DROP TRIGGER IF EXISTS reports_version_frozen_delete",
)
# 23514 is check_violation: the driver raises it as IntegrityError, as SQLite's ABORT does.
_POSTGRESQL_CREATE = (
    """CREATE OR REPLACE FUNCTION reports_version_frozen() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            IF OLD.state = 'complete' OR (OLD.state = 'cancelled' AND NEW.state <> OLD.state) THEN
                RAISE EXCEPTION 'aforo: a complete report version is frozen' USING ERRCODE = '23514';
            END IF;
            RETURN NEW;
        END IF;
        IF OLD.state = 'complete' AND NOT EXISTS (SELECT 1 FROM reports_tombstone WHERE version_id = OLD.id) THEN
            RAISE EXCEPTION 'aforo: a complete report version is frozen' USING ERRCODE = '23514';
        END IF;
        RETURN OLD;
    END $body$""",
    """CREATE TRIGGER reports_version_frozen_update BEFORE UPDATE ON reports_reportversion
    FOR EACH ROW EXECUTE FUNCTION reports_version_frozen()""",
    """CREATE TRIGGER reports_version_frozen_delete BEFORE DELETE ON reports_reportversion
    FOR EACH ROW EXECUTE FUNCTION reports_version_frozen()""",
)
_POSTGRESQL_DROP = (
    "DROP TRIGGER IF EXISTS reports_version_frozen_update ON reports_reportversion",
    "DROP TRIGGER IF EXISTS reports_version_frozen_delete ON reports_reportversion",
)


def _tables_exist(using: str) -> bool:
    connection = connections[using]
    with connection.cursor() as cursor:
        return {"reports_reportversion", "reports_tombstone"} <= set(connection.introspection.table_names(cursor))


def drop(using: str = "default") -> None:
    """Take the triggers away; only tests that flush the database do this."""
    if not _tables_exist(using):
        return
    statements = _SQLITE_DROP if connections[using].vendor == "sqlite" else _POSTGRESQL_DROP
    with connections[using].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def ensure(using: str = "default") -> None:
    """Put the triggers in place; running it again changes nothing."""
    if not _tables_exist(using):
        return
    drop(using)
    statements = _SQLITE_CREATE if connections[using].vendor == "sqlite" else _POSTGRESQL_CREATE
    with connections[using].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def on_post_migrate(sender: Any, using: str = "default", **_: Any) -> None:
    """Handler of `post_migrate` for this app."""
    ensure(using)
