"""The expectation of each engine kind, brought into one form: calibrated serving, the ideal roofline, llama.cpp."""

from typing import Any

from estimator.engine.codes import Binding
from estimator.engine.forward_pass.llama_cpp import LlamaCpp, llama_cpp_prefill_s, llama_cpp_step_s
from estimator.engine.forward_pass.operators import Folded
from estimator.engine.forward_pass.roofline import Floor, floor_prefill_s, step_floor
from estimator.engine.serving.capacity import Capacity, admitted_sequences
from estimator.engine.serving.launch import Scheduler
from estimator.engine.serving.load import Load, answer_time_s, turns_of
from estimator.engine.serving.steady_state import offline_tokens_per_s, steady_state
from estimator.engine.serving.steps import micro_batch
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.figures import Expected


def serving_expected(
    folded: Folded, scheduler: Scheduler, load: Load, limits: Capacity, mode: WorkloadMode
) -> Expected:
    """The calibrated steady state of a closed loop, one stream, a batch, one step or the offline maximum."""
    state = steady_state(folded, scheduler, load, limits, mode)
    tokens = offline_tokens_per_s(folded, state) if mode is WorkloadMode.OFFLINE else 0.0
    return Expected(
        admitted=state.admitted,
        decoding=state.decoding,
        step_s=state.step_s,
        tpot_s=state.step_s if mode is WorkloadMode.STATIC_BATCH else state.tpot_s,
        ttft_s=state.ttft_s,
        queue_s=state.queue_s,
        prefill_s=state.prefill_s,
        tokens_per_s=tokens,
        parts=state.parts,
        cache_read_s=state.cache_read_s,
        loop=state.loop,
    )


def ideal_expected(
    floor: Floor,
    load: Load,
    limits: Capacity,
    mode: WorkloadMode,
    *,
    pipeline: Any,
    prefill_share: Any,
    decode_share: Any,
) -> Expected:
    """The teaching profile: the roofline with a share of the peak, whole sequences, no queue and no overhead."""
    admitted = admitted_sequences(limits, load.concurrency, mode)
    micro = micro_batch(admitted, pipeline)
    least = step_floor(floor, micro, load.context_tokens)
    step = least.time_s(decode_share)
    prefill = floor_prefill_s(floor, load.input_tokens - load.cached_tokens, load.cached_tokens, prefill_share)
    turns = turns_of(load.concurrency, admitted)
    answer = answer_time_s(prefill, step, load.output_tokens)
    return Expected(
        admitted=admitted,
        decoding=admitted,
        step_s=step,
        tpot_s=step,
        ttft_s=prefill * admitted if mode is WorkloadMode.STATIC_BATCH else prefill,
        queue_s=(turns - 1.0) * answer,
        prefill_s=prefill,
        tokens_per_s=admitted / step,
        parts={Binding.MEMORY_BANDWIDTH: least.memory_s, Binding.COMPUTE: least.compute_s / decode_share},
        busy=False,
    )


def llama_cpp_expected(folded: LlamaCpp, load: Load, limits: Capacity, mode: WorkloadMode) -> Expected:
    """One stream of llama.cpp; more at once is another engine, which no measurement here describes."""
    admitted = admitted_sequences(limits, load.concurrency, mode)
    step = llama_cpp_step_s(folded, load.context_tokens)
    prefill = llama_cpp_prefill_s(folded, load.input_tokens - load.cached_tokens)
    answer = answer_time_s(prefill, step, load.output_tokens)
    return Expected(
        admitted=admitted,
        decoding=admitted,
        step_s=step,
        tpot_s=step,
        ttft_s=prefill,
        queue_s=0.0 * answer,
        prefill_s=prefill,
        tokens_per_s=load.output_tokens / answer,
        parts={
            Binding.MEMORY_BANDWIDTH: step - folded.decode_fixed_s,
            Binding.OVERHEAD: folded.decode_fixed_s + 0.0 * step,
        },
        busy=False,
    )
