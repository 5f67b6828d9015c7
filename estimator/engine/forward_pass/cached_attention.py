"""Causal attention written twice, over whole sequences and token by token over a cache: the same numbers."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def whole_sequence(queries: Floats, keys: Floats, values: Floats) -> Floats:
    """Causal softmax attention of all positions at once; arrays of shape (tokens, width), result likewise.

    Without unit: a weighted mean of the values. Equation: docs/model.md, eq. (8). Source: Vaswani et al. 2017,
    arXiv 1706.03762, equation 1.

    >>> import numpy as np
    >>> whole_sequence(np.zeros((2, 4)), np.zeros((2, 4)), np.array([[1.0], [3.0]])).ravel().tolist()
    [1.0, 2.0]
    """
    scores = queries @ keys.T / np.sqrt(queries.shape[1])
    scores = np.where(np.tri(len(queries), dtype=bool), scores, -np.inf)
    return _softmax(scores) @ values


def with_cache(queries: Floats, keys: Floats, values: Floats) -> Floats:
    """The same, one position at a time: each new query meets the keys and values kept so far.

    Without unit: a weighted mean of the values. Equation: docs/model.md, eq. (8). Source: Vaswani et al. 2017,
    arXiv 1706.03762, equation 1.

    >>> import numpy as np
    >>> with_cache(np.zeros((2, 4)), np.zeros((2, 4)), np.array([[1.0], [3.0]])).ravel().tolist()
    [1.0, 2.0]
    """
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
