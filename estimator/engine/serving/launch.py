"""How a server was started, as far as it decides what a request waits for: the settings of its scheduler."""

from dataclasses import dataclass, replace
from math import log
from typing import Any

from estimator.constants.launching import LAUNCH
from estimator.engine.specs import Parallelism, ServingConstants

# Harmonic numbers are ln n + this.
_EULER = 0.5772156649015329


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSettings:
    """Settings of a server's scheduler, whatever its engine calls them; counts of steps, tokens and sequences.

    `prompts_alone`: a pass of prompts holds no decoding sequence (SGLang). `whole_prompts`: a prompt is never cut
    (TensorRT-LLM without chunked prefill). `plans_ahead`: the next step is planned while one runs. `poll_steps`: steps
    between two looks for requests. `batch_wait_steps`: steps that prompts are held back to meet others, until
    `batch_wait_tokens` of them wait; `rank_wait_steps` the same until every attention-data rank has one.
    `captured_tokens`: a pass of at most so many tokens is replayed from graphs, cut at its attentions.
    `stream_interval`: tokens of one message to the client. `tuned`: kernels were picked by flags, as the launch scripts
    of the measured rows do. `eager`: no pass is compiled or captured, those that decode alone neither.
    """

    prompts_alone: bool = False
    whole_prompts: bool = False
    plans_ahead: bool = True
    poll_steps: float = 1.0
    batch_wait_steps: float = 0.0
    batch_wait_tokens: float = 0.0
    rank_wait_steps: float = 0.0
    captured_tokens: float = 0.0
    stream_interval: float = 1.0
    tuned: bool = True
    eager: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """What the settings of a server come to for one key; numbers or arrays of keys.

    `steps_waited` decode steps pass until a request that finds others decoding is looked at, beyond the one it meets,
    `planned_ahead` of them because the next step is planned while one runs;
    `batch_steps` steps at most until `batch_tokens` of prompts wait, `rank_steps` at most until every rank has a
    prompt, which takes `rank_prompts` prompts on average.
    """

    prompts_alone: Any
    whole_prompts: Any
    steps_waited: Any
    planned_ahead: Any
    poll_steps: Any
    batch_steps: Any
    batch_tokens: Any
    rank_steps: Any
    rank_prompts: Any
    captured_tokens: Any
    server_s: Any
    prompt_token_s: Any
    chunk_s: Any


def launched(serving: ServingConstants, launch: LaunchSettings) -> ServingConstants:
    """The constants of an engine that was started so: messages to clients, kernels that nobody picked, no graphs.

    Source: docs/model.md, launch settings.

    >>> round(launched(ServingConstants(kernel_time_scale=1.0), LaunchSettings(tuned=False)).kernel_time_scale, 2)
    1.32
    """
    scale = 1.0 if launch.tuned else LAUNCH.default_launch_kernel_scale
    return replace(
        serving,
        per_sequence_s=serving.per_sequence_s + serving.stream_token_s / launch.stream_interval,
        kernel_time_scale=serving.kernel_time_scale * scale,
        launch_share=1.0 if launch.eager else serving.launch_share,
    )


def scheduler_of(launch: LaunchSettings, serving: ServingConstants, parallelism: Parallelism) -> Scheduler:
    """The scheduler of a server that was started so.

    With dp ranks, each taking the next prompt with equal chance, every one has a prompt after dp·(ln dp + 0.577) + 1/2.

    Equation: docs/model.md, eq. (39).
    """
    ranks = float(parallelism.dp)
    return Scheduler(
        prompts_alone=float(launch.prompts_alone),
        whole_prompts=float(launch.whole_prompts),
        planned_ahead=launch.plans_ahead * serving.planned_ahead_steps,
        steps_waited=launch.plans_ahead * serving.planned_ahead_steps + (launch.poll_steps - 1.0) / 2.0,
        poll_steps=launch.poll_steps,
        batch_steps=launch.batch_wait_steps,
        batch_tokens=launch.batch_wait_tokens,
        rank_steps=launch.rank_wait_steps if ranks > 1 else 0.0,
        rank_prompts=ranks * (log(ranks) + _EULER) + 1.0 / 2.0,
        captured_tokens=launch.captured_tokens,
        server_s=serving.server_in_s + serving.server_out_s,
        prompt_token_s=serving.prompt_token_s,
        chunk_s=serving.chunk_s / launch.stream_interval,
    )
