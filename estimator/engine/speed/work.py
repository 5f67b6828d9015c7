"""Work of a whole replica: FLOPs and bytes of one prompt and of one decode step, whatever the split over GPUs."""

from dataclasses import dataclass

from estimator.engine.forward_pass.flops import (
    ActiveParameters,
    active_parameters,
    attended_pairs,
    attention_flops_per_token,
    read_window_tokens,
)
from estimator.engine.forward_pass.roofline import Floor, ceiling_floor, floor_prefill_memory_s, ideal_floor, step_floor
from estimator.engine.forward_pass.traffic import rank_layout
from estimator.engine.model.spec import Architecture
from estimator.engine.recent import Recent
from estimator.engine.specs import Parallelism
from estimator.engine.speed.prepared import PreparedKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """FLOPs and bytes; arithmetic intensity is their ratio."""

    flops: float
    bytes: float

    @property
    def intensity_flops_per_byte(self) -> float:
        """FLOPs per byte."""
        return self.flops / self.bytes


def decode_work(prepared: PreparedKey, *, sequences: float, context_tokens: float) -> Work:
    """One decode step of `sequences` sequences over `context_tokens` cached tokens each.

    FLOPs `B·(2·N + Σ layers · attention · min(context, window))`, N the active parameters that products touch (all
    active ones for `ideal`, as the source documents count); bytes are weights touched and cache, each once.
    """
    key, whole = prepared.key, _replica(prepared)
    attention = _attention_flops(key.architecture, context_tokens, absorbed=prepared.ideal is None)
    return Work(
        flops=sequences * (2.0 * whole.touched_parameters + attention),
        bytes=float(step_floor(whole.floor, sequences, context_tokens).memory_s) * key.gpu.memory_bandwidth_bytes_per_s,
    )


def prefill_work(prepared: PreparedKey, *, new_tokens: float, cached_tokens: float = 0.0) -> Work:
    """One prompt of `new_tokens` behind `cached_tokens`; causal attention, the head on the last position only.

    For `ideal` the source documents' `2·N·L + 2·L²·layers·width`.
    """
    key, whole = prepared.key, _replica(prepared)
    linear = 2.0 * whole.touched_parameters * new_tokens
    if prepared.ideal is None:
        linear -= 2.0 * whole.counts.head * max(new_tokens - 1.0, 0.0)
    end = new_tokens + cached_tokens
    attention = 0.0
    for group in key.architecture.layer_groups:
        if group.attention is not None:
            window = read_window_tokens(group.attention)
            pairs = float(attended_pairs(end, window) - attended_pairs(cached_tokens, window))
            attention += group.layers * attention_flops_per_token(group.attention, absorbed=False) * pairs
    reading = float(floor_prefill_memory_s(whole.floor, new_tokens, cached_tokens))
    return Work(flops=linear + attention, bytes=reading * key.gpu.memory_bandwidth_bytes_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replica:
    """What the work of a key's replica depends on beside its load; it holds the key, whose place in memory names it."""

    prepared: PreparedKey
    counts: ActiveParameters
    touched_parameters: float
    floor: Floor


_KEPT = Recent(256)


def _replica(prepared: PreparedKey) -> _Replica:
    """The replica of a key; those of the keys asked for last are kept."""
    return _KEPT.of(id(prepared), lambda: _made(prepared))


def _made(prepared: PreparedKey) -> _Replica:
    counts = active_parameters(prepared.key.architecture)
    # Products touch what is not only looked up; all active parameters for `ideal`, as the source documents count.
    touched = counts.active if prepared.ideal is not None else counts.active_matrix
    return _Replica(prepared=prepared, counts=counts, touched_parameters=touched, floor=_whole(prepared))


def _attention_flops(architecture: Architecture, context_tokens: float, *, absorbed: bool) -> float:
    total = 0.0
    for group in architecture.layer_groups:
        if group.attention is not None:
            seen = min(context_tokens, read_window_tokens(group.attention))
            total += group.layers * attention_flops_per_token(group.attention, absorbed=absorbed) * seen
            index = 2.0 * group.attention.index_heads * group.attention.index_head_dim
            total += group.layers * index * context_tokens
    return total


def _whole(prepared: PreparedKey) -> Floor:
    """The roofline of the model on one GPU of its kind, where bytes are those of the whole replica."""
    key = prepared.key
    one = Parallelism()
    layout = prepared.layout if key.parallelism == one else None
    layout = layout or rank_layout(key.architecture, key.gpu, key.precision, one)
    if prepared.ideal is not None:
        return ideal_floor(key.architecture, key.gpu, key.precision, one, layout)
    return prepared.ceiling if key.parallelism == one else ceiling_floor(layout, key.gpu)
