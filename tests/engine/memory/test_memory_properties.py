"""What holds for memory whatever the model, the lengths and the GPU."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.engine.memory.fit import memory_fit
from estimator.engine.memory.kv_allocation import UNLIMITED_TOKENS, KvAllocation
from estimator.engine.memory.ledger import rank_memory
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.model.spec import Architecture
from estimator.engine.reading.inline import architecture_from_shape
from estimator.engine.specs import Precision
from tests.engine.memory.plans import model, plan, policies
from tests.engine.reading.test_exact_answers import MODELS

dense = st.builds(
    lambda layers, kv, group, width: architecture_from_shape(
        layers=layers, heads=kv * group, kv_heads=kv, head_dim=width, hidden_size=kv * group * width,
        intermediate_size=1024, vocab_size=32_000,
    ),
    st.integers(1, 60), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 8]), st.sampled_from([64, 80, 128]),
)  # fmt: skip


@given(dense, st.sampled_from([("bf16", 2.0), ("fp8", 1.0), ("int4", 0.5)]), st.integers(1, 200_000))
@settings(max_examples=60, deadline=None)
def test_cache_of_any_dense_model_is_2_layers_heads_width_bytes(
    built: Architecture, kv: tuple[str, float], tokens: int
) -> None:  # M16
    start = MemoryPlan(
        architecture=built, memory_bytes=10**12, policy=policies()["ideal"], precision=Precision(kv_cache=kv[0])
    )
    attention = built.layer_groups[0].attention
    assert attention is not None
    layers = built.layer_groups[0].layers
    expected = 2 * layers * attention.kv_heads * attention.head_dim_qk * kv[1] * tokens
    assert rank_memory(start).allocation.sequence_bytes(tokens) == expected


def _rounding_of_states(start: MemoryPlan) -> float:
    """Beside states a block is a multiple of 64 tokens that holds one: up to 64 tokens too long, in any format."""
    if all(group.state is None for group in start.architecture.layer_groups):
        return 1.0
    return 1.0 + 64 / rank_memory(start).allocation.main_block_tokens


@given(st.sampled_from(sorted(MODELS)), st.integers(1, 100_000), st.integers(1, 100_000), st.integers(1, 64))
@settings(max_examples=60, deadline=None)
def test_longer_more_and_wider_never_need_less(slug: str, short: int, more: int, sequences: int) -> None:
    start = plan(slug, 180.0, "vllm-0.19", 0.9)
    one = memory_fit(start, sequences=sequences, context_tokens=short)
    longer = memory_fit(start, sequences=sequences, context_tokens=short + more)
    several = memory_fit(start, sequences=sequences + 1, context_tokens=short)
    narrow = memory_fit(replace(start, precision=Precision(kv_cache="fp8")), sequences=sequences, context_tokens=short)
    assert longer.needed_bytes >= one.needed_bytes
    assert several.needed_bytes >= one.needed_bytes
    assert narrow.needed_bytes <= one.needed_bytes * _rounding_of_states(start)
    assert longer.max_sequences <= one.max_sequences


@given(
    st.sampled_from(sorted(MODELS)), st.sampled_from([24.0, 80.0, 141.0]), st.integers(1, 50_000), st.integers(1, 64)
)
@settings(max_examples=60, deadline=None)
def test_more_memory_never_turns_fits_into_does_not_fit(slug: str, gib: float, tokens: int, sequences: int) -> None:
    # with the engine's limits given: a larger GPU has larger defaults, and pays for them
    limits = {"max_num_seqs": 256, "max_batched_tokens": 4096}
    small = memory_fit(plan(slug, gib, "vllm-0.19", 0.9, overrides=limits), sequences=sequences, context_tokens=tokens)
    large = memory_fit(
        plan(slug, gib * 1.3, "vllm-0.19", 0.9, overrides=limits), sequences=sequences, context_tokens=tokens
    )
    assert large.feasible or not small.feasible
    assert large.max_sequences >= small.max_sequences


@given(st.sampled_from(["llama-3.1-8b-instruct", "mixtral-8x7b-v0.1", "llama-3.3-70b-instruct", "gpt-oss-120b"]))
@settings(max_examples=10, deadline=None)
def test_splitting_over_tensor_ranks_conserves_weights_and_cache(slug: str) -> None:
    whole = rank_memory(plan(slug, 500.0, "vllm-0.19", 0.9))
    replicated = sum(
        group.parameters.router + group.parameters.norms for group in model(slug).layer_groups
    )  # whole on every rank
    for tp in (2, 4, 8):
        part = rank_memory(plan(slug, 500.0, "vllm-0.19", 0.9, tp=tp))
        assert part.allocation.sequence_bytes(4096) * tp == pytest.approx(whole.allocation.sequence_bytes(4096))
        extra = part.weights_bytes * tp - whole.weights_bytes
        assert 0 <= extra <= tp * 2 * (replicated * 100 + 10_000_000)


@given(st.integers(1, 64), st.integers(100, 30_000), st.sampled_from(sorted(MODELS)))
@settings(max_examples=60, deadline=None)
def test_the_longest_context_fits_and_one_block_more_does_not(sequences: int, tokens: int, slug: str) -> None:
    start = plan(slug, 180.0, "vllm-0.19", 0.9)
    answer = memory_fit(start, sequences=sequences, context_tokens=tokens)
    longest = answer.max_context_tokens
    if answer.rank.kv_budget_bytes <= 0 or not 0 < longest < 1 << 39:
        return
    allocation, budget = answer.rank.allocation, answer.capacity_bytes
    assert allocation.load_bytes(sequences, longest) <= budget * (1 + 1e-9)
    assert allocation.load_bytes(sequences, longest + allocation.main_block_tokens) > budget * (1 - 1e-9)
    assert math.isfinite(answer.bytes_per_sequence)


@st.composite
def allocations(draw):
    kinds = draw(
        st.lists(
            st.tuples(
                st.floats(1, 1e6), st.sampled_from([1.0, 8.0, 16.0, 64.0, 256.0, 400.0, 1056.0]),
                st.one_of(st.just(math.inf), st.integers(1, 300).map(float)), st.integers(0, 600).map(float),
            ),
            min_size=1, max_size=4,
        )
    )  # fmt: skip
    kinds.sort(key=lambda kind: (kind[2] != math.inf, kind[2] * kind[1]))
    size, block, resident, chunk = zip(*kinds, strict=True)
    return KvAllocation(
        block_bytes=size,
        block_tokens=block,
        resident_blocks=resident,
        chunk_blocks=tuple(0.0 if kept == math.inf else more for kept, more in zip(resident, chunk, strict=True)),
        fixed_bytes=draw(st.sampled_from([0.0, 1e4, 1e8])),
        unit_bytes=draw(st.sampled_from([0.0, 4096.0])),
        pooled=draw(st.sampled_from([0.0, 1.0])),
    )


@given(allocations(), st.floats(1, 1e12), st.sampled_from([1, 2, 7, 300]))
@settings(max_examples=300, deadline=None)
def test_the_longest_length_fits_and_a_token_more_does_not(allocation, budget, sequences):
    longest = allocation.longest_tokens(budget, sequences)
    room = allocation.usable(budget) * (1 + 1e-9)
    assert longest == 0 or allocation.load_bytes(sequences, longest) <= room
    if longest < UNLIMITED_TOKENS:
        assert allocation.load_bytes(sequences, longest + 1) > allocation.usable(budget) * (1 - 1e-9)
