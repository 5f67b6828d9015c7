"""Ends of prices that a package still states, from `data/price_ends.yaml`."""

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import yaml

from catalog.price_rows import DATA_DIR, StatedPrice

FILE = "price_ends.yaml"


@cache
def price_ends() -> dict[tuple[str, str], datetime.date]:
    """The first day without the package's prices, by seller and model."""
    entries = yaml.safe_load((DATA_DIR / FILE).read_text(encoding="utf-8"))
    return {(entry["provider"], model): entry["ended_on"] for entry in entries for model in entry["models"]}


def ended(stated: Iterable[StatedPrice]) -> Iterator[StatedPrice]:
    """The prices of a package without the days after their end."""
    ends = price_ends()
    for price in stated:
        end = ends.get((price.provider, price.model))
        if end is None or (price.effective_to is not None and price.effective_to <= end):
            yield price
        elif price.effective_from is None or price.effective_from < end:
            yield replace(price, effective_to=end)
