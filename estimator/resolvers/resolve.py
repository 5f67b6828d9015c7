"""Puts a plan together from what was chosen and the facts; the checks across parts are made here."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

from django.utils.translation import gettext as _

from estimator.constants.engine_settings import Value
from estimator.engine.formats.quantisation_config import NOTE_OF_NAME
from estimator.engine.options import Lora, MemoryOverrides
from estimator.engine.recent import Recent
from estimator.engine.specs import EngineProfile, Parallelism, Precision
from estimator.question import plan as question
from estimator.question.plan import PlanRequest
from estimator.question.workload import Speculative
from estimator.resolvers.calibrations import matching
from estimator.resolvers.collect import Collector
from estimator.resolvers.engine_settings import check_settings, memory_with
from estimator.resolvers.engines import engine_provenance, resolve_engine
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpus import gpu_provenance, resolve_gpu
from estimator.resolvers.models import model_provenance, resolve_model
from estimator.resolvers.parallel import check_parallelism, scale_up_warning
from estimator.resolvers.plan import Calibration, Plan, Provenance, ResolvedGpu, ResolvedModel
from estimator.resolvers.precisions import (
    check_cache_format,
    check_precision,
    dtypes_used,
    kv_settings_assumed,
    precision_assumptions,
    resolve_precision,
    stored_format_warnings,
)
from estimator.resolvers.workloads import resolve_workload

IDEAL = "ideal"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """A plan without its load: its parts by name, what is said before and after the load, and what is kept beside."""

    parts: dict[str, Any]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    last_warnings: tuple[str, ...]
    kept: Recent


def resolve_plan(asked: PlanRequest, facts: Facts) -> Plan:
    """The plan of a question. Of catalog rows the settings asked for last are kept: questions differ mostly in load.

    Raises:
        ResolutionError: every part that is unknown or does not go with another.
        EngineError: a model given inline that cannot be read, or a figure that is not known (422).
    """
    found = Collector()
    setting = workload = None
    with found.part():
        key = _key_of(asked)
        setting = (
            _resolve_setting(asked, facts)
            if key is None
            else facts.recent(key, partial(_resolve_setting, asked, facts))
        )
    assumptions: list[str] = list(setting.assumptions) if setting else []
    warnings: list[str] = list(setting.warnings) if setting else []
    if asked.workload is not None:
        window = setting.parts["model"].context_window_tokens if setting else None
        with found.part():
            workload = resolve_workload(
                asked.workload, context_window_tokens=window, assumptions=assumptions, warnings=warnings
            )
    found.raise_if_any()
    if setting is None:
        raise AssertionError("a setting without a result has told why")
    plan = Plan(
        **setting.parts,
        workload=workload,
        slo=asked.slo,
        power=asked.power,
        assumptions=tuple(assumptions),
        warnings=(*warnings, *setting.last_warnings),
    )
    kept, calibration = setting.kept, _calibration_of(plan, facts)
    if calibration is not None:
        plan = replace(plan, calibration=calibration, assumptions=(*assumptions, calibrated_text(calibration)))
        kept = kept.of(("calibrated", calibration.id, calibration.metrics), Recent)
    object.__setattr__(plan, "kept", kept)
    return plan


def _calibration_of(plan: Plan, facts: Facts) -> Calibration | None:
    """The calibration of a plan's setting; none for what no run of one was made with.

    That is speculation (whose own figures stand beside those without), adapters, a cap on power, prompts in a cache.
    """
    apart = (plan.speculative, plan.lora, plan.power_cap_w)
    if not facts.calibrations or any(one is not None for one in apart):
        return None
    if plan.workload is not None and plan.workload.prefix_cache_hit_rate:
        return None
    return matching(facts.calibrations, plan)


def calibrated_text(calibration: Calibration) -> str:
    """What an answer says of the calibration that it uses."""
    return _("Speed of closed loops and single streams is calibrated by “%(name)s” (%(id)s): %(said)s.") % {
        "name": calibration.name, "id": calibration.id, "said": calibration.said,
    }  # fmt: skip


_precision_parts = attrgetter(*question.Precision.model_fields)
_parallel_parts = attrgetter(*question.Parallelism.model_fields)
_memory_parts = attrgetter(*question.Memory.model_fields)


def _key_of(asked: PlanRequest) -> Hashable | None:
    """All of a question that its setting depends on; None where it brings rows of its own."""
    if not isinstance(asked.model, str) or not isinstance(asked.gpu, str):
        return None
    return (
        "setting", asked.model, asked.gpu, asked.engine, _parallel_parts(asked.parallelism),
        _precision_parts(asked.precision), _memory_parts(asked.memory), asked.speculative, asked.lora,
        asked.mtp_layers_loaded, asked.power_cap_w, asked.launch, _settings_parts(asked.engine_settings),
    )  # fmt: skip


def _settings_parts(settings: Mapping[str, Value]) -> tuple[tuple[str, str], ...]:
    """Settings as a key; true is another value than 1."""
    return tuple(sorted((name, repr(value)) for name, value in settings.items()))


def _resolve_setting(asked: PlanRequest, facts: Facts) -> _Setting:
    """Everything of a question but its load, targets and power.

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
) -> _Setting:
    precision = resolve_precision(asked.precision, model.architecture)
    parallelism = Parallelism(**dict(asked.parallelism))
    assumptions: list[str] = precision_assumptions(asked.precision, precision, model.architecture)
    # Whoever states the format needs no word on what the name says of it.
    stated = asked.precision.weights is not None
    warnings = [text for text in model.architecture.warnings if not (stated and text.startswith(NOTE_OF_NAME))]
    speculative = None
    with found.part():
        check_parallelism(parallelism, model.architecture)
    warnings += _format_warnings(precision, found, model, engine, gpu)
    memory, settings = MemoryOverrides(**dict(asked.memory)), dict(asked.engine_settings)
    with found.part():
        check_settings(settings, engine)
        memory = memory_with(memory, settings, engine)
    with found.part():
        _check_mtp(asked, model)
    with found.part():
        speculative = resolve_speculative(asked.speculative, assumptions)
    found.raise_if_any()
    spans = scale_up_warning(parallelism, gpu)
    parts = {
        "model": model,
        "gpu": gpu,
        "engine": engine,
        "parallelism": parallelism,
        "precision": precision,
        "memory": memory,
        "engine_settings": settings,
        "tuned": asked.launch == "tuned",
        "speculative": speculative,
        "draft_model": resolve_draft(speculative, facts),
        "lora": Lora(**dict(asked.lora)) if asked.lora else None,
        "mtp_layers_loaded": asked.mtp_layers_loaded,
        "power_cap_w": asked.power_cap_w,
        "kv_settings_assumed": kv_settings_assumed(asked.precision, memory),
        "catalog_revision": facts.catalog_revision,
        "provenance": _provenance(precision, facts, model, engine, gpu),
    }
    return _Setting(
        parts=parts,
        assumptions=tuple(assumptions),
        warnings=tuple(warnings),
        last_warnings=(spans,) if spans else (),
        kept=Recent(),
    )


def _format_warnings(
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
    return warnings


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
