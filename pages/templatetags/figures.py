"""Filters that write figures as the sentences of a verdict do."""

from datetime import date

from django import template
from django.utils.translation import gettext as _

from estimator.figures import written

register = template.Library()
register.filter("seconds", written.seconds)
register.filter("money", written.money)
register.filter("gib", written.gib)
register.filter("count", written.count)
register.filter("two_digits", written.two_digits)
register.filter("day", written.day)
register.filter("month", written.month)
register.filter("duration", written.duration)


@register.filter
def milliseconds(value: float | str | None) -> str:
    """Seconds as milliseconds; a dash where an answer has no such part, which a template hands on as no text."""
    return written.DASH if value in (None, "") else written.milliseconds(float(value))


@register.filter
def percent(share: float | None, sign: str = "") -> str:
    """A share in percent, with its sign where that is asked for."""
    return written.DASH if share is None else f"{100.0 * share:{sign}.0f} %".replace("-", "−")


@register.filter
def chance(value: float) -> str:
    """A chance in percent; nothing is said to be certain."""
    return _("over 99 %%") % {} if value > 0.99 else _("under 1 %%") % {} if value < 0.01 else percent(value)


@register.filter
def spoken(name: str) -> str:
    """A name of the API as words: dots and underscores become spaces."""
    return name.replace("_", " ").replace(".", " · ")


@register.filter
def days_old(value: str | None) -> int | None:
    """Days since a day, ISO 8601; None without one."""
    from django.utils import timezone

    return None if not value else (timezone.localdate() - date.fromisoformat(value)).days
