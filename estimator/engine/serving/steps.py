"""One decode step of a replica: the pass of a micro-batch and the host's time beside it."""

from typing import Any

import numpy as np

from estimator.engine.forward_pass.launch import eager_s
from estimator.engine.forward_pass.operators import Folded, decode_pass_s, slowest_rank


def micro_batch(sequences: Any, pipeline: Any) -> Any:
    """Sequences of one micro-batch: a batch is cut into as many as there are pipeline stages, never below one.

    Equation: docs/model.md, eq. (33). Source: definition.

    >>> float(micro_batch(64.0, 4.0)), float(micro_batch(2.0, 4.0))
    (16.0, 1.0)
    """
    return sequences / np.minimum(pipeline, np.maximum(sequences, 1.0))


def step_s(folded: Folded, sequences: Any, linear_s: Any) -> Any:
    """Seconds of one decode step of a replica: every sequence gets one token.

    With pipeline stages the batch runs as micro-batches; one full round is the pass of a micro-batch. `linear_s` is
    `decode_linear_s` at the context.

    Equation: docs/model.md, eq. (21). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> from estimator.engine.forward_pass.operators import decode_linear_s
    >>> folded = worked_key.folded()
    >>> round(float(step_s(folded, 8.0, decode_linear_s(folded, 1000.0))) * 1e3, 2)
    6.99
    """
    micro = micro_batch(sequences, folded.pipeline)
    gpu = eager_s(decode_pass_s(folded, micro, linear_s), folded.step_launch_s)
    return gpu + folded.step_s + folded.per_sequence_s * slowest_rank(folded, micro)
