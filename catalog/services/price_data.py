"""Loads what belongs to prices and is not a price row: providers, cache policies and hourly offers."""

import csv
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from catalog.canonical import sha256_of
from catalog.data_files import DATA_DIR, DataFile, DataFileError, Record, plain, read_file
from catalog.models import CachePolicy, Gpu, GpuOffer, Provider
from catalog.services.loading import LoadPlan, plan

OFFERS = "gpu_offers.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRecord(Record):
    """A record that points to another row; its hash is of the file's words, not of the row pointed to."""

    words: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hash of the values as the file has them."""
        return sha256_of(plain(self.words))


def providers() -> LoadPlan:
    """The plan of the sellers' file."""
    return plan(Provider, read_file("providers.yaml", "providers", _provider))


def _provider(entry: Mapping[str, Any]) -> Record:
    return Record(slug=entry["slug"], values=dict(entry))


def cache_policies() -> LoadPlan:
    """The plan of the cache policies; their providers have to be there.

    Raises:
        DataFileError: A policy names a provider that is not.
    """
    known = {row.slug: row for row in Provider.objects.all()}

    def build(entry: Mapping[str, Any]) -> Record:
        values = dict(entry)
        values["provider"] = _linked(known, entry["provider"], "provider")
        return LinkedRecord(slug=entry["slug"], values=values, words=entry)

    return plan(CachePolicy, read_file("cache_policies.yaml", "policies", build))


def gpu_offers() -> LoadPlan:
    """The plan of the hourly offers; the accelerators have to be there."""
    known = {row.slug: row for row in Gpu.objects.all()}
    path = DATA_DIR / OFFERS
    with path.open(newline="", encoding="utf-8") as lines:
        entries = list(csv.DictReader(lines))
    records = tuple(_offer(entry, known) for entry in entries)
    version = max(entry["date_seen"] for entry in entries)
    return plan(GpuOffer, DataFile(name=OFFERS, version=version, records=records))


def _offer(entry: Mapping[str, str], known: Mapping[str, Gpu]) -> Record:
    values: dict[str, Any] = dict(entry)
    values["gpu"] = _linked(known, entry["gpu"], "gpu")
    values["date_seen"] = datetime.date.fromisoformat(entry["date_seen"]) if entry["date_seen"] else None
    values["gpu_count"] = int(entry["gpu_count"])
    values["price_per_hour"] = Decimal(entry["price_per_hour"])
    values["price_per_gpu_hour"] = Decimal(entry["price_per_gpu_hour"])
    values["name"] = f"{entry['gpu_count']} × {entry['gpu_as_listed']} at {entry['provider']}, {entry['market']}"
    return LinkedRecord(slug=entry["slug"], values=values, words=entry)


def _linked(known: Mapping[str, Any], slug: str, what: str) -> Any:
    row = known.get(slug)
    if row is None:
        raise DataFileError(f"there is no {what} {slug!r}")
    return row
