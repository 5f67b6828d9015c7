"""Causal attention written twice, over whole sequences and token by token over a cache: the same numbers."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def whole_sequence(queries: Floats, keys: Floats, values: Floats) -> Floats:
    """Causal softmax attention of all positions at once; arrays of shape (tokens, width), result likewise."""
    scores = queries @ keys.T / np.sqrt(queries.shape[1])
    scores = np.where(np.tri(len(queries), dtype=bool), scores, -np.inf)
    return _softmax(scores) @ values


def with_cache(queries: Floats, keys: Floats, values: Floats) -> Floats:
    """The same, one position at a time: each new query meets the keys and values kept so far."""
    kept_keys: list[Floats] = []
    kept_values: list[Floats] = []
    out = []
    for query, key, value in zip(queries, keys, values, strict=True):
        kept_keys.append(key)
        kept_values.append(value)
        scores = np.stack(kept_keys) @ query / np.sqrt(len(query))
        out.append(_softmax(scores[None, :])[0] @ np.stack(kept_values))
    return np.stack(out)


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return weights
