"""Prepared keys of one kind stacked into arrays: what every row of them needs, one entry for each key."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from estimator.engine.forward_pass.llama_cpp import LlamaCpp
from estimator.engine.forward_pass.operators import Folded
from estimator.engine.forward_pass.roofline import Floor
from estimator.engine.memory.replica_cache import RankCache
from estimator.engine.power.draw import Draw
from estimator.engine.serving.capacity import Limits
from estimator.engine.serving.launch import Scheduler
from estimator.engine.speed.bands import Band
from estimator.engine.speed.prepared import PreparedKey
from estimator.engine.speed.stacking import stack


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySettings:
    """Per key: GPUs and stages of a replica, shares of the ideal profile, whether KV settings are defaults."""

    gpus: Any
    pipeline: Any
    prefill_share: Any
    decode_share: Any
    kv_settings_assumed: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStack:
    """Keys of one kind as arrays; `model` is what the kind's expectation needs."""

    ceiling: Floor
    stages: tuple[RankCache, ...]
    limits: Limits
    band: Band
    settings: KeySettings
    draw: Draw
    model: Folded | Floor | LlamaCpp | None
    scheduler: Scheduler | None


def stacked_keys(keys: Sequence[PreparedKey]) -> KeyStack:
    """Keys of one kind, in their order."""
    schedulers = [key.scheduler for key in keys if key.scheduler is not None and not key.unsupported]
    models = [key.serving or key.ideal or key.llama_cpp for key in keys if not key.unsupported]
    return KeyStack(
        ceiling=stack([key.ceiling for key in keys]),
        stages=_stages(keys),
        limits=stack([key.limits for key in keys]),
        band=stack([key.band for key in keys]),
        settings=stack([_settings(key) for key in keys]),
        draw=stack([key.draw for key in keys]),
        model=stack(models) if models else None,
        scheduler=stack(schedulers) if schedulers else None,
    )


def _stages(keys: Sequence[PreparedKey]) -> tuple[RankCache, ...]:
    """Caches by pipeline stage; a key with fewer stages repeats its last, which changes no minimum."""
    most = max(len(key.cache.stages) for key in keys)
    return tuple(stack([key.cache.stages[min(n, len(key.cache.stages) - 1)] for key in keys]) for n in range(most))


def _settings(prepared: PreparedKey) -> KeySettings:
    key = prepared.key
    ideal = key.engine.ideal
    return KeySettings(
        gpus=float(key.parallelism.gpus),
        pipeline=float(key.parallelism.pp),
        prefill_share=ideal.prefill_compute_efficiency if ideal else 1.0,
        decode_share=ideal.decode_compute_efficiency if ideal else 1.0,
        kv_settings_assumed=float(key.kv_settings_assumed),
    )
