"""Loads what belongs to prices and is not a price row: providers, cache policies and hourly offers."""

import csv
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from catalog.canonical import sha256_of
from catalog.data_files import DATA_DIR, DataFile, DataFileError, Record, plain, read_file
from catalog.models import CachePolicy, Gpu, GpuOffer, PriceRule, Provider, Withdrawal
from catalog.services.loading import LoadPlan, plan
from catalog.services.withdrawals import withdrawn_rows

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
    """The plan of the cache policies; those of a provider that a person took out are left.

    Raises:
        DataFileError: A policy names a provider that never was.
    """
    links = _Links.to(Provider)
    return plan(
        CachePolicy,
        read_file("cache_policies.yaml", "policies", lambda entry: links.record(entry, dict(entry), "provider")),
    )


def price_rules() -> LoadPlan:
    """The plan of the price rules; those of a provider that a person took out are left.

    Raises:
        DataFileError: A rule names a provider that never was.
    """
    links = _Links.to(Provider)

    def build(entry: Mapping[str, Any]) -> Record:
        values = dict(entry)
        for name in ("multiplier", "amount", "free_quantity"):
            if values.get(name) is not None:
                values[name] = Decimal(values[name])
        return links.record(entry, values, "provider")

    return plan(PriceRule, read_file("price_rules.yaml", "rules", build))


def gpu_offers() -> LoadPlan:
    """The plan of the hourly offers; those of an accelerator that a person took out are left.

    Raises:
        DataFileError: An offer names an accelerator that never was.
    """
    links = _Links.to(Gpu)
    path = DATA_DIR / OFFERS
    with path.open(newline="", encoding="utf-8") as lines:
        entries = list(csv.DictReader(lines))
    records = tuple(_offer(entry, links) for entry in entries)
    version = max(entry["date_seen"] for entry in entries)
    return plan(GpuOffer, DataFile(name=OFFERS, version=version, records=records))


def _offer(entry: Mapping[str, str], links: "_Links") -> Record:
    values: dict[str, Any] = dict(entry)
    values["date_seen"] = datetime.date.fromisoformat(entry["date_seen"]) if entry["date_seen"] else None
    values["gpu_count"] = int(entry["gpu_count"])
    values["price_per_hour"] = Decimal(entry["price_per_hour"])
    values["price_per_gpu_hour"] = Decimal(entry["price_per_gpu_hour"])
    values["name"] = f"{entry['gpu_count']} × {entry['gpu_as_listed']} at {entry['provider']}, {entry['market']}"
    return links.record(entry, values, "gpu")


@dataclass(frozen=True, slots=True)
class _Links:
    """The rows that records may point to, and those that people took out."""

    rows: Mapping[str, Any]
    withdrawn: Mapping[str, Withdrawal]

    @classmethod
    def to(cls, model: type[Provider | Gpu]) -> "_Links":
        return cls({row.slug: row for row in model._default_manager.all()}, withdrawn_rows(model))

    def record(self, words: Mapping[str, Any], values: dict[str, Any], name: str) -> LinkedRecord:
        """A record whose `name` is the row of that slug."""
        slug, held = words[name], ""
        if slug in self.rows:
            values[name] = self.rows[slug]
        elif slug in self.withdrawn:
            held = f"{name} {slug}: {self.withdrawn[slug].words}"
        else:
            raise DataFileError(f"there is no {name} {slug!r}")
        return LinkedRecord(slug=words["slug"], values=values, words=words, held=held)
