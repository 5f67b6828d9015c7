"""CPU of reading a config and of one memory-fit estimate in process, best of 5, and against a fixed yardstick.

Run by `make bench`; too dependent on the machine for CI, where the ratio to the yardstick would say more.
"""

from collections.abc import Callable

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
from tests.engine.reading.test_exact_answers import MODELS
from tests.timing import least_cpu_s

pytestmark = [pytest.mark.bench, pytest.mark.long]
GIB = 2**30
READ_US, FIT_US = 350.0, 400.0


def best_us(work: Callable[[], object], *, loops: int = 200, rounds: int = 5) -> float:
    """Microseconds of CPU of one call, best of `rounds`."""
    return least_cpu_s(work, times=rounds, loops=loops) * 1e6


def yardstick() -> int:
    """A fixed amount of pure Python: sums and dict look-ups."""
    table = {index: index * 3 for index in range(200)}
    return sum(table[index % 200] + index for index in range(2000))


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
    read = best_us(lambda: read_config(config))
    print(f"\nread {slug}: {read:.0f} µs, {read / best_us(yardstick):.2f} yardsticks")  # noqa: T201
    assert read <= READ_US


@pytest.mark.parametrize(
    ("slug", "gib"),
    [("llama-3.1-8b-instruct", 79.19), ("llama-3.1-8b-instruct", 22.0), ("qwen3-32b", 79.19), ("gemma-3-27b-it", 40.0)],
)
def test_one_memory_fit_with_suggestions(slug: str, gib: float) -> None:
    asked = plan(slug, gib)
    gpus = [GpuChoice(slug=f"gpu{index}", memory_bytes=(16 + 4 * index) * GIB) for index in range(60)]
    spent = best_us(lambda: estimate_memory(asked, gpus=gpus), loops=100)
    print(f"\nmemory-fit {slug} on {gib:g} GiB: {spent:.0f} µs, {spent / best_us(yardstick):.2f} yardsticks")  # noqa: T201
    assert spent <= FIT_US
