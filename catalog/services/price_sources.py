"""The sources of prices: our own files, and the package genai-prices."""

import datetime
import hashlib
from dataclasses import replace

import yaml
from django.utils.translation import gettext as _

from catalog.importers import genai_prices
from catalog.models import ApiPrice
from catalog.models.pricing import STANDARD
from catalog.peak_hours import with_peak_hours
from catalog.price_ends import ended
from catalog.price_rows import DATA_DIR, StatedPrice, read_price_csv
from catalog.services import cross_check, loading, price_data
from catalog.services.api_models import plan_api_models
from catalog.services.price_import import (
    ImportPlan,
    Source,
    StoredPrices,
    apply_import,
    plan_import,
    stored_prices,
)

OWN_FILE = "api_prices.csv"
CHANNELS_FILE = "channel_prices.csv"
OWN_SOURCE = "aforo"
CHANNELS_SOURCE = "aforo channels"
PACKAGES = "price_packages.yaml"


def plan_own_prices(stored: StoredPrices | None = None) -> ImportPlan:
    """What loading our own price file would do; `stored` as `plan_import` takes it.

    Raises:
        ValueError: The file is malformed; names the line.
    """
    stated, source = _own_file(OWN_FILE, OWN_SOURCE)
    return plan_import(source, stated, stored)


def plan_channel_prices(stored: StoredPrices | None = None) -> ImportPlan:
    """What loading the prices of channels would do: only of models that have standard prices already.

    `stored` as `plan_import` takes it.

    Raises:
        ValueError: The file is malformed; names the line.
    """
    stated, source = _own_file(CHANNELS_FILE, CHANNELS_SOURCE)
    known = set(ApiPrice.objects.filter(channel=STANDARD, meter="input").values_list("slug", flat=True))
    return plan_import(source, [price for price in stated if price.slug in known], stored)


def _own_file(name: str, kind: str) -> tuple[tuple[StatedPrice, ...], Source]:
    path = DATA_DIR / name
    listed = read_price_csv(path)
    read_on = max(price.date_seen for price in listed if price.date_seen)
    source = Source(
        slug=f"{kind.replace(' ', '-')}-{read_on.isoformat()}",
        name=f"Aforo's own price file {name}, read {read_on.isoformat()}",
        source=kind,
        version=read_on.isoformat(),
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        retrieved_on=read_on,
    )
    return tuple(with_peak_hours(listed)), source


def published_on(package: str, version: str) -> datetime.date | None:
    """The day a version of a price package was published; None where it is not known here."""
    entries = yaml.safe_load((DATA_DIR / PACKAGES).read_text(encoding="utf-8"))
    days = {(entry["package"], str(entry["version"])): entry["published_on"] for entry in entries}
    return days.get((package, version))


def plan_genai_prices(stored: StoredPrices | None = None, *, observed_on: datetime.date | None = None) -> ImportPlan:
    """What importing the data bundled in genai-prices would do.

    Args:
        stored: as `plan_import` takes it.
        observed_on: the day its content is of; that of the package's release when not given.
    """
    reading = genai_prices.read_package()
    day = observed_on or published_on(genai_prices.PACKAGE, reading.version)
    source = Source(
        slug=f"genai-prices-{reading.version}",
        name=f"genai-prices {reading.version}",
        source=genai_prices.PACKAGE,
        version=reading.version,
        sha256=reading.sha256,
        licence=genai_prices.LICENCE,
        url=genai_prices.URL,
        retrieved_on=day,
        notes="" if day else _("It is not known when this version was published (%(file)s).") % {"file": PACKAGES},
        providers=reading.providers,
    )
    return replace(plan_import(source, ended(reading.prices), stored), unpriced=reading.unpriced)


def apply(plan: ImportPlan) -> None:
    """Write a plan."""
    apply_import(plan)


def load_everything(*, with_package: bool = True) -> list[loading.LoadPlan | ImportPlan]:
    """Load sellers, policies, price rules, offers and prices, each after what it points to; returns what was done.

    Args:
        with_package: Also import the data bundled in genai-prices (some 7,500 rows).

    Raises:
        DataFileError: A file is malformed or points to a row that is not there.
    """
    done: list[loading.LoadPlan | ImportPlan] = []
    files = (price_data.providers, price_data.cache_policies, price_data.price_rules, price_data.gpu_offers)
    for build in files:
        plan = build()
        loading.load([plan])
        done.append(plan)
    package = (plan_genai_prices,) if with_package else ()
    stored = stored_prices()
    for plan_of_source in (plan_own_prices, *package, plan_channel_prices):
        prices = plan_of_source(stored)
        done.append(prices)
        apply_import(prices)
        if prices.writes:
            stored = stored_prices()
        if plan_of_source is plan_genai_prices and prices.close:
            apply_import(plan_own_prices(stored))  # days that the package held until now may stand in our own file
            stored = stored_prices()
    if with_package:
        models = plan_api_models(genai_prices.read_package())
        loading.load([models])
        done.append(models)
    cross_check.apply(cross_check.compare())
    return done
