"""How many sequences a replica runs: what its KV cache holds of the length they have, and the engine's own limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.engine.elementwise import choose
from estimator.engine.memory.replica_cache import RankCache, mean_sequences, whole_sequences
from estimator.engine.specs import WorkloadMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the caches of keys are shared by: ranks that hold different sequences, places, reserved share of the output.

    A sequence needs room for `reserved_share` of its output: the mean 0.5 of those running, or all where the engine
    never evicts. The engine runs at most `engine_sequences` in the whole replica.
    """

    attention_dp: Any
    engine_sequences: Any
    reserved_share: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Sequences that the cache holds and sequences that the engine runs at once at most.

    `cache_sequences` is the mean of those running (a fraction of one is some of the time), `full_length_sequences` how
    many are sure to stay in the cache to their end. Where not one does, none is admitted.
    """

    cache_sequences: Any
    engine_sequences: Any
    full_length_sequences: Any

    @property
    def running_sequences(self) -> Any:
        """Most sequences that run at once: what cache and engine admit, whichever is least."""
        return np.minimum(self.cache_sequences, self.engine_sequences)


def capacity(stages: Sequence[RankCache], limits: Limits, *, running_tokens: Any, full_tokens: Any) -> Capacity:
    """Sequences that fit.

    Args:
        stages: the cache of each pipeline stage, of one key or of many.
        limits: what goes with them.
        running_tokens: tokens for which a running sequence has room (`running_tokens`).
        full_tokens: tokens of a sequence at its end.
    """
    full = whole_sequences(stages, limits.attention_dp, full_tokens)
    running = mean_sequences(stages, limits.attention_dp, running_tokens)
    return Capacity(
        # A request that never fits as a whole is refused, so that there is nothing to run.
        cache_sequences=choose(np.asarray(full) < 1.0, 0.0, np.minimum(running, 1e12)),
        engine_sequences=limits.engine_sequences,
        full_length_sequences=np.minimum(full, 1e12),
    )


def running_tokens(input_tokens: Any, output_tokens: Any, reserved_share: Any) -> Any:
    """Tokens for which a running sequence has room in the cache, `input + share · output`.

    Equation: docs/model.md, eq. (31). Source: vLLM and TensorRT-LLM schedulers, as the profiles say.

    >>> running_tokens(1000.0, 200.0, 0.5), running_tokens(1000.0, 200.0, 1.0)
    (1100.0, 1200.0)
    """
    return input_tokens + reserved_share * output_tokens


def admitted_sequences(limits: Capacity, concurrency: Any, mode: WorkloadMode) -> Any:
    """Sequences inside the engine: the load asked for, the cache and the engine's limit, whichever is least.

    Offline fills what the cache admits. Source: docs/model.md, closed loop.

    Equation: docs/model.md, eq. (32).

    >>> room = Capacity(cache_sequences=50.0, engine_sequences=256.0, full_length_sequences=40.0)
    >>> float(admitted_sequences(room, 64.0, WorkloadMode.CLOSED_LOOP))
    50.0
    """
    wanted = limits.cache_sequences if mode is WorkloadMode.OFFLINE else concurrency
    return np.minimum(wanted, limits.running_sequences)
