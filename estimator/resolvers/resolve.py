"""Puts a plan together from what was chosen and the facts; the checks across parts are made here."""

from django.utils.translation import gettext as _

from estimator.engine.formats.quantisation_config import NOTE_OF_NAME
from estimator.engine.options import Lora, MemoryOverrides
from estimator.engine.specs import EngineProfile, Parallelism, Precision
from estimator.question.plan import PlanRequest
from estimator.question.workload import Speculative
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


def resolve_plan(asked: PlanRequest, facts: Facts) -> Plan:
    """The plan of a question.

    Raises:
        ResolutionError: every part that is unknown or does not go with another.
        EngineError: a model given inline that cannot be read, or a figure that is not known (422).
    """
    found = Collector()
    model = engine = gpu = None
    with found.part():
        model = resolve_model(asked.model, facts)
    with found.part():
        engine = resolve_engine(asked.engine, facts)
    with found.part():
        gpu = resolve_gpu(asked.gpu, facts, ideal=engine is not None and engine.kind == IDEAL)
    if model is None or engine is None or gpu is None:
        found.raise_if_any()
        raise AssertionError("a part without a result has told why")
    return _assemble(asked, facts, found, model, engine, gpu)


def _assemble(
    asked: PlanRequest, facts: Facts, found: Collector, model: ResolvedModel, engine: EngineProfile, gpu: ResolvedGpu
) -> Plan:
    precision = resolve_precision(asked.precision, model.architecture)
    parallelism = Parallelism(**dict(asked.parallelism))
    assumptions: list[str] = precision_assumptions(asked.precision, precision, model.architecture)
    # Whoever states the format needs no word on what the name says of it.
    stated = asked.precision.weights is not None
    warnings = [text for text in model.architecture.warnings if not (stated and text.startswith(NOTE_OF_NAME))]
    workload = speculative = None
    with found.part():
        check_parallelism(parallelism, model.architecture)
    warnings += _format_warnings(asked, precision, found, model, engine, gpu)
    with found.part():
        _check_mtp(asked, model)
    with found.part():
        speculative = resolve_speculative(asked.speculative, assumptions)
    if asked.workload is not None:
        with found.part():
            workload = resolve_workload(
                asked.workload,
                context_window_tokens=model.context_window_tokens,
                assumptions=assumptions,
                warnings=warnings,
            )
    found.raise_if_any()
    if spans := scale_up_warning(parallelism, gpu):
        warnings.append(spans)
    return Plan(
        model=model,
        gpu=gpu,
        engine=engine,
        parallelism=parallelism,
        precision=precision,
        memory=MemoryOverrides(**dict(asked.memory)),
        workload=workload,
        slo=asked.slo,
        speculative=speculative,
        draft_model=resolve_draft(speculative, facts),
        lora=Lora(**dict(asked.lora)) if asked.lora else None,
        mtp_layers_loaded=asked.mtp_layers_loaded,
        power=asked.power,
        catalog_revision=facts.catalog_revision,
        assumptions=tuple(assumptions),
        warnings=tuple(warnings),
        provenance=_provenance(precision, facts, model, engine, gpu),
    )


def _format_warnings(
    asked: PlanRequest,
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
    return warnings + unused_format_warnings(asked.precision, model.architecture)


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


def _check_mtp(asked: PlanRequest, model: ResolvedModel) -> None:
    has = model.architecture.mtp_layers
    if asked.mtp_layers_loaded > has:
        found = Collector()
        detail = _("The model has %(n)s multi-token prediction layers.") % {"n": has}
        found.add(("mtp_layers_loaded",), "out_of_range", detail)
        found.raise_if_any()


def resolve_speculative(given: Speculative | None, assumptions: list[str]) -> Speculative | None:
    """Speculation with the cost of its draft, 0 where none is stated, which is added to the assumptions.

    Raises:
        ResolutionError: a cost and a model that has one.
    """
    if given is None:
        return None
    if given.draft_cost_ratio is not None and given.draft_model is not None:
        found = Collector()
        detail = _("Give draft_cost_ratio or draft_model, not both.")
        found.add(("speculative", "draft_model"), "ambiguous", detail)
        found.raise_if_any()
    if given.draft_cost_ratio is None and given.draft_model is None:
        assumptions.append(_("Cost of the draft not given: 0."))
        return given.model_copy(update={"draft_cost_ratio": 0.0})
    return given


def resolve_draft(speculative: Speculative | None, facts: Facts) -> ResolvedModel | None:
    """The model that drafts, None where none does."""
    if speculative is None or speculative.draft_model is None:
        return None
    return resolve_model(speculative.draft_model, facts, ("speculative", "draft_model"))
