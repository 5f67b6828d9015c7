"""Loads sellers' models: names and life as the price package states them, and what our own file adds."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import yaml

from catalog.canonical import sha256_of
from catalog.data_files import DATA_DIR, DataFile, plain
from catalog.importers.genai_prices import Reading
from catalog.importers.public_lists import ListedModel, kept_models, public_lists
from catalog.models import ApiModel, Provider
from catalog.models.pricing import price_slug
from catalog.services.loading import LoadPlan, plan
from catalog.services.price_data import LinkedRecord

LIFE = "model_life.yaml"


def plan_api_models(reading: Reading) -> LoadPlan:
    """What loading the package's models would do; those of sellers that are not there are left out."""
    sellers = {row.slug: row for row in Provider.objects.all()}
    life = yaml.safe_load((DATA_DIR / LIFE).read_text(encoding="utf-8"))
    listed = _listed(reading)
    records: dict[str, LinkedRecord] = {}
    for stated in reading.api_models:
        if stated["provider"] in sellers:
            record = _record(stated, sellers, life, reading.version, listed)
            records.setdefault(record.slug, record)
    file = DataFile(name="genai-prices models", version=reading.version, records=tuple(records.values()))
    return plan(ApiModel, file)


def _listed(reading: Reading) -> dict[tuple[str, str], tuple[str, ListedModel]]:
    """What public lists say of the package's models, by seller and model in lower case; the first list counts."""
    ours = {(stated["provider"], stated["model"].lower()) for stated in reading.api_models}
    found: dict[tuple[str, str], tuple[str, ListedModel]] = {}
    for which in public_lists():
        for model in kept_models(which):
            name = (model.seller, model.model.lower())
            if name in ours:
                found.setdefault(name, (which.label, model))
    return found


def _record(
    stated: Mapping[str, Any],
    sellers: Mapping[str, Provider],
    life: list[Mapping[str, Any]],
    version: str,
    listed: Mapping[tuple[str, str], tuple[str, ListedModel]],
) -> LinkedRecord:
    slug = price_slug(stated["provider"], stated["model"])
    words: dict[str, Any] = {**stated, "slug": slug, "source": f"genai-prices {version}"}
    if (stated["provider"], stated["model"].lower()) in listed:
        label, facts = listed[stated["provider"], stated["model"].lower()]
        words |= {"max_input_tokens": facts.max_input_tokens, "retired_on": facts.retired_on}
        words["source"] = f"{words['source']}; {label} ({facts.source_url})"[:300]
    for known in life:
        if known["provider"] == stated["provider"] and any(
            fnmatchcase(stated["model"].lower(), pattern) for pattern in known["models"]
        ):
            words |= {name: known[name] for name in ("deprecated_on", "retired_on", "source_date") if name in known}
            words["source"] = f"{known['source']}; {words['source']}"
    values = words | {"provider": sellers[stated["provider"]]}
    return LinkedRecord(slug=slug, values=values, words={**words, "sha256": sha256_of(plain(words))})
