"""What the lists of a form offer: models, GPUs, engines, formats and use cases of the catalog, read once a revision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog.models import EngineProfile, Gpu, LanguageModel, Preset
from estimator.resolvers.facts import Facts

WEIGHTS = (
    ("bf16", "BF16"), ("fp8", "FP8"), ("int8", "INT8"), ("int4", "INT4"), ("nvfp4", "NVFP4"), ("mxfp4", "MXFP4"),
    ("q8_0", "Q8_0 (GGUF)"), ("q6_k", "Q6_K (GGUF)"), ("q4_k_m", "Q4_K_M (GGUF)"),
)  # fmt: skip
CACHES = (("bf16", "BF16"), ("fp8", "FP8"), ("q8_0", "Q8_0 (llama.cpp)"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Lists of a form; groups of (value, words)."""

    models: tuple[str, ...]
    gpus: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    engines: tuple[tuple[str, str], ...]
    presets: tuple[Mapping[str, object], ...]


def choices(facts: Facts) -> Choices:
    """The lists as the catalog is at the revision of the facts."""
    return facts.derived(("choices of pages",), _read)


def _read() -> Choices:
    models = tuple(LanguageModel.objects.order_by("name").values_list("name", flat=True))
    by_vendor: dict[str, list[tuple[str, str]]] = {}
    for gpu in Gpu.objects.filter(devices_per_unit=1, memory_visible_bytes__isnull=False).order_by("vendor", "name"):
        by_vendor.setdefault(gpu.vendor, []).append((gpu.slug, gpu.name))
    # The maker that most people rent from comes first.
    vendors = sorted(by_vendor, key=lambda name: (-len(by_vendor[name]), name))
    engines = [(row.slug, row.name) for row in EngineProfile.objects.filter(kind__in=("serving", "llama_cpp"))]
    presets = Preset.objects.order_by("name").values(
        "name", "input_tokens", "output_tokens", "concurrency", "slo_ttft_s", "slo_tpot_s"
    )
    return Choices(
        models=models,
        gpus=tuple((name, tuple(by_vendor[name])) for name in vendors),
        engines=tuple(sorted(engines, key=_newest_first)),
        presets=tuple(presets),
    )


def _newest_first(engine: tuple[str, str]) -> tuple[str, Sequence[int]]:
    name, _dash, version = engine[0].rpartition("-")
    numbers = [-int(part) for part in version.split(".") if part.isdigit()]
    return (name or engine[0], numbers or [0])
