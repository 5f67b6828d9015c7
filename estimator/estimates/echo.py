"""The resolved inputs of a plan, echoed in its answer: what slugs, aliases and defaults became."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from pydantic import Field

from estimator.engine.explain import Step
from estimator.engine.serving.settings import in_force
from estimator.engine.specs import EngineProfile, WorkloadMode
from estimator.estimates.answers import Answer, ResponsePart, common_parts, part_of, shown
from estimator.question.plan import Launch, Memory, Parallelism, Precision
from estimator.question.workload import Lora, Targets, Workload
from estimator.resolvers.engine_settings import settings_stated
from estimator.resolvers.plan import Plan, Resolved, ResolvedGpu, ResolvedModel

ModelEcho: Any = part_of(
    ResolvedModel,
    "ModelEcho",
    "The model that was taken.",
    slug="Catalog slug; null for a model given inline.",
    name="Name of the model.",
    family=shown("Family whose rules read it; inline for a shape.", at="architecture.family"),
    config_sha256="sha256 of the config.json: of the file for catalog models, of its canonical JSON when given.",
    override=shown("Cache figures that were replaced, by name.", kind=dict[str, int]),
    parameters=shown("Parameters in total, count.", kind=int, at="parameters.total"),
    active_parameters=shown("Parameters a token uses, input embedding included, count.", at="parameters.active"),
    layers=shown("Layers, count.", at="architecture.layers"),
    context_window_tokens="Context window, tokens; null when not known.",
)


GpuEcho: Any = part_of(
    ResolvedGpu,
    "GpuEcho",
    "The GPU that was taken.",
    slug="Catalog slug; null for a GPU given by its figures.",
    name="Name of the GPU.",
    memory_bytes=shown("Memory of one GPU counted with, bytes.", at="spec.memory_bytes"),
    memory_basis="visible: what CUDA or HIP reports; vendor: the figure on the box (ideal); given: the request's.",
    memory_bandwidth_bytes_per_s=shown("Memory bandwidth, bytes/s.", at="spec.memory_bandwidth_bytes_per_s"),
    peak_flops_per_s=shown("Dense peak by format, FLOP/s.", at="spec.peak_flops_per_s"),
    kernel_family=shown("Family of the GPU's own kernels; null when not known.", at="spec.kernel_family"),
    link=shown("Link between GPUs; null when none.", at="spec.link"),
)


EngineEcho: Any = part_of(
    EngineProfile,
    "EngineEcho",
    "The engine profile that was taken; an alias is resolved.",
    slug="Slug of the profile.",
    engine="Serving engine.",
    engine_version="Versions of the serving engine the profile is for; null for ideal.",
    kind="ideal, serving or llama_cpp: which model of speed applies.",
    release="Release inside these versions that was asked for; null for the newest.",
)


class ParallelismEcho(Parallelism):
    """How the replica is split, and the GPUs that it takes."""

    gpus: int = Field(description="GPUs of the replica, tp · pp · dp.")


class SettingEcho(ResponsePart):
    """A setting of the server."""

    name: str = Field(description="The engine's own name.")
    value: bool | float = Field(description="The value that was taken.")
    stated: bool = Field(description="true: the request states it; false: the default of the version.")


PlanInputs: Any = part_of(
    Plan,
    "PlanInputs",
    "What the estimate was made for, resolved.",
    model=shown("", kind=ModelEcho),
    gpu=shown("", kind=GpuEcho),
    engine=shown("", kind=EngineEcho),
    parallelism=shown("", kind=ParallelismEcho),
    precision=shown("", kind=Precision),
    memory=shown("Overrides that were asked for, and the share of memory that was taken.", kind=Memory),
    engine_settings=shown(
        "Settings of the server that speed depends on, by its engine's own names, stated and by default.",
        kind=list[SettingEcho],
    ),
    launch=shown("tuned: kernels were picked by flags; default: a plain start.", kind=Launch),
    workload=shown("Lengths and load; null where none was given.", kind=Workload | None),
    slo="Targets, with the percentile of the mode; null where none were given.",
    speculative="Speculative decoding; null when off.",
    lora=shown("Adapters; null when none.", kind=Lora | None),
    mtp_layers_loaded="Multi-token prediction layers held in memory, count.",
    power_cap_w="Most power of each GPU, W; null for its design power.",
    power="Price of electricity; null when not counted.",
)


def plan_inputs(plan: Plan) -> PlanInputs:
    """The echo of a plan."""
    return PlanInputs(
        **setting_echo(plan),
        workload=plan.workload,
        slo=targets_echo(plan.slo, plan.workload.mode if plan.workload else WorkloadMode.CLOSED_LOOP),
        power=plan.power,
    )


def setting_echo(plan: Plan) -> dict[str, Any]:
    """The echo of a plan without its load, by part; kept with the plan."""
    return plan.kept.of("inputs", lambda: _setting_echo(plan))


def _setting_echo(plan: Plan) -> dict[str, Any]:
    return {
        "model": ModelEcho.model_validate(plan.model),
        "gpu": GpuEcho.model_validate(plan.gpu),
        "engine": EngineEcho.model_validate(plan.engine),
        "parallelism": ParallelismEcho.model_validate(plan.parallelism, from_attributes=True),
        "precision": Precision.model_construct(**asdict(plan.precision)),
        "memory": memory_echo(plan),
        "engine_settings": settings_echo(plan),
        "launch": "tuned" if plan.tuned else "default",
        "speculative": plan.speculative,
        "lora": Lora.model_validate(plan.lora, from_attributes=True) if plan.lora else None,
        "mtp_layers_loaded": plan.mtp_layers_loaded,
        "power_cap_w": plan.power_cap_w,
    }


def memory_echo(plan: Plan) -> Memory:
    """The overrides of a plan, with the profile's share of memory where none was asked for."""
    asked = asdict(plan.memory)
    if asked["utilization"] is None:
        degrees = plan.parallelism
        asked["utilization"] = plan.engine.memory.share_of_memory(
            plan.gpu.spec.memory_bytes, tp=degrees.tp, pp=degrees.pp
        )
    return Memory.model_construct(**asked)


