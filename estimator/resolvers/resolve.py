"""Puts a plan together from what was chosen and the facts; the checks across parts are made here."""

from dataclasses import replace

from django.utils.translation import gettext as _

from estimator.engine.options import Speculative
from estimator.engine.specs import EngineProfile, Precision
from estimator.resolvers.choices import ModelChoice, PlanChoice
from estimator.resolvers.collect import Collector
from estimator.resolvers.engines import engine_provenance, resolve_engine
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpus import gpu_provenance, resolve_gpu
from estimator.resolvers.models import model_provenance, resolve_model
from estimator.resolvers.parallel import check_parallelism, scale_up_warning
from estimator.resolvers.plan import Plan, Provenance, ResolvedGpu, ResolvedModel
from estimator.resolvers.precisions import (
    check_cache_format,
    check_precision,
    dtypes_used,
    precision_assumptions,
    resolve_precision,
    stored_format_warnings,
    unused_format_warnings,
)
from estimator.resolvers.workloads import resolve_workload

IDEAL = "ideal"


def resolve_plan(choice: PlanChoice, facts: Facts) -> Plan:
    """The plan of a choice.

    Raises:
        ResolutionError: every part that is unknown or does not go with another.
        EngineError: a model given inline that cannot be read, or a figure that is not known (422).
    """
    found = Collector()
    model = engine = gpu = None
    with found.part():
        model = resolve_model(choice.model, facts)
    with found.part():
        engine = resolve_engine(choice.engine, facts)
    with found.part():
        gpu = resolve_gpu(choice.gpu, facts, ideal=engine is not None and engine.kind == IDEAL)
    if model is None or engine is None or gpu is None:
        found.raise_if_any()
        raise AssertionError("a part without a result has told why")
    return _assemble(choice, facts, found, model, engine, gpu)


def _assemble(
    choice: PlanChoice, facts: Facts, found: Collector, model: ResolvedModel, engine: EngineProfile, gpu: ResolvedGpu
) -> Plan:
    precision = resolve_precision(choice.precision, model.architecture)
    assumptions: list[str] = precision_assumptions(choice.precision, precision, model.architecture)
    warnings: list[str] = list(model.architecture.warnings)
    workload = speculative = None
    with found.part():
        check_parallelism(choice.parallelism, model.architecture)
    warnings += _format_warnings(choice, precision, found, model, engine, gpu)
    with found.part():
        _check_mtp(choice, model)
    with found.part():
        speculative = _speculative(choice.speculative, assumptions)
    if choice.workload is not None:
        with found.part():
            workload = resolve_workload(
                choice.workload,
                context_window_tokens=model.context_window_tokens,
                assumptions=assumptions,
                warnings=warnings,
            )
    found.raise_if_any()
    if spans := scale_up_warning(choice.parallelism, gpu):
        warnings.append(spans)
    return Plan(
        model=model,
        gpu=gpu,
        engine=engine,
        parallelism=choice.parallelism,
        precision=precision,
        memory=choice.memory,
        workload=workload,
        batch_sizes=choice.workload.batch_sizes if choice.workload else (),
        slo=choice.slo,
        speculative=speculative,
        draft_model=_draft_model(speculative, facts),
        lora=choice.lora,
        mtp_layers_loaded=choice.mtp_layers_loaded,
        power=choice.power,
        catalog_revision=facts.catalog_revision,
        assumptions=tuple(assumptions),
        warnings=tuple(warnings),
        provenance=_provenance(precision, facts, model, engine, gpu),
    )


def _format_warnings(
    choice: PlanChoice,
    precision: Precision,
    found: Collector,
    model: ResolvedModel,
    engine: EngineProfile,
    gpu: ResolvedGpu,
) -> list[str]:
    """What is to know of the formats on this GPU and engine; formats that they cannot have are faults."""
    warnings: list[str] = []
    with found.part():
        warnings += check_precision(precision, gpu)
    with found.part():
        check_cache_format(precision.kv_cache, engine)
    warnings += stored_format_warnings(precision, model)
    return warnings + unused_format_warnings(choice.precision, model.architecture)


def _provenance(
    precision: Precision, facts: Facts, model: ResolvedModel, engine: EngineProfile, gpu: ResolvedGpu
) -> tuple[Provenance, ...]:
    dtypes = dtypes_used(precision)

    def build() -> tuple[Provenance, ...]:
        return (*model_provenance(model, facts), *gpu_provenance(gpu, dtypes), engine_provenance(engine, facts))

    if model.slug is None or gpu.slug is None:
        return build()
    key = ("provenance", model.slug, gpu.slug, engine.slug, *sorted(dtypes))
    return facts.derived(key, build)


def _check_mtp(choice: PlanChoice, model: ResolvedModel) -> None:
    has = model.architecture.mtp_layers
    if choice.mtp_layers_loaded > has:
        found = Collector()
        detail = _("The model has %(n)s multi-token prediction layers.") % {"n": has}
        found.add(("mtp_layers_loaded",), "out_of_range", detail)
        found.raise_if_any()


def _speculative(given: Speculative | None, assumptions: list[str]) -> Speculative | None:
    if given is None:
        return None
    if given.draft_cost_ratio is not None and given.draft_model is not None:
        found = Collector()
        detail = _("Give draft_cost_ratio or draft_model, not both.")
        found.add(("speculative", "draft_model"), "ambiguous", detail)
        found.raise_if_any()
    if given.draft_cost_ratio is None and given.draft_model is None:
        assumptions.append(_("Cost of the draft not given: 0."))
        return replace(given, draft_cost_ratio=0.0)
    return given


def _draft_model(speculative: Speculative | None, facts: Facts) -> ResolvedModel | None:
    if speculative is None or speculative.draft_model is None:
        return None
    return resolve_model(ModelChoice(slug=speculative.draft_model), facts, ("speculative", "draft_model"))
