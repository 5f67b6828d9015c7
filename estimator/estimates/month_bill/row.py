"""One row of a month: how its requests were sent and what they counted, or why it cannot be billed."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from estimator.engine.cost.meters import meter_of_usage
from estimator.engine.cost.price_list import STANDARD
from estimator.engine.cost.price_rules import LOW, SEARCH_CONTEXTS
from estimator.estimates.month_bill.objects import OBJECTS, provider_row, words_of

WORDS = ("model", "day", "at", "channel", "endpoint_class", "search_context_size", "requests")
MAX_COUNT = 10**15
MAX_REQUESTS = 10**9
QUARTER_MINUTES = 15
MAX_WORD_CHARACTERS = 300


class Sent(NamedTuple):
    """How requests were sent: `moment` is a day, or the start of a quarter of an hour in UTC."""

    model: str
    moment: str
    channel: str = STANDARD
    place: str = ""
    search_context: str = LOW

    @property
    def day(self) -> str:
        """The day, UTC."""
        return self.moment[: len("2026-11-30")]


class Row(NamedTuple):
    """A row that was read; `apart` where its counts came from a provider's object and hold nothing twice."""

    sent: Sent
    requests: int
    counts: list[tuple[str, int]]
    apart: bool = False
    ignored: tuple[str, ...] = ()


def read_row(row: Mapping[str, Any] | None, keys: list[str] | None) -> Row:
    """What a row says.

    Args:
        row: its cells or members by name; None where it is no row at all.
        keys: usage keys of the columns of a CSV; None where each row names its own.

    Raises:
        ValueError: It cannot be billed, and why.
        InvalidInputError: No meter counts a key of it.
    """
    if row is None:
        raise ValueError("not a row: an object with a model and a day, or as many cells as columns, is needed")
    told = provider_row(row, WORDS)
    if told is not None:
        row = {**row, **words_of(row, told.read)}
    sent = read_sent(row)
    given = row.get("requests")
    times = 1 if given is None or given == "" else _whole(given, "requests", MAX_REQUESTS)
    if told is not None:
        counts = [(key, _whole(count, key, MAX_COUNT)) for key, count in told.counts.items()]
        return Row(sent, times, [(key, count) for key, count in counts if count], True, told.read.ignored)
    return Row(sent, times, _counts(row, keys))


def read_sent(row: Mapping[str, Any]) -> Sent:
    """How a row was sent, by the words that it holds.

    Raises:
        ValueError: It has no model or no time, or one of its words is none.
    """
    sent = Sent(
        _word(row, "model"), _moment_of(row), _word(row, "channel") or STANDARD, _word(row, "endpoint_class"),
        _word(row, "search_context_size") or LOW,
    )  # fmt: skip
    if not sent.model:
        raise ValueError("a model is needed")
    if sent.search_context not in SEARCH_CONTEXTS:
        raise ValueError(f"search_context_size is one of {', '.join(SEARCH_CONTEXTS)}")
    return sent


def _counts(row: Mapping[str, Any], keys: list[str] | None) -> list[tuple[str, int]]:
    """The counts of a row by our usage keys; those of a JSON object are looked up one by one."""
    names = keys if keys is not None else [name for name in row if name not in WORDS and name not in OBJECTS]
    counts = []
    for key in names:
        value = row.get(key)
        if value is None or value == "":
            continue
        count = _whole(value, key, MAX_COUNT)
        if keys is None:
            meter_of_usage(key)
        if count:
            counts.append((key, count))
    return counts


def _word(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a word")
    if not value.isprintable() or len(value) > MAX_WORD_CHARACTERS:
        raise ValueError(f"{name} must be at most {MAX_WORD_CHARACTERS} characters that can be printed")
    return value.strip()


def _whole(value: Any, name: str, most: int) -> int:
    """A whole number from 0 to `most`; CSV has it as text."""
    refused = ValueError(f"{name} must be a whole number from 0 to {most:.0e}")
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise refused
    try:
        number = int(value)
        exact = number == value if not isinstance(value, str) else True
    except (ValueError, OverflowError):
        raise refused from None
    if not exact or not 0 <= number <= most:
        raise refused
    return number


def _moment_of(row: Mapping[str, Any]) -> str:
    """The quarter of an hour of `at`, or the day."""
    return _quarter(at) if (at := _word(row, "at")) else _day(_word(row, "day"))


@lru_cache(maxsize=4096)
def _day(day: str) -> str:
    try:
        return datetime.date.fromisoformat(day).isoformat()
    except ValueError:
        raise ValueError(f"{day!r} is no day: day (2026-11-30) or at (2026-11-30T10:00:00Z) is needed") from None


def _quarter(at: str) -> str:
    try:
        moment = datetime.datetime.fromisoformat(at)
    except ValueError:
        raise ValueError(f"{at!r} is no time: give it as 2026-11-30T10:00:00Z") from None
    if moment.tzinfo is None:
        raise ValueError(f"{at!r} has no offset: add Z or +08:00")
    try:
        moment = moment.astimezone(datetime.UTC)
    except OverflowError:
        raise ValueError(f"{at!r} is out of range") from None
    quarter = moment.minute - moment.minute % QUARTER_MINUTES
    return f"{moment:%Y-%m-%d}T{moment.hour:02}:{quarter:02}Z"
