"""Checks formats against the GPU: what its tensor cores take, what runs weight-only, what is refused."""

from django.utils.translation import gettext as _

from estimator.engine.architecture.spec import Architecture
from estimator.engine.memory.weights import same_family
from estimator.engine.specs import EngineProfile, Precision
from estimator.resolvers.collect import Collector
from estimator.resolvers.plan import ResolvedGpu

_PATH = ("precision",)
# Formats whose products some tensor cores take natively, with the names a GPU may list their peak under.
TENSOR_FORMATS: dict[str, tuple[str, ...]] = {
    "fp8": ("fp8",),
    "int8": ("int8",),
    "nvfp4": ("nvfp4", "fp4"),
    "mxfp4": ("mxfp4", "fp4"),
}
_SIXTEEN_BIT = ("bf16", "fp16")
_WEIGHT_FIELDS = ("weights", "attention_weights", "expert_weights")


def check_precision(precision: Precision, gpu: ResolvedGpu) -> list[str]:
    """Warnings about formats that run weight-only or in another 16-bit format.

    Raises:
        ResolutionError: activations asked for in a format that the GPU's tensor cores lack (`not_supported`).
    """
    found = Collector()
    activations = precision.activations
    if activations in TENSOR_FORMATS and not _has(gpu, activations):
        detail = _("%(gpu)s has no tensor cores for %(format)s; its formats are %(known)s.") % {
            "gpu": gpu.name,
            "format": activations,
            "known": ", ".join(sorted(gpu.spec.peak_flops_per_s)),
        }
        found.add((*_PATH, "activations"), "not_supported", detail)
    found.raise_if_any()
    return [*_weight_only(precision, gpu), *_other_sixteen_bit(precision, gpu)]


def check_cache_format(precision: Precision, engine: EngineProfile) -> None:
    """Checks that the engine can store its cache in the format asked for.

    Raises:
        ResolutionError: it cannot (`not_supported`), with the formats it has.
    """
    known = engine.memory.cache_formats if engine.memory is not None else ()
    if not known or precision.kv_cache in known:
        return
    found = Collector()
    detail = _("%(engine)s has no KV cache in %(format)s; it has %(known)s.") % {
        "engine": engine.slug,
        "format": precision.kv_cache,
        "known": ", ".join(known),
    }
    found.add((*_PATH, "kv_cache"), "not_supported", detail)
    found.raise_if_any()


def stored_format_warnings(precision: Precision, architecture: Architecture) -> list[str]:
    """Warnings where weights or cache are counted in another format than the model's own files ask for."""
    stored = architecture.quantization
    if stored is None:
        return []
    found = []
    asked = dict.fromkeys(getattr(precision, name) for name in _WEIGHT_FIELDS)
    if not any(one and same_family(one, stored.weight_format) for one in asked):
        found.append(
            _("The model's own files are %(stored)s; weights are counted as %(asked)s: see precision.weights.")
            % {"stored": stored.weight_format, "asked": precision.weights}
        )
    if stored.kv_cache_format not in (None, precision.kv_cache):
        found.append(
            _("The model's config asks for a %(asked)s cache; %(used)s is counted: see precision.kv_cache.")
            % {"asked": stored.kv_cache_format, "used": precision.kv_cache}
        )
    return found


def dtypes_used(precision: Precision) -> frozenset[str]:
    """Names of the peaks that the formats of a plan may use, for provenance."""
    formats = {precision.weights, precision.attention_weights, precision.expert_weights, precision.activations}
    named = {name for one in formats if one for name in TENSOR_FORMATS.get(one, ())}
    return frozenset(named | set(_SIXTEEN_BIT))


def _has(gpu: ResolvedGpu, name: str) -> bool:
    return any(gpu.spec.peak_flops_per_s.get(peak) for peak in TENSOR_FORMATS[name])


def _weight_only(precision: Precision, gpu: ResolvedGpu) -> list[str]:
    formats = dict.fromkeys(getattr(precision, name) for name in _WEIGHT_FIELDS)
    return [
        _("%(gpu)s has no tensor cores for %(format)s: weights are stored so and unpacked to 16 bits for the products.")
        % {"gpu": gpu.name, "format": name}
        for name in formats
        if name in TENSOR_FORMATS and not _has(gpu, name)
    ]


def _other_sixteen_bit(precision: Precision, gpu: ResolvedGpu) -> list[str]:
    peaks = gpu.spec.peak_flops_per_s
    if precision.weights == "bf16" and not peaks.get("bf16") and peaks.get("fp16"):
        return [_("%(gpu)s has no bf16 tensor cores: products run in fp16.") % {"gpu": gpu.name}]
    return []
