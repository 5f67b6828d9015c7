"""The share of memory that SGLang takes for weights and cache where none is asked for."""

from collections.abc import Sequence

_MIB = 2**20
_LARGE_GPU_MIB = 60 * 1024
_LEAST_LARGE_RESERVE_MIB = 10 * 1024
# Reserve of activations for a token of a chunk (SGLang server_args).
_RESERVE_MIB_PER_TOKEN = 1.5

Tier = tuple[float, int, int, int]
"""GiB that a GPU has less than, tokens of a chunk, largest captured batch below tp 4, and from tp 4 on."""


def tier_of(memory_bytes: float, tiers: Sequence[Tier]) -> Tier:
    """The first tier that a GPU of this size stays below; the last where it stays below none."""
    return next((tier for tier in tiers if memory_bytes < tier[0] * 2**30), tiers[-1])


def static_fraction(
    memory_bytes: float, tiers: Sequence[Tier], *, tp: int = 1, pp: int = 1, prefill_graphs: int = 0,
    chunked_tokens: int | None = None,
) -> float:  # fmt: skip
    """`mem_fraction_static` by default: (memory - reserve) / memory, rounded to three places.

    Reserve in MiB: 512 + 1.5 · max(chunk, 2048) + 2 · largest captured batch + 1024 · tp · pp / 8 + 8 · prefill graphs,
    at least 10 GiB on a GPU of more than 60 GiB.

    Args:
        memory_bytes: memory of the GPU.
        tiers: chunk and captured batch by size of the GPU, rising.
        tp: tensor-parallel degree.
        pp: pipeline stages.
        prefill_graphs: captured sizes of prompts (58 where the release captures them).
        chunked_tokens: tokens of a chunk, None for the tier's.

    Source: SGLang 0.5.23, arg_groups/memory_hook.py, read 2026-11.

    >>> tiers = [(60.0, 4096, 32, 160), (160.0, 8192, 256, 512)]
    >>> static_fraction(81_559 * 2**20, tiers, prefill_graphs=58)  # H100 80 GB
    0.83
    """
    _, chunk, small, large = tier_of(memory_bytes, tiers)
    memory_mib = memory_bytes / _MIB
    reserve_mib = 512 + _RESERVE_MIB_PER_TOKEN * max(chunked_tokens or chunk, 2048) + 2 * (small if tp < 4 else large)
    reserve_mib += 1024 * tp * pp / 8 + 8 * prefill_graphs
    if memory_mib > _LARGE_GPU_MIB:
        reserve_mib = max(reserve_mib, _LEAST_LARGE_RESERVE_MIB)
    return round(max(memory_mib - reserve_mib, 0.0) / memory_mib, 3)
