"""The resolved inputs of a plan, echoed in its answer: what slugs, aliases and defaults became."""

from collections.abc import Iterable
from typing import Any

from pydantic import Field

from estimator.engine.explain import Step
from estimator.engine.options import MemoryOverrides, ServiceLevel
from estimator.engine.specs import EngineProfile, WorkloadMode
from estimator.estimates.answers import Amount, Answer, MeanTokensEcho, ResponsePart, common_parts
from estimator.resolvers.plan import Plan, Resolved, ResolvedGpu, ResolvedModel


class ModelEcho(ResponsePart):
    """The model that was taken."""

    slug: str | None = Field(description="Catalog slug; null for a model given inline.")
    name: str = Field(description="Name of the model.")
    family: str = Field(description="Family whose rules read it; inline for a shape.")
    config_sha256: str | None = Field(
        description="sha256 of the config.json: of the file for catalog models, of its canonical JSON when given."
    )
    override: dict[str, int] = Field(description="Cache figures that were replaced, by name.")
    parameters: int = Field(description="Parameters in total, count.")
    active_parameters: int = Field(description="Parameters a token uses, input embedding included, count.")
    layers: int = Field(description="Layers, count.")
    context_window_tokens: int | None = Field(description="Context window, tokens; null when not known.")

    @classmethod
    def of(cls, model: ResolvedModel) -> "ModelEcho":
        """The echo of a resolved model."""
        return cls(
            slug=model.slug,
            name=model.name,
            family=model.architecture.family,
            config_sha256=model.config_sha256,
            override=dict(model.override),
            parameters=model.parameters.total,
            active_parameters=model.parameters.active,
            layers=sum(group.layers for group in model.architecture.layer_groups),
            context_window_tokens=model.context_window_tokens,
        )


class GpuEcho(ResponsePart):
    """The GPU that was taken."""

    slug: str | None = Field(description="Catalog slug; null for a GPU given by its figures.")
    name: str = Field(description="Name of the GPU.")
    memory_bytes: int = Field(description="Memory of one GPU counted with, bytes.")
    memory_basis: str = Field(
        description="visible: what CUDA or HIP reports; vendor: the figure on the box (ideal); given: the request's."
    )
    memory_bandwidth_bytes_per_s: float = Field(description="Memory bandwidth, bytes/s.")
    peak_flops_per_s: dict[str, float] = Field(description="Dense peak by format, FLOP/s.")
    kernel_family: str | None = Field(description="Family of the GPU's own kernels; null when not known.")
    link: str | None = Field(description="Link between GPUs; null when none.")

    @classmethod
    def of(cls, gpu: ResolvedGpu) -> "GpuEcho":
        """The echo of a resolved GPU."""
        return cls(
            slug=gpu.slug,
            name=gpu.name,
            memory_bytes=gpu.spec.memory_bytes,
            memory_basis=gpu.memory_basis,
            memory_bandwidth_bytes_per_s=gpu.spec.memory_bandwidth_bytes_per_s,
            peak_flops_per_s=dict(gpu.spec.peak_flops_per_s),
            kernel_family=gpu.spec.kernel_family,
            link=gpu.spec.link,
        )


class EngineEcho(ResponsePart):
    """The engine profile that was taken; an alias is resolved."""

    slug: str = Field(description="Slug of the profile.")
    engine: str = Field(description="Serving engine.")
    engine_version: str | None = Field(description="Versions of the serving engine the profile is for; null for ideal.")
    kind: str = Field(description="ideal, serving or llama_cpp: which model of speed applies.")


class ParallelismEcho(ResponsePart):
    """How the replica is split."""

    tp: int = Field(description="Tensor parallel degree.")
    pp: int = Field(description="Pipeline parallel degree.")
    ep: int = Field(description="Expert parallel degree.")
    dp: int = Field(description="Attention data parallel degree.")
    gpus: int = Field(description="GPUs of the replica, tp · pp · dp.")


class PrecisionEcho(ResponsePart):
    """Formats that were taken."""

    weights: str = Field(description="Format of the weights.")
    kv_cache: str = Field(description="Format of the KV cache.")
    attention_weights: str | None = Field(description="Format of the attention's weights; null: as weights.")
    expert_weights: str | None = Field(description="Format of the routed experts' weights; null: as weights.")
    activations: str | None = Field(description="Format asked for the products; null: what the kernels take.")


class MemoryEcho(ResponsePart):
    """The share of memory that was taken, and other overrides that were asked for; null: the profile's own."""

    utilization: float | None = Field(
        description="Share of the GPU's memory the engine may use: the one asked for or the profile's; null if unknown."
    )
    runtime_overhead_bytes: int | None = Field(description="Bytes of the runtime on each GPU.")
    max_batched_tokens: int | None = Field(description="Most tokens of one forward pass.")
    max_num_seqs: int | None = Field(description="Most sequences at once, count.")
    kv_cache_tokens_observed: int | None = Field(description="Tokens of KV cache the server printed.")

    @classmethod
    def of(cls, overrides: MemoryOverrides, engine: EngineProfile) -> "MemoryEcho":
        """The echo of overrides on a profile."""
        echo = cls.model_validate(overrides)
        if echo.utilization is not None:
            return echo
        return echo.model_copy(update={"utilization": engine.memory.utilization})


