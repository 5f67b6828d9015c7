"""A pass that holds prompts beside sequences that decode, as the scheduler of an engine puts it together."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimator.engine.elementwise import any_of, choose
from estimator.engine.forward_pass.launch import beside_launch_s
from estimator.engine.forward_pass.operators import Folded, slowest_rank, with_experts_s
from estimator.engine.serving.launch import Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPass:
    """A pass with `tokens` of prompts on each rank, linear in how many sequences decode beside it.

    `gpu_s` are the GPU's seconds where `beside` sequences of the replica decode, `slope_s` those of one more.
    """

    gpu_s: Any
    slope_s: Any
    beside: Any
    tokens: Any

    def plus(self, seconds: Any) -> "PromptPass":
        """The pass with more GPU time."""
        return replace(self, gpu_s=self.gpu_s + seconds)

    def seconds(self, folded: Folded, scheduler: Scheduler, decoding: Any) -> Any:
        """Seconds of the pass: GPU and launches overlap, the longer one counts nearly alone.

        Equation: docs/model.md, eq. (36).
        """
        gpu = self.gpu_s + self.slope_s * (decoding - self.beside)
        launch = folded.launch_s
        if any_of(scheduler.captured_tokens):
            captured = self.tokens + decoding <= scheduler.captured_tokens
            launch = choose(captured, folded.launch_pieces_s, launch)
        return beside_launch_s(gpu, launch) + folded.step_s


def prompt_pass(
    folded: Folded, *, prompts: Any, tokens: Any, attention_s: Any, decoding: Any, linear_s: Any, ranks: Any
) -> PromptPass:
    """A pass of `prompts` prompts, `tokens` of them on each of `ranks` ranks, beside `decoding` sequences.

    Args:
        folded: constants of the key.
        prompts: prompts on a rank; a share of one where the pass holds a piece of it.
        tokens: prompt tokens on a rank.
        attention_s: seconds of attention of one whole prompt.
        decoding: sequences of the replica that decode in the pass, 0 where the engine runs prompts alone.
        linear_s: seconds of a decoding sequence, `decode_linear_s` at its context.
        ranks: attention-data ranks that have prompts in the pass.

    Equation: docs/model.md, eq. (37).
    """
    lanes = folded.attention_dp * folded.pipeline
    beside = slowest_rank(folded, decoding / folded.pipeline)
    own, heads = beside + tokens, beside + prompts
    square = own * own
    per_sequence = linear_s + folded.per_sequence_s
    each = folded.prefill_token_s + folded.all_rank_token_s * folded.prefill_spread
    gpu = folded.prefill_fixed_s + folded.head_fixed_s + tokens * each + prompts * attention_s
    gpu = gpu + beside * per_sequence + np.sqrt(folded.head_memory_s2 + folded.head_token_s2 * heads * heads)
    slope = per_sequence
    for memory, token in zip(folded.gemm_memory_s2, folded.gemm_token_s2, strict=True):
        root = np.sqrt(memory + token * square)
        gpu = gpu + root
        slope = slope + token * own / np.maximum(root, 1e-300)
    gpu = with_experts_s(folded, gpu, decoding / folded.pipeline + tokens * ranks)
    return PromptPass(gpu_s=gpu, slope_s=slope / lanes, beside=decoding, tokens=tokens)


def spared_share(prompts: Any, most: Any) -> Any:
    """Share of what a full pass spares each prompt that `prompts` of them in one pass spare it; 0 to 1.

    A pass takes `d + b·m`, so that each of its m prompts takes `b + d/m`: `(1 − 1/m) / (1 − 1/most)`; 0 where a pass
    takes one prompt at most.

    Equation: docs/model.md, eq. (38). Source: exact for the pass of eq. (36) as its prompts share it.

    >>> [round(float(spared_share(prompts, 16.0)), 3) for prompts in (1.0, 2.0, 16.0)]
    [0.0, 0.533, 1.0]
    """
    most = np.maximum(most, 1.0)
    return np.minimum(np.maximum((1.0 - 1.0 / prompts) / np.maximum(1.0 - 1.0 / most, 1e-9), 0.0), 1.0) * (most > 1.0)
