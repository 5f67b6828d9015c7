"""Reads public price lists as data: what litellm and model-prices state of a seller's models on the day of the list.

A list's file is one JSON document; nothing of the packages themselves is run. Prices are those that hold at the list's
own day, per million tokens. `data/public_lists.yaml` says which sellers of a list are ours.
"""

import csv
import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from catalog.importers.genai_prices import meter_of_price_key, without_noise
from catalog.models.pricing import STANDARD
from catalog.price_rows import DATA_DIR

INDEX = "public_lists.yaml"
FOLDER = "public_lists"
MTOK = Decimal(1_000_000)
_THOUSAND = 1000


class ListedPrice(NamedTuple):
    """One price of a public list: of a seller's model, over a channel, above a prompt length; per million tokens."""

    seller: str
    model: str
    channel: str
    meter: str
    tier_above_tokens: int
    amount: Decimal
    source_url: str


class ListedModel(NamedTuple):
    """What a list says of a model beside its prices; empty where it says nothing."""

    seller: str
    model: str
    max_input_tokens: int | None
    retired_on: datetime.date | None
    source_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicList:
    """One list: which, of what day, and whose models are ours."""

    name: str
    version: str
    read_on: datetime.date
    licence: str
    url: str
    reader: str
    sellers: Mapping[str, Mapping[str, str]]
    known: Sequence[Mapping[str, Any]] = ()

    @property
    def label(self) -> str:
        """Its name and version as sources are named."""
        return f"{self.name} {self.version}"

    @property
    def kept_prices(self) -> Path:
        """The file of its prices in the catalog's data."""
        return DATA_DIR / FOLDER / f"{self.name}.csv"

    @property
    def kept_models(self) -> Path:
        """The file of what it says of models."""
        return DATA_DIR / FOLDER / f"{self.name}-models.csv"


def public_lists() -> tuple[PublicList, ...]:
    """The lists of the index, in its order."""
    entries = yaml.safe_load((DATA_DIR / INDEX).read_text(encoding="utf-8"))
    return tuple(PublicList(**entry | {"version": str(entry["version"])}) for entry in entries)


def read_list(which: PublicList, text: str | bytes) -> tuple[ListedPrice, ...]:
    """Every price of a list's file whose seller is ours.

    Raises:
        ValueError: The text is not the list's JSON.
    """
    document = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    read = {"litellm": _litellm, "model_prices": _model_prices}[which.reader]
    return tuple(sorted(set(read(which, document))))


def read_models(which: PublicList, text: str | bytes) -> tuple[ListedModel, ...]:
    """What a list's file says of models whose seller is ours; only litellm's says anything."""
    if which.reader != "litellm":
        return ()
    found = []
    for seller, model, entry in _litellm_models(which, json.loads(text)):
        window, ends = entry.get("max_input_tokens"), entry.get("deprecation_date")
        if isinstance(window, int) or ends:
            retired = datetime.date.fromisoformat(ends) if ends else None
            url = entry.get("deprecation_source") or entry.get("source") or which.url
            found.append(ListedModel(seller, model, window if isinstance(window, int) else None, retired, url))
    return tuple(sorted(found, key=lambda row: (row.seller, row.model)))


_LITELLM_KEY = re.compile(
    r"^(?P<meter>[a-z_]*?(?:_cost_per_token|_cost_per_audio_token|_cost_per_image_token|_cost_per_reasoning_token"
    r"|_token_cost))(?P<life>_above_1hr|_above_12hr)?(?:_above_(?P<tier>\d+)k_tokens)?"
    r"(?:_(?P<channel>batches|flex|priority|ultrafast|fast))?$"
)
_LITELLM_METERS = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cache_read",
    "explicit_cache_read_input_token_cost": "cache_read_explicit",
    "cache_creation_input_token_cost": "cache_write",
    "input_cost_per_audio_token": "input_audio",
    "output_cost_per_audio_token": "output_audio",
    "cache_read_input_audio_token_cost": "cache_read_audio",
    "input_cost_per_image_token": "input_image",
    "cache_read_input_image_token_cost": "cache_read_image",
    "output_cost_per_image_token": "output_image",
    "output_cost_per_reasoning_token": "reasoning",
}
_LIVES = {"_above_1hr": "cache_write_1h", "_above_12hr": "cache_write_43200s"}


