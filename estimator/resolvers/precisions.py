"""Checks formats against the GPU: what its tensor cores take, what runs weight-only, what is refused."""

from django.utils.translation import gettext as _

from estimator.engine.formats.gguf_mixes import GGUF_MIXES
from estimator.engine.memory.weight_parts import own_weight_format, same_family
from estimator.engine.model.spec import Architecture
from estimator.engine.options import MemoryOverrides
from estimator.engine.specs import EngineProfile, Precision
from estimator.question import plan as question
from estimator.resolvers.collect import Collector
from estimator.resolvers.plan import ResolvedGpu, ResolvedModel

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


def resolve_precision(asked: question.Precision, architecture: Architecture) -> Precision:
    """The formats of a plan: as asked; weights left out are those of the model's own files, else bf16.

    A model known by its config alone has files of its own only if the config states their quantisation.
    """
    weights = asked.weights or own_weight_format(architecture) or Precision().weights
    kv_cache = asked.kv_cache or Precision().kv_cache
    return Precision(**(dict(asked) | {"weights": weights, "kv_cache": kv_cache}))


def kv_settings_assumed(asked: question.Precision, memory: MemoryOverrides) -> bool:
    """Whether the format of the cache or the engine's share of memory is a default that nobody stated."""
    return asked.kv_cache is None or memory.utilization is None


def precision_assumptions(asked: question.Precision, precision: Precision, architecture: Architecture) -> list[str]:
    """What to say about weights left to the model's own files, and about file types of a model without matrices."""
    if precision.weights in GGUF_MIXES and not any(group.matrices for group in architecture.layer_groups):
        text = _("The model is known by its totals: %(format)s is counted at the average bits of an 8B model's file.")
        return [text % {"format": precision.weights}]
    if asked.weights is not None:
        return []
    if architecture.native_dtype == "fp32" and own_weight_format(architecture) is None:
        return [_("The model's own files are fp32; engines load them in 16 bits: weights are counted as bf16.")]
    if precision.weights == Precision().weights:
        return []
    stored = architecture.quantization
    if stored is not None and stored.basis == "name":
        text = _(
            "Weights are counted in %(stored)s because the model's name says %(named)s and its config states no "
            "quantisation (basis: name): precision.weights, or hf_quant_config in the config, says otherwise."
        )
        return [text % {"stored": precision.weights, "named": stored.method}]
    text = _("Weights are counted as the model's own files store them, %(stored)s: precision.weights says otherwise.")
    return [text % {"stored": precision.weights}]


def check_precision(precision: Precision, gpu: ResolvedGpu) -> list[str]:
    """Warnings about formats that run weight-only or in another 16-bit format.

    Raises:
        ResolutionError: activations asked for in a format that the GPU's tensor cores lack (`not_supported`).
    """
    check_activations(precision.activations, gpu)
    return [*_weight_only(precision, gpu), *_other_sixteen_bit(precision, gpu)]


def check_activations(activations: str | None, gpu: ResolvedGpu) -> None:
    """Checks that the GPU's tensor cores take the format that products are to run in.

    Raises:
        ResolutionError: they lack it (`not_supported`).
    """
    found = Collector()
    if activations in TENSOR_FORMATS and not _has(gpu, activations):
        detail = _("%(gpu)s has no tensor cores for %(format)s; its formats are %(known)s.") % {
            "gpu": gpu.name,
            "format": activations,
            "known": ", ".join(sorted(gpu.spec.peak_flops_per_s)),
        }
        found.add((*_PATH, "activations"), "not_supported", detail)
    found.raise_if_any()


def check_cache_format(kv_cache: str, engine: EngineProfile) -> None:
    """Checks that the engine can store its cache in the format asked for.

    Raises:
        ResolutionError: it cannot (`not_supported`), with the formats it has.
    """
    known = engine.memory.cache_formats
    if not known or kv_cache in known:
        return
    found = Collector()
    detail = _("%(engine)s has no KV cache in %(format)s; it has %(known)s.") % {
        "engine": engine.slug,
        "format": kv_cache,
        "known": ", ".join(known),
    }
    found.add((*_PATH, "kv_cache"), "not_supported", detail)
    found.raise_if_any()


def stored_format_warnings(precision: Precision, model: ResolvedModel) -> list[str]:
    """Warnings where weights or cache are counted in another format than the model's own files ask for.

    Some publishers keep the quantisation outside config.json (hf_quant_config.json): then the name alone tells of it.
    """
    stored = model.architecture.quantization
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
