"""The calibrated engine on the twelve worked configurations of the reference.

Passes are held to the founders' figures to 0.1 %: weights, cache, one decode step, one prompt under their launch floor,
the offline maximum. What a closed loop makes of them (launches, waves, waits) are the figures of golden.json, written
once by the equations of docs/model.md (`python -m tests.engine.speed.make_golden`); the step simulation holds them.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from estimator.constants import kernels
from estimator.engine.forward_pass.folding import fold
from estimator.engine.forward_pass.operators import (
    decode_linear_s,
    prefill_attention_s,
    prefill_body_s,
    prefill_head_s,
)
from estimator.engine.forward_pass.roofline import ceiling_floor, floor_prefill_s, floor_step_s
from estimator.engine.forward_pass.traffic import rank_layout
from estimator.engine.memory.engine_caches import kv_allocation
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.memory.weight_parts import fold as fold_weights
from estimator.engine.serving.capacity import Capacity
from estimator.engine.serving.launch import LaunchSettings, scheduler_of
from estimator.engine.serving.load import Load, context_tokens
from estimator.engine.serving.steady_state import offline_tokens_per_s, steady_state
from estimator.engine.serving.steps import step_s
from estimator.engine.specs import WorkloadMode
from tests.engine.reference import (
    golden_cases,
    golden_gpu,
    golden_parallelism,
    golden_precision,
    memory_setting,
    prefill_floor_s_per_layer,
    serving_constants,
)
from tests.engine.shapes import from_shape

GOLDEN = Path(__file__).parent / "golden.json"
NAMES = [
    "dense_tp1_vllm",
    "dense_tp4_fp8_trt",
    "single_stream",
    "saturated_fp8_tp2",
    "maxthroughput_pcie_tp4",
    "maxthroughput_pp2",
    "moe_tp4",
    "moe_mla_tp8_ep8",
    "moe_dp8_ep8",
    "window_moe_tp1",
    "linear_attention_tp8",
    "dsa_tp8",
]


def golden_room(inputs, layout, context):
    """The capacity of the reference, `dp · (u · memory − weights − reserve) / kv(context)`, not rounded.

    The engine's own rule counts whole sequences in blocks; the cases test what load makes of a capacity.
    """
    slug, degrees = inputs["engine"], layout.parallelism
    memory = memory_setting(slug, "memory_utilization") * inputs["hardware"]["memory_bytes"]
    budget = memory - layout.weight_bytes - inputs["reserve_bytes"]
    allocation = kv_allocation(
        fold_weights(from_shape(inputs["model_shape"])),
        golden_precision(inputs).kv_cache,
        MemoryPolicy(block_tokens=1, window_adds_batched_tokens=False, fp8_index_bytes=132),
        tp=degrees.tp,
    )
    held = degrees.dp * degrees.pp * budget / allocation.sequence_bytes(context)
    return Capacity(
        cache_sequences=held,
        engine_sequences=memory_setting(slug, "max_num_seqs") * degrees.dp,
        full_length_sequences=held,
    )


def evaluate(name):
    case = next(c for c in golden_cases() if c["name"] == name)
    inputs = case["inputs"]
    gpu = golden_gpu(inputs)
    serving = serving_constants(inputs["engine"])
    layout = rank_layout(from_shape(inputs["model_shape"]), gpu, golden_precision(inputs), golden_parallelism(inputs))
    scheduler = scheduler_of(LaunchSettings(), serving, layout.parallelism)
    folded, doubts = fold(layout, gpu, serving, kernels.reference(), max_batched_tokens=8192)
    offline = inputs.get("kind") == "max_throughput"
    mode = WorkloadMode.OFFLINE if offline else WorkloadMode.CLOSED_LOOP
    load = Load(
        input_tokens=float(inputs["isl"]),
        output_tokens=float(inputs["osl"]),
        concurrency=float(inputs["conc"] or 2048),
        context_tokens=context_tokens(inputs["isl"], inputs["osl"]),
    )
    room = golden_room(inputs, layout, load.context_tokens)
    state = steady_state(folded, scheduler, load, room, mode)
    return case, gpu, layout, folded, load, room, state, doubts


def founders_prefill_s(inputs, folded, tokens):
    """One prompt under the founders' floor, `sqrt(body² + floor²) + head + step`."""
    body = prefill_body_s(folded, 1.0, tokens, prefill_attention_s(folded, tokens))
    floor = inputs["model_shape"]["L"] * prefill_floor_s_per_layer(inputs["engine"])
    return np.hypot(body, floor) + prefill_head_s(folded, 1.0) + folded.step_s


@pytest.mark.parametrize("name", NAMES)
def test_passes_are_those_of_the_reference_to_a_tenth_of_a_percent(name):
    case, _, layout, folded, load, room, _, doubts = evaluate(name)
    step = step_s(folded, case["B_decode"], decode_linear_s(folded, load.context_tokens))
    found = {
        "weights_gb_per_rank": layout.weight_bytes / 1e9,
        "cap_sequences": room.cache_sequences,
        "t_decode_ms": step * 1e3,
        "t_prefill_ms": founders_prefill_s(case["inputs"], folded, load.input_tokens) * 1e3,
    }
    # Grouped products have equations of their own since (tests/engine/forward_pass/test_grouped_products.py): of
    # mixtures the reference still says what lies on a rank and what fits.
    known = found if not layout.experts else ("weights_gb_per_rank", "cap_sequences")
    for key in known:
        assert found[key] == pytest.approx(case[key], rel=1e-3), key
    # No measured row runs pipeline stages of a serving engine.
    assert doubts == (("pipeline stages",) if name == "maxthroughput_pp2" else ())


def loop_figures(name):
    """What load makes of the passes, in the units of the founders' cases."""
    _, _, _, folded, load, _, state, _ = evaluate(name)
    return {
        "B_decode": float(state.decoding),
        "tpot_ms": float(state.tpot_s) * 1e3,
        "ttft_ms": float(state.ttft_s + state.queue_s) * 1e3,
        "online_tok_s": float(state.admitted * load.output_tokens / state.e2e_s),
        "max_tok_s": float(offline_tokens_per_s(folded, state)),
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_loop_gives_the_golden_figures(name):
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
    assert loop_figures(name) == pytest.approx(golden, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_no_golden_case_is_faster_than_its_ceiling(name):
    _, gpu, layout, _, load, _, state, _ = evaluate(name)
    floor = ceiling_floor(layout, gpu)
    micro = state.decoding / min(layout.parallelism.pp, state.decoding)
    assert state.step_s > floor_step_s(floor, micro, load.context_tokens)
    assert state.prefill_s > floor_prefill_s(floor, load.input_tokens)
