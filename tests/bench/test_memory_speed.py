"""CPU of reading a config and of one memory-fit estimate in process, against a fixed yardstick in the same run."""

import pytest

from estimator.engine.memory.suggestions import GpuChoice
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.options import MemoryOverrides
from estimator.engine.reading.reader import read_config
from estimator.engine.specs import Gpu, Parallelism, Precision
from estimator.estimates.memory_fit.compute import estimate_memory
from estimator.question.workload import ResolvedWorkload
from estimator.resolvers.plan import Plan, ResolvedGpu, ResolvedModel
from estimator.validation import shipped
from tests.bench.cpu_time import least_cpu_s, yardstick
from tests.engine.reading.test_exact_answers import MODELS

pytestmark = [pytest.mark.bench, pytest.mark.long]
GIB = 2**30
READ, FIT = 3.1, 5.0  # yardsticks; about a third above what was measured on 2026-11-30


def plan(slug: str, gib: float) -> Plan:
    architecture = shipped.architecture(slug)
    gpu = Gpu(
        slug="bench", memory_bytes=int(gib * GIB), memory_bandwidth_bytes_per_s=3.35e12,
        peak_flops_per_s={"bf16": 989e12}, kernel_family="hopper",
    )  # fmt: skip
    return Plan(
        model=ResolvedModel(
            slug=slug,
            name=slug,
            architecture=architecture,
            parameters=parameter_totals(architecture),
            context_window_tokens=architecture.max_context_tokens,
        ),
        gpu=ResolvedGpu(slug="bench", name="bench", spec=gpu, memory_basis="given", facts={}),
        engine=shipped.profile("vllm-0.19"),
        parallelism=Parallelism(),
        precision=Precision(),
        memory=MemoryOverrides(),
        workload=ResolvedWorkload(input_tokens=7168, output_tokens=1024, concurrency=32),
    )


@pytest.mark.parametrize(
    "slug", ["llama-3.1-8b-instruct", "qwen3-32b", "mixtral-8x7b-v0.1", "gpt-oss-120b", "deepseek-v3"]
)
def test_reading_a_plain_config(slug: str) -> None:
    config = MODELS[slug]["config"]
    read_s, fixed_s = least_cpu_s(lambda: read_config(config), yardstick)
    print(f"\nread {slug}: {read_s * 1e6:.0f} µs, {read_s / fixed_s:.2f} yardsticks")  # noqa: T201
    assert read_s <= READ * fixed_s


@pytest.mark.parametrize(
    ("slug", "gib"),
    [("llama-3.1-8b-instruct", 79.19), ("llama-3.1-8b-instruct", 22.0), ("qwen3-32b", 79.19), ("gemma-3-27b-it", 40.0)],
)
def test_one_memory_fit_with_suggestions(slug: str, gib: float) -> None:
    asked = plan(slug, gib)
    gpus = [GpuChoice(slug=f"gpu{index}", memory_bytes=(16 + 4 * index) * GIB) for index in range(60)]
    fit_s, fixed_s = least_cpu_s(lambda: estimate_memory(asked, gpus=gpus), yardstick)
    print(f"\nmemory-fit {slug} on {gib:g} GiB: {fit_s * 1e6:.0f} µs, {fit_s / fixed_s:.2f} yardsticks")  # noqa: T201
    assert fit_s <= FIT * fixed_s