def settings_echo(plan: Plan) -> list[SettingEcho]:
    """Settings of the server that have a value: stated ones and defaults of the version."""
    if plan.engine.serving is None:
        return []
    stated = settings_stated(plan.memory, plan.engine_settings, plan.engine)
    return [
        SettingEcho(name=name, value=value, stated=name in stated)
        for name, (_, value) in in_force(plan.engine, stated).items()
    ]


def targets_echo(slo: Targets | None, mode: WorkloadMode) -> Targets | None:
    """The targets with the percentile that a mode of load has where none was asked for."""
    return slo and slo.model_copy(update={"percentile": slo.percentile_in(mode)})


class PlanAnswer(Answer):
    """What every estimate of a plan answers beside its own figures."""

    inputs: PlanInputs


def plan_parts(plan: Plan, *, steps: Iterable[Step], explain: bool, **more: list[str]) -> dict[str, Any]:
    """Keyword arguments of `PlanAnswer` that come from the plan.

    Args:
        plan: the resolved plan.
        steps: steps of the calculation; read only when `explain` is true.
        explain: whether the request asked for the working.
        more: further `assumptions`, `warnings` and `not_modelled`.
    """
    common = common_parts(plan, catalog_revision=plan.catalog_revision, steps=steps, explain=explain, **more)
    return {"inputs": plan_inputs(plan), **common}


class PartlyPlannedAnswer(Answer):
    """What estimates answer beside their figures where only a part of them may be a plan."""

    inputs: PlanInputs | None = Field(description="The plan behind the speed, resolved; null where there was none.")


def merged(resolved: list[Resolved]) -> Resolved:
    """Everything that several resolved parts carry, each text once."""
    return Resolved(
        assumptions=tuple(dict.fromkeys(text for each in resolved for text in each.assumptions)),
        warnings=tuple(dict.fromkeys(text for each in resolved for text in each.warnings)),
        not_modelled=tuple(dict.fromkeys(text for each in resolved for text in each.not_modelled)),
        provenance=tuple(entry for each in resolved for entry in each.provenance),
    )


def several_parts(
    resolved: list[Resolved], *, catalog_revision: int, steps: Iterable[Step], explain: bool
) -> dict[str, Any]:
    """Keyword arguments of `PartlyPlannedAnswer` from everything that was resolved, the plan among it if there is one.

    Args:
        resolved: parts in the order in which their texts are shown.
        catalog_revision: revision of the facts.
        steps: steps of the calculation; read only when `explain` is true.
        explain: whether the request asked for the working.
    """
    plan = next((part for part in resolved if isinstance(part, Plan)), None)
    common = common_parts(merged(resolved), catalog_revision=catalog_revision, steps=steps, explain=explain)
    return {"inputs": None if plan is None else plan_inputs(plan), **common}
