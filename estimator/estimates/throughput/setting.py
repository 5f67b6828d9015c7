"""From a plan to the engine: the key whose constants are folded, and the loads as rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from estimator.constants.kernels import KernelConstants
from estimator.engine.errors import InvalidInputError
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.recent import Recent
from estimator.engine.serving.launch import LaunchSettings
from estimator.engine.serving.settings import Server, launch_settings
from estimator.engine.speed.prepared import Key, PreparedKey, prepare
from estimator.engine.speed.sweep import Sweep
from estimator.estimates.memory_fit.load import memory_plan
from estimator.estimates.throughput.calibrated import correction_of
from estimator.question.workload import ResolvedWorkload
from estimator.resolvers.plan import Plan, ResolvedModel


def prepared_key(plan: Plan, *, constants: KernelConstants | None = None) -> PreparedKey:
    """The folded key of a plan, with the KV cache that memory fit counts for it.

    Args:
        plan: resolved model, GPU, engine and settings; its workload, if any, says how long sequences get.
        constants: operator constants; others than the shipped ones while constants are fitted.

    Raises:
        EngineError: a format or figure the engine does not know.
    """
    memory = memory_plan(plan)
    ideal, observed = plan.engine.kind == "ideal", plan.memory.kv_cache_tokens_observed is not None
    prepared = prepare(
        Key(
            architecture=plan.model.architecture,
            gpu=plan.gpu.spec,
            engine=plan.engine,
            precision=plan.precision,
            parallelism=plan.parallelism,
            memory=memory,
            launch=launch_of(plan, memory),
            kv_settings_assumed=plan.kv_settings_assumed and not ideal and not observed,
            power_cap_w=plan.power_cap_w,
        ),
        constants,
    )
    if plan.calibration is None or ideal:
        return prepared
    return replace(prepared, key=replace(prepared.key, correction=correction_of(prepared, plan.calibration)))


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


def setting_of(plan: Plan) -> Setting:
    """The folded setting of a plan, kept with it: questions differ mostly in their load.

    Args:
        plan: resolved model, GPU, engine and settings.

    Raises:
        EngineError: a format or figure the engine does not know.
    """
    return plan.kept.of(("speed", memory_plan(plan).longest_tokens), lambda: _fold(plan))


def sweep_of(keys: Sequence[PreparedKey]) -> Sweep:
    """Keys stacked for one search; the sets asked for last are kept, for the candidates of a sizing seldom change."""
    # A kept set holds its keys, so that no other takes their place in memory.
    kept: tuple[tuple[PreparedKey, ...], Sweep] = _STACKED.of(tuple(map(id, keys)), lambda: (tuple(keys), Sweep(keys)))
    return kept[1]


def _fold(plan: Plan) -> Setting:
    speed = prepared_key(plan)
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
