"""Reads the price data bundled in the PyPI package genai-prices; never its network updater, never its calculator.

What the package means, and how it becomes rows (see docs/prices.md for the list of differences):

- A model has price sets; the last one whose start date has passed rules. Sets with a start date become periods, the
  first one has no known start.
- Sets with hours of the day become daily windows of the last dated set, because the package cannot combine date and
  hour. Weekdays, holidays and the peak prices of earlier periods come from `catalog.peak_hours`.
- A model without any price is free where the list says so (`says_free`): rows of zero. Any other is named.
- Variants override single prices for a request context (batch, service tier …); they become rows of a channel or of
  an endpoint class. They are resolved by the package's own `get_prices`.
- A price with tiers applies to the whole request when the total prompt is above the tier's start. A flat price of
  tokens beside tiered ones says nothing of long prompts; searches and the like know no tiers.
- Amounts with more than 12 decimals are noise of float sums and rounded there, half even.
"""

import datetime
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import genai_prices.data as bundled
from genai_prices import types as package

from catalog.models.pricing import STANDARD
from catalog.peak_hours import with_peak_hours
from catalog.price_rows import StatedPrice

PACKAGE = "genai-prices"
LICENCE = "MIT"
URL = "https://pypi.org/project/genai-prices/"
NOISE_EXPONENT = -12
NOISE = Decimal(1).scaleb(NOISE_EXPONENT)
# Free variants by their names (https://openrouter.ai/docs, model variants, read 2026-11-30), and the words of the
# package's comments that say it of a model.
FREE_NAMES = {"openrouter": re.compile(r":free$")}
FREE_COMMENT = re.compile(r"\bfree of charge\b.*\bno paid tier\b", re.IGNORECASE)
FREE_METERS = ("input", "output", "cache_read")
# xAI's long tier begins AT the threshold (https://docs.x.ai/docs/models, read 2026-11-29); the package, whose tiers
# begin above, stores it less one.
INCLUSIVE_TIERS = {"x-ai"}
# Price keys of the package → our meter and unit. Modal meters swap their words: cache_audio_read → cache_read_audio.
PLAIN_METERS: Mapping[str, tuple[str, str]] = {
    "output_reasoning_mtok": ("reasoning", "mtok"),
    "output_citation_mtok": ("citation", "mtok"),
    "input_mchars": ("character", "mcharacter"),
    "input_text_messages_kcount": ("message", "kmessage"),
    "audio_hours": ("audio_second", "hour"),
    "input_audio_hours": ("input_audio_second", "hour"),
    "output_audio_hours": ("output_audio_second", "hour"),
    "input_gpixels": ("pixel", "gpixel"),
    "input_document_kpages": ("page", "kpage"),
    "input_annotated_document_kpages": ("annotated_page", "kpage"),
    "rerank_searches_kcount": ("rerank_search", "ksearch"),
    "web_searches_kcount": ("web_search", "ksearch"),
    "social_searches_kcount": ("social_search", "ksearch"),
    "storage_searches_kcount": ("storage_search", "ksearch"),
    "code_executions_kcount": ("code_execution", "kcall"),
    "requests_kcount": ("request", "krequest"),
}
_MODAL_CACHE = re.compile(r"^cache_(?P<modality>text|audio|image|video)_(?P<kind>read|write)(?P<ttl>_5m|_1h)?$")
# The package's `cache_write` does not say for how long. By maker of the model, as their pages state
# (docs/prompt-caching.md, read 2026-11-29): seconds; others stay without a stated time.
WRITE_TTLS: tuple[tuple[str, int], ...] = (
    (r"claude", 300),
    (r"gpt-(5\.6|6)", 1800),
    (r"kimi-k3", 300),
    (r"qwen", 300),
    (r"amazon\.nova", 300),
)
CHANNELS = {
    ("processing", "batch"): "batch",
    ("service_tier", "flex"): "flex",
    ("service_tier", "priority"): "priority",
    ("service_tier", "fast"): "fast",
    ("speed", "fast"): "fast",
}


