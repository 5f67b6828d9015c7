"""Speculative decoding: what a draft gains, and where the gain reverses."""

from typing import Any

import numpy as np

from estimator.engine.errors import InvalidInputError


def tokens_per_pass(*, acceptance_rate: Any, draft_tokens: Any) -> Any:
    """Expected tokens of one pass of the target model, `(1 − a^(k+1)) / (1 − a)`; k+1 when every draft is accepted.

    Args:
        acceptance_rate: chance that a drafted token is accepted, in [0, 1], independent from token to token.
        draft_tokens: tokens drafted per pass, k ≥ 1.

    Raises:
        InvalidInputError: out of range.

    Source: Leviathan et al. 2023, arXiv 2211.17192, equation 1.

    Equation: docs/model.md, eq. (48).

    >>> float(tokens_per_pass(acceptance_rate=0.5, draft_tokens=3))
    1.875
    """
    a = np.asarray(acceptance_rate, dtype=np.float64)
    k = np.asarray(draft_tokens, dtype=np.float64)
    if np.any((a < 0) | (a > 1) | np.isnan(a)):
        raise InvalidInputError("acceptance_rate must lie in [0, 1]", field="speculative.acceptance_rate")
    if np.any(k < 1):
        raise InvalidInputError("draft_tokens must be 1 or more", field="speculative.draft_tokens")
    open_end = np.where(a < 1.0, a, 0.5)
    return np.where(a < 1.0, (1.0 - open_end ** (k + 1.0)) / (1.0 - open_end), k + 1.0)[()]


def speed_up(*, acceptance_rate: Any, draft_tokens: Any, draft_cost_ratio: Any, verify_cost_ratio: Any = 1.0) -> Any:
    """Speed with speculation over speed without; below 1 it slows down.

    `tokens_per_pass / (verify + k·c)`: one pass of the target over k+1 tokens costs `verify` plain steps, each drafted
    token `c` of one. `verify` is 1 while the step is bound by memory; it grows with batch times k once it computes.

    Source: Leviathan et al. 2023, theorem 3.8, with the verification cost added.

    Without unit: a ratio of tokens/s. Equation: docs/model.md, eq. (49).

    >>> float(speed_up(acceptance_rate=0.5, draft_tokens=3, draft_cost_ratio=0.1)).__round__(3)
    1.442
    """
    gained = tokens_per_pass(acceptance_rate=acceptance_rate, draft_tokens=draft_tokens)
    return gained / (verify_cost_ratio + np.asarray(draft_tokens) * np.asarray(draft_cost_ratio))


def implied_acceptance_rate(*, accepted_length: float, draft_tokens: int) -> float:
    """The acceptance rate at which one pass yields `accepted_length` tokens (accepted drafts plus one), by bisection.

    Raises:
        InvalidInputError: the length is outside [1, draft_tokens + 1].

    Without unit: a share of drafted tokens. Equation: docs/model.md, eq. (48). Source: Leviathan et al. 2023, arXiv
    2211.17192, equation 1.

    >>> round(implied_acceptance_rate(accepted_length=1.875, draft_tokens=3), 6)
    0.5
    """
    if not 1.0 <= accepted_length <= draft_tokens + 1.0:
        raise InvalidInputError("accepted_length must lie in [1, draft_tokens + 1]", field="accepted_length")
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if tokens_per_pass(acceptance_rate=middle, draft_tokens=draft_tokens) < accepted_length:
            low = middle
        else:
            high = middle
    return (low + high) / 2
