"""Work of a transformer in FLOPs, multiply-adds and positions, with and without a KV cache."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.engine.model.parameters import parameter_totals
from estimator.engine.model.spec import Architecture, Attention, AttentionKind

Floats = npt.NDArray[np.float64]
Number = float | Floats


def prefill_flops(*, parameters: float, tokens: Number, layers: float, attention_width: float) -> Any:
    """FLOPs of a prompt by the whole-model rule, `2·N·L + 2·L²·layers·width`; causal attention is half the square.

    Args:
        parameters: parameters a token passes (active ones of a mixture of experts).
        tokens: prompt length L.
        layers: layers with attention.
        attention_width: query heads times head width.

    Source: Kaplan et al. 2020 (arXiv 2001.08361), attention term as in docs/model.md.

    Equation: docs/model.md, eq. (1).

    >>> prefill_flops(parameters=8e9, tokens=2000, layers=32, attention_width=4096) / 1e12
    33.048576
    """
    return 2.0 * parameters * tokens + 2.0 * tokens**2 * layers * attention_width


def decode_flops(*, parameters: float, context_tokens: Number, layers: float, attention_width: float) -> Any:
    """FLOPs of one new token over a cache of `context_tokens`: `2·N + 4·L·width·layers`.

    Equation: docs/model.md, eq. (2). Source: Kaplan et al. 2020, arXiv 2001.08361.

    >>> decode_flops(parameters=8e9, context_tokens=1000, layers=32, attention_width=4096) / 1e9
    16.524288
    """
    return 2.0 * parameters + 4.0 * context_tokens * attention_width * layers


def positions_without_cache(*, prompt_tokens: Number, output_tokens: Number) -> Any:
    """Positions processed to write N tokens after M without a cache, `N·M + N·(N−1)/2`: each token starts over.

    Unit: token positions. Equation: docs/model.md, eq. (3). Source: definition.

    >>> positions_without_cache(prompt_tokens=10, output_tokens=3)
    33.0
    """
    return output_tokens * prompt_tokens + output_tokens * (output_tokens - 1) / 2


def positions_with_cache(*, prompt_tokens: Number, output_tokens: Number) -> Any:
    """Positions processed with a cache, `M + N − 1`: the prompt once, then one a token; the last is never fed back.

    Unit: token positions. Equation: docs/model.md, eq. (4). Source: definition.

    >>> positions_with_cache(prompt_tokens=10, output_tokens=3)
    12
    """
    return prompt_tokens + output_tokens - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyTransformer:
    """A small decoder counted exactly in multiply-adds: no biases, two MLP matrices, a head on every position."""

    blocks: int
    width: int
    mlp_width: int
    vocab: int

    def multiply_adds(self, position: int) -> int:
        """Multiply-adds of the token at `position` (from 1), which attends to itself and all before it.

        `blocks·(4·d² + 2·d·position + 2·d·mlp) + d·vocab`.
        """
        block = 4 * self.width**2 + 2 * self.width * position + 2 * self.width * self.mlp_width
        return self.blocks * block + self.width * self.vocab

    def without_cache(self, *, prompt_tokens: int, output_tokens: int) -> int:
        """Multiply-adds to write the tokens when each one starts over."""
        lengths = range(prompt_tokens, prompt_tokens + output_tokens)
        return sum(self.multiply_adds(position) for length in lengths for position in range(1, length + 1))

    def with_cache(self, *, prompt_tokens: int, output_tokens: int) -> int:
        """Multiply-adds to write the tokens when keys and values are kept."""
        return sum(self.multiply_adds(position) for position in range(1, prompt_tokens + output_tokens))


def attention_flops_per_token(attention: Attention, *, absorbed: bool = True) -> float:
    """FLOPs of one query token over one cached token in one layer, `2·heads·(key width + value width)`.

    Latent attention in decode multiplies with the latent itself (`absorbed`), in prefill with the expanded heads.

    Equation: docs/model.md, eq. (5). Source: definition.

    >>> from estimator.engine.forward_pass import worked_key
    >>> attention = worked_key.model().layer_groups[0].attention
    >>> attention_flops_per_token(attention) == 2 * 32 * (128 + 128)
    True
    """
    heads = attention.query_heads
    if attention.latent_rank and absorbed:
        return 2.0 * heads * (2 * attention.latent_rank + attention.latent_rope_dim)
    key = attention.head_dim_qk
    if attention.latent_rank:
        key = attention.latent_nope_dim + attention.latent_rope_dim
    return 2.0 * heads * (key + attention.head_dim_v)


def read_window_tokens(attention: Attention) -> float:
    """Cached tokens that one query reads at most: the window, or the tokens a sparse index picks; inf for all.

    Equation: docs/model.md, eq. (6). Source: the model's configuration.

    >>> from estimator.engine.forward_pass import worked_key
    >>> read_window_tokens(worked_key.model().layer_groups[0].attention)
    inf
    """
    if attention.kind is AttentionKind.SPARSE_LATENT and attention.index_top_k:
        return float(attention.index_top_k)
    return float(attention.window_tokens or inf)


def attended_pairs(tokens: Any, window_tokens: Any) -> Any:
    """Query-key pairs of causal attention over the first `tokens` positions, the k-th seeing min(k, window).

    `S(n) = n·m − m²/2`, `m = min(n, window)`; positions p to l take `S(l) − S(p)`.

    Unit: pairs of tokens. Equation: docs/model.md, eq. (7). Source: definition.

    >>> float(attended_pairs(1000.0, float("inf"))), float(attended_pairs(1000.0, 100.0))
    (500000.0, 95000.0)
    """
    near = np.minimum(tokens, window_tokens)
    return tokens * near - near * near / 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveParameters:
    """Parameters by what a token does with them; `active` counts routed experts by the share one token uses.

    Tables of n-grams, of which a token reads a few rows, are in `total` alone.
    """

    total: float
    active: float
    active_matrix: float
    head: float


def active_parameters(architecture: Architecture) -> ActiveParameters:
    """Total and active parameters; `active_matrix` leaves out the input-embedding lookup, which no product touches."""
    totals = parameter_totals(architecture)
    tied = architecture.embedding_parameters if architecture.tied_embeddings else 0
    return ActiveParameters(
        total=float(totals.text),
        active=float(totals.active - architecture.split_lookup_parameters),
        active_matrix=float(totals.active_without_input_embedding),
        head=float(architecture.lm_head_parameters or tied),
    )
