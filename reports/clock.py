"""The clock of leases and ages is the database's: workers' clocks may differ, the record has one."""

from datetime import datetime, timedelta

from django.db import connection
from django.db.models import DateTimeField, DurationField, Expression, ExpressionWrapper, Value
from django.db.models.functions import Now


def after(seconds: float) -> Expression:
    """The database's time `seconds` from now (negative: ago), for filters and updates."""
    return ExpressionWrapper(
        Now() + Value(timedelta(seconds=seconds), output_field=DurationField()), output_field=DateTimeField()
    )


def now() -> datetime:
    """The database's time now, as `Now()` in a query is: a value to compare in Python (one tiny query)."""
    with connection.cursor() as cursor:
        sql = (
            "SELECT STRFTIME('%Y-%m-%dT%H:%M:%f', 'NOW')"
            if connection.vendor == "sqlite"
            else "SELECT statement_timestamp()"
        )
        cursor.execute(sql)
        value = cursor.fetchone()[0]
    if isinstance(value, str):
        return datetime.fromisoformat(value + "+00:00")
    return value  # type: ignore[no-any-return]