class WorkloadEcho(ResponsePart):
    """Lengths and load that were taken."""

    mode: str = Field(description="How load is put on the replica.")
    input_tokens: MeanTokensEcho = Field(description="Mean prompt of a request, tokens.")
    output_tokens: MeanTokensEcho = Field(description="Mean answer of a request, tokens.")
    context_tokens: MeanTokensEcho | None = Field(description="Cache length asked for, tokens; null: from the lengths.")
    concurrency: int = Field(description="Requests in flight, count.")
    requests_per_s: float | None = Field(description="Arrivals of an open loop, requests/s.")
    burstiness_cv: float = Field(description="Coefficient of variation of the times between arrivals.")
    prefix_cache_hit_rate: float = Field(description="Share of prompt tokens found in the prefix cache.")
    batch_sizes: list[int] = Field(description="Batch sizes asked for, count.")


class SloEcho(ResponsePart):
    """Targets that were taken."""

    ttft_s: float | None = Field(description="Most time to the first token, seconds.")
    tpot_s: float | None = Field(description="Most mean time per output token after the first, seconds.")
    e2e_s: float | None = Field(description="Most time to the whole answer, seconds.")
    percentile: int = Field(
        description="Share of requests that meet the targets, percent: the one asked for, or that of the mode."
    )
    band_side: str = Field(description="Which value of the band is held against the targets.")

    @classmethod
    def of(cls, slo: ServiceLevel, mode: WorkloadMode) -> "SloEcho":
        """The echo of targets under a mode of load."""
        return cls(
            ttft_s=slo.ttft_s,
            tpot_s=slo.tpot_s,
            e2e_s=slo.e2e_s,
            percentile=slo.percentile_in(mode),
            band_side=slo.band_side,
        )


class SpeculativeEcho(ResponsePart):
    """Speculative decoding that was taken."""

    acceptance_rate: float = Field(description="Chance that one drafted token is accepted.")
    draft_tokens: int = Field(description="Tokens drafted a step, count.")
    draft_cost_ratio: float | None = Field(description="Time of one drafted token over a decode step.")
    draft_model: str | None = Field(description="Catalog model that drafts.")


class LoraEcho(ResponsePart):
    """Adapters that were taken."""

    max_loras: int = Field(description="Adapters held at once, count.")
    max_rank: int = Field(description="Largest rank of an adapter.")


class PowerEcho(ResponsePart):
    """Price of electricity that was taken."""

    pue: float = Field(description="Power usage effectiveness of the building.")
    price_per_kwh: Amount = Field(description="Price of a kWh, exact decimal in `currency`.")
    currency: str = Field(description="ISO 4217 code.")


class PlanInputs(ResponsePart):
    """What the estimate was made for, resolved."""

    model: ModelEcho
    gpu: GpuEcho
    engine: EngineEcho
    parallelism: ParallelismEcho
    precision: PrecisionEcho
    memory: MemoryEcho
    workload: WorkloadEcho | None = Field(description="Lengths and load; null where none was given.")
    slo: SloEcho | None = Field(description="Targets; null where none were given.")
    speculative: SpeculativeEcho | None = Field(description="Speculative decoding; null when off.")
    lora: LoraEcho | None = Field(description="Adapters; null when none.")
    mtp_layers_loaded: int = Field(description="Multi-token prediction layers held in memory, count.")
    power: PowerEcho | None = Field(description="Price of electricity; null when not counted.")

    @classmethod
    def of(cls, plan: Plan) -> "PlanInputs":
        """The echo of a plan."""
        return cls(
            model=ModelEcho.of(plan.model),
            gpu=GpuEcho.of(plan.gpu),
            engine=EngineEcho.model_validate(plan.engine),
            parallelism=ParallelismEcho.model_validate(plan.parallelism),
            precision=PrecisionEcho.model_validate(plan.precision),
            memory=MemoryEcho.of(plan.memory, plan.engine),
            workload=_workload(plan),
            slo=SloEcho.of(plan.slo, _mode(plan)) if plan.slo else None,
            speculative=SpeculativeEcho.model_validate(plan.speculative) if plan.speculative else None,
            lora=LoraEcho.model_validate(plan.lora) if plan.lora else None,
            mtp_layers_loaded=plan.mtp_layers_loaded,
            power=PowerEcho.model_validate(plan.power) if plan.power else None,
        )


def _mode(plan: Plan) -> WorkloadMode:
    return plan.workload.mode if plan.workload else WorkloadMode.CLOSED_LOOP


def _workload(plan: Plan) -> WorkloadEcho | None:
    if plan.workload is None:
        return None
    values = {name: getattr(plan.workload, name) for name in _OF_WORKLOAD}
    return WorkloadEcho(**values, batch_sizes=list(plan.batch_sizes))


_OF_WORKLOAD = tuple(name for name in WorkloadEcho.model_fields if name != "batch_sizes")


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
    return {"inputs": PlanInputs.of(plan), **common}


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
    return {"inputs": None if plan is None else PlanInputs.of(plan), **common}
