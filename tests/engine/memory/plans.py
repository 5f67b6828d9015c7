"""Plans on the shipped memory policies and models."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from catalog.engine_versions import at_version, covers, named_version
from estimator.engine.memory.ledger import RankMemory
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.policy import GIB, MemoryPolicy
from estimator.engine.model.spec import Architecture
from estimator.engine.options import MemoryOverrides
from estimator.engine.reading.reader import read_config
from estimator.engine.specs import Parallelism, Precision
from tests.engine.reading.test_exact_answers import MODELS

ROOT = Path(__file__).parents[3]


@cache
def policies() -> dict[str, MemoryPolicy]:
    with (ROOT / "catalog/data/engines.yaml").open(encoding="utf-8") as stream:
        content = yaml.safe_load(stream)
    return {entry["slug"]: MemoryPolicy(**at_version(entry["memory_policy"], None)) for entry in content["engines"]}


@cache
def policy_of(release: str) -> MemoryPolicy:
    """The policy of a release such as `vllm-0.20.0`, with the changes inside its profile up to it."""
    asked = named_version(release)
    assert asked is not None, release
    with (ROOT / "catalog/data/engines.yaml").open(encoding="utf-8") as stream:
        content = yaml.safe_load(stream)
    for entry in content["engines"]:
        if entry["engine"] == asked[0] and covers(entry["engine_version"], asked[1]):
            return MemoryPolicy(**at_version(entry["memory_policy"], asked[1]))
    raise LookupError(release)


@cache
def model(slug: str) -> Architecture:
    return read_config(MODELS[slug]["config"])


def plan(
    slug: str,
    gib: float,
    engine: str,
    utilization: float | None,
    *,
    tp: int = 1,
    pp: int = 1,
    weights: str = "bf16",
    kv: str = "bf16",
    length: int = 8192,
    **more: Any,
) -> MemoryPlan:
    return MemoryPlan(
        architecture=model(slug),
        memory_bytes=int(gib * GIB),
        policy=policies()[engine] if engine in policies() else policy_of(engine),
        precision=Precision(weights=weights, kv_cache=kv),
        parallelism=Parallelism(tp=tp, pp=pp),
        overrides=MemoryOverrides(utilization=utilization, **more.pop("overrides", {})),
        longest_tokens=length,
        **more,
    )


def budget_gib(rank: RankMemory) -> float:
    return rank.kv_budget_bytes / GIB
