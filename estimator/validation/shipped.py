"""The product's own data files as facts and engine values, without a database: what rows are scored against.

The table must not depend on what somebody edited in an admin; so it reads the files that the catalog is loaded from,
and resolves them as a request is resolved.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from catalog import data_files
from catalog.fact_builders import engine_row_facts, gpu_row_facts
from catalog.models import EngineProfile as EngineRow
from catalog.models import Gpu as GpuRow
from estimator.engine.faults import ResolutionError
from estimator.engine.model.spec import Architecture
from estimator.engine.specs import EngineProfile, Gpu, Parallelism, Precision
from estimator.question import plan as question
from estimator.resolvers.engines import resolve_engine
from estimator.resolvers.facts import StoredFacts
from estimator.resolvers.gpus import resolve_gpu
from estimator.resolvers.models import resolve_model
from estimator.resolvers.plan import Plan
from estimator.resolvers.resolve import resolve_plan

FoundT = TypeVar("FoundT")
_OTHER_GPUS = Path(__file__).parent / "data" / "other_gpus.yaml"


class NotShippedError(LookupError):
    """A row names a model, GPU or engine that the product's data do not hold."""


@cache
def facts() -> StoredFacts:
    """The data files as facts, with the cards that only measurements name; requests are resolved from the same form."""
    gpus = {record.slug: gpu_row_facts(GpuRow(**record.values)) for record in data_files.gpus().records}
    gpus |= {name: card for name, card in _other_gpus().items() if name not in gpus}
    engines = {record.slug: engine_row_facts(EngineRow(**record.values)) for record in data_files.engines().records}
    models = {record.slug: _model_facts(record) for record in data_files.language_models().records}
    return StoredFacts({"gpu": gpus, "engine": engines, "model": models}, catalog_revision=0)


@cache
def plan(model: str, gpu_slug: str, engine: str, precision: Precision, parallelism: Parallelism) -> Plan:
    """The plan of a setting without its workload, resolved and checked as a request is.

    Raises:
        ResolutionError: a slug that the data files do not hold, or parts that do not go together.
        EngineError: a figure of the GPU is not known.
    """
    formats = question.Precision.model_construct(**asdict(precision))
    split = question.Parallelism.model_construct(**asdict(parallelism))
    asked = question.PlanRequest(model=model, gpu=gpu_slug, engine=engine, precision=formats, parallelism=split)
    # Published runs are scored whatever their settings were.
    return replace(resolve_plan(asked, facts()), kv_settings_assumed=False)


def gpu(slug: str) -> Gpu:
    """The GPU of a row, with the memory that CUDA or HIP shows.

    Raises:
        NotShippedError: neither the catalog's file nor the list of other cards holds it.
    """
    return _resolved(lambda: resolve_gpu(slug, facts(), ideal=False).spec)


def architecture(slug: str) -> Architecture:
    """The architecture of a model.

    Raises:
        NotShippedError: the catalog's file does not hold it.
    """
    return _resolved(lambda: resolve_model(slug, facts()).architecture)


def profile(slug: str) -> EngineProfile:
    """The engine profile of a row.

    Raises:
        NotShippedError: the catalog's file does not hold it.
    """
    return _resolved(lambda: resolve_engine(slug, facts()))


def _resolved(resolve: Callable[[], FoundT]) -> FoundT:
    try:
        return resolve()
    except ResolutionError as unknown:
        raise NotShippedError(str(unknown)) from unknown


def _model_facts(record: data_files.Record) -> dict[str, Any]:
    names = ("slug", "name", "architecture", "context_window_tokens", "config_sha256", "source")
    known = {name: record.values.get(name) for name in names}
    return known | {"checkpoints": list(record.children.get("checkpoints", ()))}


def _other_gpus() -> dict[str, dict[str, Any]]:
    cards = {}
    for entry in yaml.safe_load(_OTHER_GPUS.read_text(encoding="utf-8"))["gpus"]:
        card = {name: value for name, value in entry.items() if name not in ("source", "memory_bytes")}
        card |= {"name": entry["slug"], "memory_visible_bytes": entry["memory_bytes"], "scale_up_gpus": 8}
        card["peak_flops_per_s"] = {name: float(peak) for name, peak in entry["peak_flops_per_s"].items()}
        cards[entry["slug"]] = card
    return cards
