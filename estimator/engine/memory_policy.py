"""How a serving engine uses the memory of a GPU."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPolicy:
    """Share of the GPU's memory the engine may fill, its limits, and what it keeps apart from the cache."""

    utilization: float = 0.9
    max_num_seqs: int = 2048
    max_batched_tokens: int = 8192