# Channel, endpoint class, daily window and the prices of them by the package's price keys.
_Group = tuple[str, str, package.TimeOfDateConstraint | None, dict[str, Decimal | package.TieredPrices]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Everything read from the package, with its version and the hash of its data file."""

    version: str
    sha256: str
    providers: Mapping[str, Mapping[str, Any]]
    prices: tuple[StatedPrice, ...]
    api_models: tuple[Mapping[str, Any], ...]
    models: int
    skipped: tuple[str, ...]
    unpriced: tuple[str, ...]


@cache
def read_package() -> Reading:
    """The bundled prices as stated prices; what is installed does not change while a process lives."""
    # Read once: every look at `.version` parses the package's metadata anew.
    version = distribution(PACKAGE).version
    prices: list[StatedPrice] = []
    skipped: list[str] = []
    unpriced: list[str] = []
    for provider in bundled.providers:
        for model in provider.models:
            found = model_prices(provider, model, source=f"{PACKAGE}=={version}", skipped=skipped)
            prices.extend(found)
            if not found:
                unpriced.append(f"{provider.id} {model.id}")
    return Reading(
        version=version,
        sha256=_data_sha256(),
        providers={
            provider.id: {"name": provider.name, "pricing_url": (provider.pricing_urls or [""])[0]}
            for provider in bundled.providers
        },
        prices=tuple(prices),
        api_models=tuple(_api_model(provider.id, model) for provider in bundled.providers for model in provider.models),
        models=sum(len(provider.models) for provider in bundled.providers),
        skipped=tuple(skipped),
        unpriced=tuple(unpriced),
    )


def _api_model(provider: str, model: package.ModelInfo) -> dict[str, Any]:
    """Names and life of a model, as plain data."""
    return {
        "provider": provider,
        "model": model.id,
        "name": (model.name or model.id)[:200],
        "match": match_rule(model.match),
        "context_window_tokens": model.context_window,
        "deprecated": bool(model.deprecated),
        "comments": model.price_comments or "",
    }


def match_rule(clause: Any) -> dict[str, Any]:
    """A clause of the package as a rule of `catalog.model_names`."""
    for name, kind in (("or_", "or"), ("and_", "and")):
        if hasattr(clause, name):
            return {kind: [match_rule(each) for each in getattr(clause, name)]}
    ((name, text),) = vars(clause).items()
    return {name: text}


def _data_sha256() -> str:
    return hashlib.sha256(Path(str(bundled.__file__)).read_bytes()).hexdigest()


class _Span(NamedTuple):
    """A stretch of days in which no price of a model changes, and a day of it that no window covers at noon."""

    start: datetime.date | None
    end: datetime.date | None

    @property
    def moment(self) -> datetime.datetime:
        day = self.start or (self.end or datetime.date(2026, 1, 1)) - datetime.timedelta(days=1)
        return datetime.datetime.combine(day, datetime.time(12), tzinfo=datetime.UTC)


def model_prices(
    provider: package.Provider, model: package.ModelInfo, *, source: str, skipped: list[str] | None = None
) -> list[StatedPrice]:
    """All prices of one model, as rows whose periods do not overlap."""
    sets = (
        [package.ConditionalPrice(prices=model.prices)]
        if isinstance(model.prices, package.ModelPrice)
        else list(model.prices)
    )
    windows = [(each.constraint, each) for each in sets if isinstance(each.constraint, package.TimeOfDateConstraint)]
    dated = [each for each in sets if not isinstance(each.constraint, package.TimeOfDateConstraint)]
    last_start = max((start for each in dated if (start := _start(each)) is not None), default=None)
    without_windows = replace(model, prices=dated)
    url = (provider.pricing_urls or [""])[0]
    stated = _Collector(provider=provider.id, model=model.id, source=source, url=url)
    for span in _spans(dated, model.price_variants or []):
        base = without_windows.get_prices(span.moment)
        groups: list[_Group] = [("", "", None, _worth(base))]
        for context, channel, endpoint_class in _contexts(provider.id, model, skipped):
            groups.append((channel, endpoint_class, None, _overrides(without_windows, span.moment, context)))
        if last_start is None or (span.start is not None and span.start >= last_start):
            groups += [("", "", window, _worth(each.prices)) for window, each in windows]
        stated.add_span(span, groups)
    return with_peak_hours(stated.rows()) or _free_prices(provider, model, source=source, url=url)


def says_free(provider: str, model: package.ModelInfo) -> bool:
    """Whether the list says that a model costs nothing: by the name of a free variant, or in its comment."""
    name = FREE_NAMES.get(provider)
    return bool((name and name.search(model.id)) or FREE_COMMENT.search(model.price_comments or ""))


def _free_prices(provider: package.Provider, model: package.ModelInfo, *, source: str, url: str) -> list[StatedPrice]:
    if not says_free(provider.id, model):
        return []
    return [
        StatedPrice(
            provider=provider.id,
            model=model.id,
            meter=meter,
            unit="mtok",
            amount=Decimal(0),
            source=f"{source}, which says that the model is free",
            source_url=url,
        )
        for meter in FREE_METERS
    ]


def _start(conditional: package.ConditionalPrice | package.PriceVariant) -> datetime.date | None:
    constraint = conditional.constraint
    return constraint.start_date if isinstance(constraint, package.StartDateConstraint) else None


def _spans(dated: list[package.ConditionalPrice], variants: list[package.PriceVariant]) -> list[_Span]:
    both: list[package.ConditionalPrice | package.PriceVariant] = [*dated, *variants]
    starts = sorted({start for each in both if (start := _start(each)) is not None})
    return [_Span(a, b) for a, b in pairwise([None, *starts, None])]


def _contexts(
    provider: str, model: package.ModelInfo, skipped: list[str] | None
) -> Iterator[tuple[dict[str, str], str, str]]:
    """Request contexts a model has variants for, with the channel or endpoint class each becomes."""
    seen = []
    for variant in model.price_variants or []:
        if variant.when in seen:
            continue
        seen.append(variant.when)
        if not any(_worth(other.prices) for other in model.price_variants or [] if other.when == variant.when):
            continue  # names the default of a context: the standard prices
        if len(variant.when) != 1:
            if skipped is not None:
                skipped.append(f"{provider} {model.id}: a variant of several conditions {variant.when}")
            continue
        ((name, value),) = variant.when.items()
        channel = CHANNELS.get((name, value))
        yield dict(variant.when), channel or "", "" if channel else f"{name}={value}"


def _overrides(
    model: package.ModelInfo, moment: datetime.datetime, context: Mapping[str, str]
) -> dict[str, Decimal | package.TieredPrices]:
    """The prices a context changes, resolved by the package (the first matching variant of each price wins)."""
    resolved = _worth(model.get_prices(moment, context))
    named = {
        key
        for variant in model.price_variants or []
        if all(context.get(name) == value for name, value in variant.when.items())
        and (variant.constraint is None or variant.constraint.active(moment))
        for key in _worth(variant.prices)
    }
    return {key: price for key, price in resolved.items() if key in named}


def _worth(prices: package.ModelPrice) -> dict[str, Decimal | package.TieredPrices]:
    return {key: value for key, value in vars(prices).items() if value is not None and not key.startswith("_")}


def meter_of_price_key(key: str, model: str) -> tuple[str, str]:
    """Our meter and unit of a price key of the package.

    Raises:
        KeyError: The package has a key this importer does not know.
    """
    if key in PLAIN_METERS:
        return PLAIN_METERS[key]
    if not key.endswith("_mtok"):
        raise KeyError(key)
    name = key.removesuffix("_mtok")
    if name == "cache_write":
        ttl_s = next((ttl for pattern, ttl in WRITE_TTLS if re.search(pattern, model)), None)
        return ({None: "cache_write", 300: "cache_write_5m"}.get(ttl_s, f"cache_write_{ttl_s}s"), "mtok")
    if found := _MODAL_CACHE.match(name):
        return f"cache_{found['kind']}_{found['modality']}{found['ttl'] or ''}", "mtok"
    return name, "mtok"


class _Collector:
    """Gathers the prices of one model span by span and joins neighbours of equal worth."""

    def __init__(self, *, provider: str, model: str, source: str, url: str) -> None:
        self._fixed: dict[str, Any] = {"provider": provider, "model": model, "source": source, "source_url": url}
        self._rows: dict[tuple[Any, ...], list[StatedPrice]] = {}

    def add_span(self, span: _Span, groups: list[_Group]) -> None:
        thresholds = sorted(
            {tier.start for *_ignored, prices in groups for price in prices.values() for tier in _tiers(price)}
        )
        for channel, endpoint_class, window, prices in groups:
            tiered = any(_tiers(price) for price in (*prices.values(), *groups[0][3].values()))
            for key, price in prices.items():
                meter, unit = meter_of_price_key(key, self._fixed["model"])
                # A flat price of tokens beside tiered ones says nothing of long prompts: the seller may bill another
                # price there, or not take them over this channel (GPT-5.5 over priority).
                # Searches and the like know no tiers.
                flat = unit != "mtok" or (tiered and not _tiers(price))
                for threshold in (None,) if flat else (None, *thresholds):
                    self._add(
                        StatedPrice(
                            **self._fixed,
                            meter=meter,
                            unit=unit,
                            amount=_at(price, threshold),
                            channel=channel or STANDARD,
                            endpoint_class=endpoint_class,
                            **self._tier(threshold),
                            **self._window(window),
                            effective_from=span.start,
                            effective_to=span.end,
                        )
                    )

    def _tier(self, threshold: int | None) -> dict[str, Any]:
        if threshold is None:
            return {}
        if self._fixed["provider"] in INCLUSIVE_TIERS:
            return {"tier_above_tokens": threshold + 1, "tier_operator": "ge"}
        return {"tier_above_tokens": threshold, "tier_operator": "gt"}

    def _window(self, window: package.TimeOfDateConstraint | None) -> dict[str, Any]:
        if window is None:
            return {}
        return {
            "daily_start": _utc(window.start_time),
            "daily_end": _utc(window.end_time),
            "daily_zone": "UTC",
        }

    def _add(self, row: StatedPrice) -> None:
        earlier = self._rows.setdefault(row.key, [])
        if earlier and earlier[-1].worth == row.worth and earlier[-1].effective_to == row.effective_from:
            earlier[-1] = replace(earlier[-1], effective_to=row.effective_to)
        else:
            earlier.append(row)

    def rows(self) -> list[StatedPrice]:
        return [row for rows in self._rows.values() for row in rows]


def _tiers(price: Decimal | package.TieredPrices) -> list[package.Tier]:
    return price.tiers if isinstance(price, package.TieredPrices) else []


def _at(price: Decimal | package.TieredPrices, threshold: int | None) -> Decimal:
    """The price of requests above the threshold (None: below all of them), without float noise."""
    if not isinstance(price, package.TieredPrices):
        return without_noise(price)
    reached = [tier.price for tier in price.tiers if threshold is not None and tier.start <= threshold]
    return without_noise(reached[-1] if reached else price.base)


def without_noise(amount: Decimal) -> Decimal:
    """An amount with at most 12 decimals: the package holds some sums made in float (0.18000000000000002)."""
    return amount.quantize(NOISE).normalize() if int(amount.as_tuple().exponent) < NOISE_EXPONENT else amount


def _utc(clock: datetime.time) -> datetime.time:
    if clock.tzinfo is None:
        return clock
    day = datetime.datetime.combine(datetime.date(1970, 1, 1), clock)
    return day.astimezone(datetime.UTC).time()
