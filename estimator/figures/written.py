"""Numbers as people read them: two digits of an estimate, money by its size, units beside them."""

from datetime import date
from decimal import Decimal
from math import floor, log10

DASH = "–"
_GIB = 2**30
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def two_digits(value: float | None) -> str:
    """An estimate with two significant digits; a dash where there is none.

    >>> two_digits(1.5432), two_digits(342.7), two_digits(0.0512), two_digits(12345), two_digits(0)
    ('1.5', '340', '0.051', '12,000', '0')
    """
    if value is None:
        return DASH
    if value == 0:
        return "0"
    places = 1 - floor(log10(abs(value)))
    rounded = round(value, places)
    # Rounding may pass a power of ten: 0.0996 is 0.10.
    places = max(0, min(1 - floor(log10(abs(rounded))), 6)) if rounded else 0
    return f"{rounded:,.{places}f}"


def seconds(value: float | None) -> str:
    """Seconds with their unit; below 0.1 s as milliseconds.

    >>> seconds(1.54), seconds(0.0442), seconds(None)
    ('1.5 s', '44 ms', '–')
    """
    if value is None:
        return DASH
    return milliseconds(value) if value < 0.1 else f"{two_digits(value)} s"


def milliseconds(value: float | None) -> str:
    """Seconds, written as milliseconds.

    >>> milliseconds(0.0442), milliseconds(0.0051), milliseconds(1.2)
    ('44 ms', '5.1 ms', '1,200 ms')
    """
    return DASH if value is None else f"{two_digits(value * 1000)} ms"


def money(value: Decimal | float | None) -> str:
    """An amount: whole from 100, two decimals below, three significant digits below a tenth.

    >>> [money(Decimal(text)) for text in ("3766.8", "2.5811", "0.0625", "0.0034567", "0")]
    ['3,767', '2.58', '0.0625', '0.00346', '0']
    """
    if value is None:
        return DASH
    amount = Decimal(value)
    if amount == 0:
        return "0"
    if abs(amount) >= 100:
        return f"{amount:,.0f}"
    if abs(amount) >= Decimal("0.1"):
        return f"{amount:,.2f}"
    places = 2 - amount.adjusted()
    return f"{amount:.{places}f}".rstrip("0")


def gib(value: float | None) -> str:
    """Bytes, written as GiB with one decimal.

    >>> gib(13_636_000_000)
    '12.7 GiB'
    """
    return DASH if value is None else f"{value / _GIB:,.1f} GiB"


def count(value: float | None) -> str:
    """A whole number with commas.

    >>> count(12345.0)
    '12,345'
    """
    return DASH if value is None else f"{round(value):,}"


def day(value: date | str | None) -> str:
    """A day in words.

    >>> day("2026-10-24")
    '24 Oct 2026'
    """
    if value is None:
        return DASH
    on = date.fromisoformat(value) if isinstance(value, str) else value
    return f"{on.day} {_MONTHS[on.month - 1]} {on.year}"


def month(value: str) -> str:
    """A month in words.

    >>> month("2026-10")
    'Oct 2026'
    """
    return day(f"{value}-01").partition(" ")[2]


def duration(value: float | None) -> str:
    """Seconds as people say how long they wait: minutes from 90 s, hours from 90 min.

    >>> duration(42.4), duration(330), duration(9000)
    ('42 s', '6 min', '2.5 h')
    """
    if value is None or value < 90:
        return seconds(value)
    return f"{value / 60:.0f} min" if value < 5400 else f"{two_digits(value / 3600)} h"