def _litellm_models(which: PublicList, document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for key, entry in document.items():
        ours = which.sellers.get(str(entry.get("litellm_provider")))
        if ours is not None and key.startswith(ours.get("before", "")):
            yield ours["seller"], key.removeprefix(ours.get("before", "")), entry


def _litellm(which: PublicList, document: Mapping[str, Any]) -> Iterator[ListedPrice]:
    for seller, model, entry in _litellm_models(which, document):
        for key, worth in entry.items():
            found = _LITELLM_KEY.match(key)
            if found is None or found["meter"] not in _LITELLM_METERS or not isinstance(worth, Decimal):
                continue
            yield ListedPrice(
                seller=seller,
                model=model,
                channel={"batches": "batch", None: STANDARD}.get(found["channel"], found["channel"]),
                meter=_meter(_LITELLM_METERS[found["meter"]], found["life"], model),
                tier_above_tokens=int(found["tier"] or 0) * _THOUSAND,
                amount=_amount(worth * MTOK),
                source_url=str(entry.get("source") or which.url),
            )


def _meter(name: str, life: str | None, model: str) -> str:
    if name != "cache_write":
        return name
    return _LIVES[life] if life else meter_of_price_key("cache_write_mtok", model.lower())[0]


def _amount(worth: Decimal) -> Decimal:
    return without_noise(worth).normalize()


_MODEL_PRICES_METERS = ("input", "output", "cache_read", "cache_write")


def _model_prices(which: PublicList, document: Mapping[str, Any]) -> Iterator[ListedPrice]:
    for name, models in document["prices"].items():
        ours = which.sellers.get(name)
        for model, modes in models.items() if ours is not None else ():
            for mode, entries in modes.items():
                rates = _in_force(entries, which.read_on)
                if rates is not None and mode != "thinking":
                    yield from _of_rates(ours["seller"] if ours else "", model, mode, rates)


def _in_force(entries: Iterable[Mapping[str, Any]], day: datetime.date) -> Mapping[str, Any] | None:
    """The rates of the last entry that began before the end of the day."""
    begun = [entry for entry in entries if entry["start"] is None or entry["start"][:10] <= day.isoformat()]
    return begun[-1]["rates"] if begun else None


def _of_rates(seller: str, model: str, mode: str, rates: Mapping[str, Any]) -> Iterator[ListedPrice]:
    for tier in ({**rates, "above": 0}, *rates.get("tiers", ())):
        for key in _MODEL_PRICES_METERS:
            if tier.get(key) is not None:
                yield ListedPrice(
                    seller=seller,
                    model=model,
                    channel=mode,
                    meter=_meter(key, None, model),
                    tier_above_tokens=int(tier["above"]),
                    amount=_amount(tier[key]),
                    source_url=str(rates.get("source", "")),
                )


def write_kept(path: Path, rows: Iterable[tuple[Any, ...]], names: tuple[str, ...]) -> None:
    """Write rows of a list as a file of the catalog's data."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([f"{cell:f}" if isinstance(cell, Decimal) else cell for cell in row] for row in rows)


def kept_prices(which: PublicList) -> tuple[ListedPrice, ...]:
    """The prices of a list as the catalog's data holds them.

    Raises:
        FileNotFoundError: The data holds none.
    """
    with which.kept_prices.open(newline="", encoding="utf-8") as lines:
        return tuple(
            ListedPrice(
                **row | {"tier_above_tokens": int(row["tier_above_tokens"]), "amount": Decimal(row["amount"])}  # type: ignore[arg-type]
            )
            for row in csv.DictReader(lines)
        )


def kept_models(which: PublicList) -> tuple[ListedModel, ...]:
    """What a list says of models as the catalog's data holds it; nothing where it holds no file."""
    if not which.kept_models.exists():
        return ()
    with which.kept_models.open(newline="", encoding="utf-8") as lines:
        return tuple(
            ListedModel(
                seller=row["seller"],
                model=row["model"],
                max_input_tokens=int(row["max_input_tokens"]) if row["max_input_tokens"] else None,
                retired_on=datetime.date.fromisoformat(row["retired_on"]) if row["retired_on"] else None,
                source_url=row["source_url"],
            )
            for row in csv.DictReader(lines)
        )
