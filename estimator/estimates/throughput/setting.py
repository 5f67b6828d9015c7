"""From a plan to the engine: the key whose constants are folded, and the loads as rows."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.constants.kernels import KernelConstants
from estimator.engine.codes import MODE_CODES
from estimator.engine.errors import InvalidInputError
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.recent import Recent
from estimator.engine.serving.launch import LaunchSettings
from estimator.engine.serving.settings import Server, launch_settings
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.prepared import Key, PreparedKey, prepare
from estimator.engine.speed.sweep import Rows, Sweep
from estimator.estimates.memory_fit.load import memory_plan
from estimator.question.traffic import Traffic
from estimator.question.workload import ResolvedWorkload
from estimator.resolvers.plan import Plan, ResolvedModel


def prepared_key(
    plan: Plan, *, kv_settings_assumed: bool = False, constants: KernelConstants | None = None
) -> PreparedKey:
    """The folded key of a plan, with the KV cache that memory fit counts for it.

    Args:
        plan: resolved model, GPU, engine and settings; its workload, if any, says how long sequences get.
        kv_settings_assumed: whether KV format or memory fraction are defaults that the request did not state.
        constants: operator constants; others than the shipped ones while constants are fitted.

    Raises:
        EngineError: a format or figure the engine does not know.
    """
    memory = memory_plan(plan)
    ideal, observed = plan.engine.kind == "ideal", plan.memory.kv_cache_tokens_observed is not None
    return prepare(
        Key(
            architecture=plan.model.architecture,
            gpu=plan.gpu.spec,
            engine=plan.engine,
            precision=plan.precision,
            parallelism=plan.parallelism,
            memory=memory,
            launch=launch_of(plan, memory),
            kv_settings_assumed=kv_settings_assumed and not ideal and not observed,
            power_cap_w=plan.power_cap_w,
        ),
        constants,
    )


def launch_of(plan: Plan, memory: MemoryPlan) -> LaunchSettings | None:
    """How the scheduler of a plan's server was started; None where its engine is none that serves."""
    if plan.engine.serving is None:
        return None
    server = Server(
        architecture=plan.model.architecture,
        gpu=plan.gpu.spec,
        engine=plan.engine,
        parallelism=plan.parallelism,
        memory=memory,
    )
    return launch_settings(server, plan.engine_settings, tuned=plan.tuned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A plan without its load, folded once: its memory, its key, and the key ready for rows."""

    memory: MemoryPlan
    speed: PreparedKey
    sweep: Sweep


_STACKED = Recent(64)


def setting_of(plan: Plan, *, kv_settings_assumed: bool = False) -> Setting:
    """The folded setting of a plan, kept with it: questions differ mostly in their load.

    Args:
        plan: resolved model, GPU, engine and settings.
        kv_settings_assumed: whether KV format or memory fraction are defaults that the request did not state.

    Raises:
        EngineError: a format or figure the engine does not know.
    """
    key = ("speed", kv_settings_assumed, memory_plan(plan).longest_tokens)
    return plan.kept.of(key, lambda: _fold(plan, kv_settings_assumed))


def sweep_of(keys: Sequence[PreparedKey]) -> Sweep:
    """Keys stacked for one search; the sets asked for last are kept, for the candidates of a sizing seldom change."""
    # A kept set holds its keys, so that no other takes their place in memory.
    kept: tuple[tuple[PreparedKey, ...], Sweep] = _STACKED.of(tuple(map(id, keys)), lambda: (tuple(keys), Sweep(keys)))
    return kept[1]


def _fold(plan: Plan, kv_settings_assumed: bool) -> Setting:
    speed = prepared_key(plan, kv_settings_assumed=kv_settings_assumed)
    return Setting(memory=memory_of(speed), speed=speed, sweep=Sweep([speed]))


def memory_of(speed: PreparedKey) -> MemoryPlan:
    """The memory that a key was folded with."""
    if speed.key.memory is None:
        raise InvalidInputError("the key has no memory plan", field="memory")
    return speed.key.memory


def draft_key(plan: Plan) -> PreparedKey | None:
    """The folded key of the draft model on the same GPUs; its heads may not divide by tp, so it runs on one."""
    if plan.draft_model is None:
        return None
    return _beside(plan, plan.draft_model)


def _beside(plan: Plan, model: ResolvedModel) -> PreparedKey:
    degrees = plan.parallelism
    heads = [group.attention.query_heads for group in model.architecture.layer_groups if group.attention]
    splits = all(count % degrees.tp == 0 for count in heads)
    return prepare(
        Key(
            architecture=model.architecture,
            gpu=plan.gpu.spec,
            engine=plan.engine,
            precision=plan.precision,
            parallelism=type(degrees)(tp=degrees.tp if splits else 1),
        )
    )


def workload_of(plan: Plan) -> ResolvedWorkload:
    """The plan's workload.

    Raises:
        InvalidInputError: the plan has none.
    """
    if plan.workload is None:
        raise InvalidInputError("a workload is needed", field="workload")
    return plan.workload


def traffic_columns(traffic: Traffic, concurrency: Any) -> dict[str, Any]:
    """Traffic as the engine's rows hold it; nothing of a service that asks for nothing else, which `STEADY` is."""
    if traffic == Traffic():
        return {}
    return {
        "waves": np.vectorize(traffic.waves, otypes=[float])(concurrency) + 0.0,
        "length_ratio": traffic.length_ratio,
        "ramp_s": traffic.ramp_s or 0.0,
        "client_s": traffic.client_s,
        "statistic": traffic.share,
        "ttft_at": traffic.place,
    }


_OF_TRAFFIC = ("waves", "length_ratio", "ramp_s", "client_s", "statistic", "ttft_at")
STEADY: dict[str, Any] = {one.name: one.default for one in fields(Rows) if one.name in _OF_TRAFFIC}
"""The columns of traffic of a service that asks for nothing else."""


def rows_of(
    workload: ResolvedWorkload,
    concurrency: Any,
    *,
    mode: WorkloadMode | None = None,
    rate: Any = None,
    key: npt.NDArray[np.intp] | None = None,
) -> Rows:
    """Rows of one workload at several concurrencies (or rates), of the first key where `key` does not name others."""
    count = np.broadcast_shapes(np.shape(concurrency), np.shape(rate))
    context = workload.context_tokens
    return Rows(
        key=np.zeros(count, dtype=np.intp) if key is None else key,
        mode=MODE_CODES[mode or workload.mode],
        input_tokens=float(workload.input_tokens),
        output_tokens=float(workload.output_tokens),
        concurrency=concurrency,
        context_tokens=np.nan if context is None else float(context),
        prefix_cache_hit_rate=workload.prefix_cache_hit_rate,
        requests_per_s=workload.requests_per_s if rate is None else rate,
        burstiness_cv=workload.burstiness_cv,
        **traffic_columns(workload.traffic, concurrency),
    )
