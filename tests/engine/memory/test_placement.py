"""Where engines put a model: embeddings in host memory, the head as a layer of the split, n-grams over ranks."""

from dataclasses import replace

import pytest

from estimator.engine.memory.weight_parts import fold
from estimator.engine.memory.weights import Placement, rank_weights, stage_layers
from estimator.engine.specs import Parallelism, Precision
from tests.engine.memory.plans import model, policies
from tests.engine.shapes import LLAMA_8B

ON_HOST = Placement(host_embedding=True)


def test_the_input_embedding_in_host_memory_leaves_its_bytes_out():
    folded, bf16 = fold(model("llama-3-8b")), Precision(weights="bf16")
    whole = rank_weights(folded, bf16, Parallelism()).total_bytes
    assert whole - rank_weights(folded, bf16, Parallelism(), placement=ON_HOST).total_bytes == 128_256 * 4096 * 2


def test_a_tied_head_stays_on_the_gpu():
    folded, bf16 = fold(model("llama-3.2-1b")), Precision(weights="bf16")
    whole = rank_weights(folded, bf16, Parallelism()).total_bytes
    assert rank_weights(folded, bf16, Parallelism(), placement=ON_HOST).total_bytes == whole


def test_a_file_gives_up_its_token_table_in_the_type_it_is_stored_in():
    folded, q4 = fold(model("llama-3-8b")), Precision(weights="q4_k_m")
    whole = rank_weights(folded, q4, Parallelism()).total_bytes
    assert whole - rank_weights(folded, q4, Parallelism(), placement=ON_HOST).total_bytes == 128_256 * 4096 * 4.5 / 8


def test_a_model_known_by_its_totals_has_no_embedding_to_give_up():
    folded, q4 = fold(LLAMA_8B), Precision(weights="q4_k_m")
    placed = rank_weights(folded, q4, Parallelism(), placement=ON_HOST).total_bytes
    assert placed == rank_weights(folded, q4, Parallelism()).total_bytes == pytest.approx(8_030_000_000 * 4.89 / 8)


def test_eighty_layers_and_a_head_over_six_cards():
    folded = fold(model("llama-3-70b"))
    sizes = [sum(stage_layers(folded, 6, stage, head_is_layer=True)) for stage in range(6)]
    assert sizes == [14, 13, 14, 13, 14, 12]
    assert sum(sum(stage_layers(folded, 6, stage)) for stage in range(6)) == 80


def test_only_llama_cpp_places_so():
    placed = {slug for slug, policy in policies().items() if policy.input_embedding_on_host}
    assert (
        placed
        == {slug for slug, policy in policies().items() if policy.head_counts_as_layer}
        == {"llama.cpp", "llama.cpp-b2800"}
    )


def test_tables_of_ngrams_are_spread_over_ranks_and_other_tables_are_not():
    whole, bf16 = model("llama-3-8b"), Precision(weights="bf16")
    per_rank = {
        spread: rank_weights(
            fold(replace(whole, lookup_parameters=8_000_000, split_lookup_parameters=spread)), bf16, Parallelism(tp=4)
        ).total_bytes
        - rank_weights(fold(whole), bf16, Parallelism(tp=4)).total_bytes
        for spread in (0, 6_000_000, 8_000_000)
    }
    assert per_rank == {0: 16_000_000, 6_000_000: 4_000_000 + 3_000_000, 8_000_000: 4_000_000}
