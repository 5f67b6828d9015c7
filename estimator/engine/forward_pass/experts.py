"""Grouped products of routed experts: experts read, pairs multiplied, activations moved."""

from dataclasses import dataclass

from estimator.constants.kernels import ExpertRow, OperatorConstants
from estimator.engine.forward_pass.traffic import ExpertGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertTimes:
    """Seconds of all layers of a group, for a token of all ranks where it is of a token.

    To read every expert of the rank, to multiply a token with the share of the rank, to move its activations.
    """

    memory_s: float
    product_token_s: float
    moved_token_s: float


def expert_times(
    group: ExpertGroup,
    row: ExpertRow,
    operators: OperatorConstants,
    *,
    hidden_size: int,
    peak_flops_per_s: float,
    weight_bytes_per_s: float,
    bytes_per_s: float,
) -> ExpertTimes:
    """Times of one group by the row of its kernel.

    A token brings `k / ep` pairs of token and expert to a rank. Each moves `4h + 6n` bytes `passes` times, n the width
    of an expert there; the pairs of other ranks, `k − k / ep`, move `foreign_passes` times.

    Args:
        group: the experts of equal layers.
        row: the kernel's fixed time, shares and passes.
        operators: bytes of a pair.
        hidden_size: width of the model, elements.
        peak_flops_per_s: dense peak that the row's share is of.
        weight_bytes_per_s: bandwidth that weight reads can reach.
        bytes_per_s: bandwidth of the memory.

    Equation: docs/model.md, eq. (67). Source: 1.18 million kernel timings of aiconfigurator-core 0.12; constants in
    docs/constants.md.

    >>> from estimator.constants.kernels import ExpertRow, shipped
    >>> from estimator.engine.forward_pass import worked_key
    >>> row = ExpertRow(
    ...     fixed_us=30.0, bandwidth_share=0.8, compute_share=0.5, activation_passes=2.0, foreign_passes=1.0
    ... )
    >>> speeds = {"peak_flops_per_s": 989e12, "weight_bytes_per_s": 3.35e12, "bytes_per_s": 3.35e12}
    >>> times = expert_times(worked_key.experts(), row, shipped().operators, hidden_size=4096, **speeds)
    >>> round(times.memory_s * 1e3, 3), round(times.moved_token_s * 1e9, 1)
    (1.202, 136.9)
    """
    held = group.local_experts * group.share * group.weights * group.format.bytes_per_weight
    own = group.per_token * group.local_experts / group.experts
    passes = row.activation_passes * own + row.foreign_passes * (group.per_token - own)
    moved = (operators.moved_hidden_bytes * hidden_size + operators.moved_width_bytes * group.width) * passes
    return ExpertTimes(
        memory_s=group.layers * held / (weight_bytes_per_s * row.bandwidth_share),
        product_token_s=group.layers * 2.0 * group.weights_per_token / (peak_flops_per_s * row.compute_share),
        moved_token_s=group.layers * moved / bytes_per_s,
    )
