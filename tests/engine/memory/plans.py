"""Plans on the shipped memory policies and models."""

from functools import cache
from typing import Any

from catalog.data_files import engines
from catalog.engine_versions import at_version, covers, named_version
from estimator.engine.memory.ledger import RankMemory
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.policy import GIB, MemoryPolicy
from estimator.engine.model.spec import Architecture
from estimator.engine.options import MemoryOverrides
from estimator.engine.reading.reader import read_config
from estimator.engine.specs import Parallelism, Precision
from tests.engine.reading.test_exact_answers import MODELS


@cache
def policies() -> dict[str, MemoryPolicy]:
    return {one.slug: MemoryPolicy(**at_version(one.values["memory_policy"], None)) for one in engines().records}


@cache
def policy_of(release: str) -> MemoryPolicy:
    """The policy of a release such as `vllm-0.20.0`, with the changes inside its profile up to it."""
    asked = named_version(release)
    assert asked is not None, release
    for one in engines().records:
        if one.values["engine"] == asked[0] and covers(one.values["engine_version"], asked[1]):
            return MemoryPolicy(**at_version(one.values["memory_policy"], asked[1]))
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
