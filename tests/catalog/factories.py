"""Makers of catalog rows for tests."""

from typing import Any

import factory

from catalog.models import EngineProfile, Gpu, LanguageModel, Preset


class GpuFactory(factory.django.DjangoModelFactory[Gpu]):
    class Meta:
        model = Gpu

    slug = factory.Sequence(lambda n: f"gpu-{n}")
    name = factory.LazyAttribute(lambda gpu: gpu.slug.upper())
    vendor = "NVIDIA"
    architecture = "Hopper"
    compute_capability = "9.0"
    memory_vendor_bytes = 80 * 10**9
    memory_driver_bytes = 81559 * 2**20
    memory_visible_bytes = 85_029_615_043
    memory_bandwidth_bytes_per_s = 3.35e12
    peak_bf16_flops_per_s = 989.4e12
    confidence = "high"
    sources: dict[str, Any] = {"*": {"source": "made for a test"}}


class LanguageModelFactory(factory.django.DjangoModelFactory[LanguageModel]):
    class Meta:
        model = LanguageModel

    slug = factory.Sequence(lambda n: f"model-{n}")
    name = factory.LazyAttribute(lambda model: model.slug)
    family = "llama"
    architecture: dict[str, Any] = {"family": "llama"}
    total_parameters = 8_030_261_248
    active_parameters = 8_030_261_248
    context_window_tokens = 131072
    source = "made for a test"


class EngineProfileFactory(factory.django.DjangoModelFactory[EngineProfile]):
    class Meta:
        model = EngineProfile

    slug = factory.Sequence(lambda n: f"engine-{n}")
    name = factory.LazyAttribute(lambda profile: profile.slug)
    engine = "vllm"
    kind = "serving"
    evidence = "made for a test"


class PresetFactory(factory.django.DjangoModelFactory[Preset]):
    class Meta:
        model = Preset

    slug = factory.Sequence(lambda n: f"preset-{n}")
    name = factory.LazyAttribute(lambda preset: preset.slug)
    input_tokens = 1000
    output_tokens = 200
