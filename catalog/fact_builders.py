"""What a row looks like as facts: keys of the model fields, JSON-able values, sources beside the figures."""

import datetime
from typing import Any

from catalog.edits import source_facts, sources_by_figure
from catalog.models import EngineProfile, Gpu, LanguageModel


def gpu_row_facts(gpu: Gpu) -> dict[str, Any]:
    """Facts of an accelerator; bytes, bytes/s and dense FLOP/s by dtype.

    `kernel_family` is the accelerator's own; `kernel_family_used` the one whose measured kernels stand for it (None:
    none near) on the basis `kernel_family_basis` (calibrated, nearest_family or None).
    """
    family = gpu.kernel_family
    return {
        "slug": gpu.slug,
        "name": gpu.name,
        "vendor": gpu.vendor,
        "architecture": gpu.architecture,
        "compute_capability": gpu.compute_capability,
        "form_factor": gpu.form_factor,
        "devices_per_unit": gpu.devices_per_unit,
        "memory_vendor_bytes": gpu.memory_vendor_bytes,
        "memory_driver_bytes": gpu.memory_driver_bytes,
        "memory_visible_bytes": gpu.memory_visible_bytes,
        "memory_bandwidth_bytes_per_s": gpu.memory_bandwidth_bytes_per_s,
        "peak_flops_per_s": gpu.peak_flops_per_s,
        "kernel_family": family.own,
        "kernel_family_used": family.used,
        "kernel_family_basis": family.basis,
        "link": gpu.link or None,
        "link_bytes_per_s_per_direction": gpu.link_bytes_per_s_per_direction,
        "bridge_bytes_per_s_per_direction": gpu.bridge_bytes_per_s_per_direction,
        "pcie_generation": gpu.pcie_generation,
        "scale_up_gpus": gpu.scale_up_gpus,
        "tdp_w": gpu.tdp_w,
        "launch_date": _date(gpu.launch_date),
        "confidence": gpu.confidence,
        "sources": sources_by_figure(gpu),
        "notes": gpu.notes,
    }


def model_row_facts(model: LanguageModel) -> dict[str, Any]:
    """Facts of a language model; `architecture` is the engine's stored form."""
    return {
        "slug": model.slug,
        "name": model.name,
        "family": model.family,
        "architecture": model.architecture,
        "context_window_tokens": model.context_window_tokens,
        "checkpoints": [
            {
                "precision": checkpoint.precision,
                "stored_weight_bytes": checkpoint.stored_weight_bytes,
                **source_facts(checkpoint, "source", "source_date"),
            }
            for checkpoint in model.checkpoints.all()
        ],
        "total_parameters": model.total_parameters,
        "active_parameters": model.active_parameters,
        "experts": model.experts,
        "published_total_parameters": model.published_total_parameters,
        "published_active_parameters": model.published_active_parameters,
        "config_sha256": model.config_sha256,
        **source_facts(model, "source", "source_date"),
    }


def engine_row_facts(profile: EngineProfile) -> dict[str, Any]:
    """Facts of an engine profile; constants as stored, in the engine's own field names."""
    return {
        "slug": profile.slug,
        "name": profile.name,
        "engine": profile.engine,
        "engine_version": profile.engine_version,
        "kind": profile.kind,
        "aliases": profile.aliases,
        "memory_policy": profile.memory_policy,
        "speed_constants": profile.speed_constants,
        "parent": profile.parent.slug if profile.parent else None,
        "fit_error": profile.fit_error,
        **source_facts(profile, "evidence", "source_date"),
    }


def _date(value: datetime.date | None) -> str | None:
    return value.isoformat() if value else None
