"""CUDA graphs: which batch sizes an engine captures, and the memory that they hold."""

from collections.abc import Sequence

from estimator.engine.memory.plan import MemoryPlan, sequences_limit_of
from estimator.engine.memory.policy import MemoryPolicy


def graphs_of(plan: MemoryPlan) -> int:
    """Bytes of the graphs that a plan captures; none where it runs eagerly."""
    if plan.overrides.enforce_eager:
        return 0
    asked = plan.overrides
    return graph_bytes(
        plan.policy, sequences_limit_of(plan), asked.max_cudagraph_capture_size, asked.cudagraph_capture_sizes
    )


def graph_bytes(
    policy: MemoryPolicy, max_num_seqs: int, largest: int | None = None, stated: Sequence[int] | None = None
) -> int:
    """Bytes of captured graphs: those of the first, and `cuda_graph_size_bytes` for each captured batch size.

    Batch sizes 1, 2, 4, every 8th to 256 and every 16th to 512 are captured: for mixed passes up to twice
    `max_num_seqs`, for decode alone up to `max_num_seqs`, and none above `largest` where that is set. `stated` sizes
    are captured in place of these, for decode those of them up to `max_num_seqs`.
    Source: vLLM config/vllm.py (0.20 to 0.33); eight sequences make 9 graphs, 256 make 86, as the logs say.

    >>> graph_bytes(MemoryPolicy(cuda_graph_bytes=0, cuda_graph_size_bytes=1), 8)
    9
    >>> graph_bytes(MemoryPolicy(cuda_graph_bytes=0, cuda_graph_size_bytes=1), 256)
    86
    """
    if not policy.cuda_graph_size_bytes:
        return policy.cuda_graph_bytes
    if stated is not None:
        own = set(stated)
        return policy.cuda_graph_bytes + policy.cuda_graph_size_bytes * (
            len(own) + sum(size <= max_num_seqs for size in own)
        )
    most = 512 if largest is None else largest
    sizes = _captured_sizes(min(2 * max_num_seqs, most)) + _captured_sizes(min(max_num_seqs, most))
    return policy.cuda_graph_bytes + sizes * policy.cuda_graph_size_bytes


def _captured_sizes(most: int) -> int:
    """How many of 1, 2, 4, 8, 16 … 256, 272 … 512 are at most `most`."""
    return sum(size <= most for size in (1, 2, 4)) + min(most, 256) // 8 + max(min(most, 512) - 256, 0) // 16
