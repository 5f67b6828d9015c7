"""One key for worked examples: a dense model of the shape of Llama-3.1-8B in 16 bits on one H100, by a plain engine.

The examples of docstrings and of docs/model.md stand on it; no estimate does.
"""

from estimator.engine.forward_pass.folding import fold
from estimator.engine.forward_pass.kernels import weight_format
from estimator.engine.forward_pass.operators import Folded
from estimator.engine.forward_pass.roofline import Floor, ceiling_floor
from estimator.engine.forward_pass.traffic import ExpertGroup, RankLayout, rank_layout
from estimator.engine.model.spec import Architecture
from estimator.engine.reading.inline import architecture_from_shape
from estimator.engine.specs import Gpu, LlamaCppConstants, Parallelism, Precision, ServingConstants

H100 = Gpu(
    slug="h100",
    memory_bytes=85_000_000_000,
    memory_bandwidth_bytes_per_s=3.35e12,
    peak_flops_per_s={"bf16": 989e12, "fp8": 1979e12},
    kernel_family="hopper",
    link="nvlink4",
)


def model() -> Architecture:
    """32 layers of width 4,096, 32 query and 8 KV heads of 128, MLP 14,336, 128,256 words: 8.03 billion parameters."""
    return architecture_from_shape(
        layers=32, heads=32, kv_heads=8, hidden_size=4096, intermediate_size=14336, vocab_size=128256
    )


def layout() -> RankLayout:
    """What the one GPU holds and computes."""
    return rank_layout(model(), H100, Precision(), Parallelism())


def floor() -> Floor:
    """Its roofline."""
    return ceiling_floor(layout(), H100)


def folded() -> Folded:
    """Its constants folded to seconds, by a serving engine that states nothing of its own."""
    return fold(layout(), H100, ServingConstants(), max_batched_tokens=8192)[0]


def llama_cpp_constants() -> LlamaCppConstants:
    """Constants of llama.cpp as shipped."""
    return LlamaCppConstants()


def experts() -> ExpertGroup:
    """One layer of 128 experts of 2,048 columns, 8 a token, in 8 bits, all on the one GPU."""
    weights = 3 * 4096 * 2048
    return ExpertGroup(
        layers=1,
        experts=128,
        per_token=8,
        local_experts=128.0,
        share=1.0,
        weights=float(weights),
        weights_per_token=8.0 * weights,
        width=2048.0,
        format=weight_format("fp8", H100, experts=True),
    )
