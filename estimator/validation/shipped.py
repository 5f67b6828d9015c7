"""The product's own data files as engine values, without a database: what rows are scored against.

The table must not depend on what somebody edited in an admin; so it reads the files that the catalog is loaded from.
"""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from catalog import data_files
from catalog.engine_constants import engine_profile
from catalog.fact_builders import engine_row_facts, gpu_row_facts
from catalog.models import EngineProfile as EngineRow
from catalog.models import Gpu as GpuRow
from estimator.engine.architecture import from_dict
from estimator.engine.architecture.spec import Architecture
from estimator.engine.specs import EngineProfile, Gpu

_OTHER_GPUS = Path(__file__).parent / "data" / "other_gpus.yaml"


class NotShippedError(LookupError):
    """A row names a model, GPU or engine that the product's data do not hold."""


@cache
def gpu(slug: str) -> Gpu:
    """The GPU of a row, with the memory that CUDA or HIP shows.

    Raises:
        NotShippedError: neither the catalog's file nor the list of other cards holds it.
    """
    record = _gpus().get(slug)
    if record is None:
        return _other_gpu(slug)
    facts = gpu_row_facts(GpuRow(**record.values))
    memory = facts["memory_visible_bytes"] or facts["memory_driver_bytes"] or facts["memory_vendor_bytes"]
    return Gpu(
        slug=slug,
        memory_bytes=int(memory),
        memory_bandwidth_bytes_per_s=float(facts["memory_bandwidth_bytes_per_s"]),
        peak_flops_per_s=dict(facts["peak_flops_per_s"]),
        kernel_family=facts["kernel_family"],
        link=facts["link"],
        link_bytes_per_s_per_direction=facts["link_bytes_per_s_per_direction"],
        scale_up_gpus=facts["scale_up_gpus"] or 8,
    )


@cache
def architecture(slug: str) -> Architecture:
    """The architecture of a model.

    Raises:
        NotShippedError: the catalog's file does not hold it.
    """
    record = _models().get(slug)
    if record is None:
        raise NotShippedError(f"model {slug}")
    return from_dict(record.values["architecture"])


@cache
def profile(slug: str) -> EngineProfile:
    """The engine profile of a row.

    Raises:
        NotShippedError: the catalog's file does not hold it.
    """
    record = _engines().get(slug)
    if record is None:
        raise NotShippedError(f"engine {slug}")
    return engine_profile(engine_row_facts(EngineRow(**record.values)))


@cache
def _gpus() -> dict[str, Any]:
    return {record.slug: record for record in data_files.gpus().records}


@cache
def _models() -> dict[str, Any]:
    return {record.slug: record for record in data_files.language_models().records}


@cache
def _engines() -> dict[str, Any]:
    return {record.slug: record for record in data_files.engines().records}


@cache
def _other_gpus() -> dict[str, dict[str, Any]]:
    entries = yaml.safe_load(_OTHER_GPUS.read_text(encoding="utf-8"))["gpus"]
    return {entry["slug"]: {k: v for k, v in entry.items() if k != "source"} for entry in entries}


def _other_gpu(slug: str) -> Gpu:
    if slug not in _other_gpus():
        raise NotShippedError(f"gpu {slug}")
    values = dict(_other_gpus()[slug])
    values["memory_bandwidth_bytes_per_s"] = float(values["memory_bandwidth_bytes_per_s"])
    values["peak_flops_per_s"] = {name: float(peak) for name, peak in values["peak_flops_per_s"].items()}
    return Gpu(**values)
