"""The load of rows: lengths, requests in flight, how they come; and what follows from lengths alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.constants.scheduling import SCHEDULING


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Load of each row: lengths in tokens, `cached_tokens` of the prompt that a prefix cache holds, concurrency.

    `context_tokens` is the cache length decode is evaluated at. `waves`: requests over requests in flight of a
    benchmark, 0 for a service; their lengths are uniform from `length_ratio` of the longest to it, the first come
    within `ramp_s`, and the client takes `client_s` of each. Arrays broadcast with the folded constants.
    """

    input_tokens: Any
    output_tokens: Any
    concurrency: Any
    context_tokens: Any
    cached_tokens: Any = 0.0
    waves: Any = 0.0
    length_ratio: Any = 1.0
    ramp_s: Any = 0.0
    client_s: Any = 0.0


def context_tokens(input_tokens: Any, output_tokens: Any) -> Any:
    """Mean cache length of a running sequence, `input + output / 2`.

    Equation: docs/model.md, eq. (29). Source: definition.

    >>> context_tokens(1000.0, 200.0)
    1100.0
    """
    return input_tokens + SCHEDULING.mean_share_of_output * output_tokens


def prefix_tokens(input_tokens: Any, hit_rate: Any, block_tokens: int = 16) -> Any:
    """Prompt tokens that a prefix cache spares: the hit share in whole blocks, at least one token left to compute.

    Equation: docs/model.md, eq. (30). Source: prefix caches of engines hold whole blocks.

    >>> float(prefix_tokens(1000.0, 0.5)), float(prefix_tokens(1000.0, 1.0))
    (496.0, 992.0)
    """
    blocks = np.floor(np.asarray(input_tokens) * hit_rate / block_tokens + 1e-9)
    return np.minimum(blocks, np.floor((np.asarray(input_tokens) - 1.0) / block_tokens)) * block_tokens


def has_gaps(output_tokens: Any) -> Any:
    """Whether an answer has a second token: without one TPOT, (e2e − ttft) / (n − 1), is nothing over nothing.

    Equation: docs/model.md, eq. (34). Source: definition.

    >>> bool(has_gaps(1.0)), bool(has_gaps(2.0))
    (False, True)
    """
    return np.asarray(output_tokens, dtype=np.float64) > 1.0


def answer_time_s(ttft_s: Any, tpot_s: Any, output_tokens: Any) -> Any:
    """Seconds to the last of n tokens, `ttft + (n − 1)·tpot`: the first token is in the TTFT.

    Equation: docs/model.md, eq. (34). Source: definition.

    >>> answer_time_s(0.5, 0.02, 101.0)
    2.5
    """
    return ttft_s + (output_tokens - 1.0) * tpot_s


def turns_of(concurrency: Any, admitted: Any) -> Any:
    """Turns in which a batch is served where the cache admits fewer than ask, at least one.

    Equation: docs/model.md, eq. (35). Source: definition.

    >>> float(turns_of(128.0, 64.0)), float(turns_of(8.0, 64.0))
    (2.0, 1.0)
    """
    return np.maximum(concurrency / np.maximum(admitted, 1e-9), 1.0)
