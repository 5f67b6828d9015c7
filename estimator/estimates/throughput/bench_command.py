"""The command that measures a plan at its load: of the arguments that its engine's client takes, and of no others."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from django.utils.translation import gettext as _

from estimator.engine.specs import WorkloadMode
from estimator.estimates.memory_fit.launch_command import Arguments, read_argument_lists, repository_of
from estimator.estimates.throughput.setting import workload_of
from estimator.question.traffic import REQUESTS_PER_CONCURRENCY, TrafficKind
from estimator.question.workload import ResolvedWorkload
from estimator.resolvers.plan import Plan

_ARGUMENTS = Path(__file__).parent / "bench_arguments.yaml"
# Fewest requests of a run, and requests beyond the percentile that are wanted: fewer tell no percentile.
_FEWEST, _BEYOND = 100, 20
_LLAMA_CACHES = {"fp16": "f16", "bf16": "bf16", "q8_0": "q8_0", "q4_0": "q4_0"}
MODEL, FILES, REQUESTS = '"$MODEL"', '"$GGUF"', '"$REQUESTS"'


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCommand:
    """The command, or None with the reason; `arguments` is what it was checked against, `note` what it needs."""

    command: str | None
    reason: str | None
    arguments: Arguments | None
    note: str | None = None


def bench_command(plan: Plan, model_source: str | None, percentile: int) -> BenchCommand:
    """The command that measures the times of a plan at its load.

    Args:
        plan: a plan with its workload.
        model_source: where the catalog read the model's config; it names the repository of its files.
        percentile: share of requests that the targets are held to, percent: the run is long enough to tell it.
    """
    arguments = read_argument_lists(_ARGUMENTS).get(plan.engine.slug)
    if arguments is None:
        reason = _("The arguments of this engine's benchmark client are not known: no command is made.")
        return BenchCommand(command=None, reason=reason, arguments=None)
    workload = workload_of(plan)
    obstacle = next(_obstacles(plan, workload), None)
    if obstacle is not None:
        return BenchCommand(command=None, reason=obstacle, arguments=arguments)
    model = shlex.quote(name) if (name := repository_of(model_source)) else MODEL
    flags = [*_FLAGS[arguments.program](plan, workload, model, percentile)]
    unknown = [flag.split()[0] for flag in flags if flag.startswith("--") and flag.split()[0] not in arguments.names]
    if unknown:
        reason = _("%(version)s does not take %(flags)s.") % {"version": arguments.version, "flags": ", ".join(unknown)}
        return BenchCommand(command=None, reason=reason, arguments=arguments)
    note = _("Run it beside a server that was started for this plan.")
    if arguments.program == "trtllm-bench":
        note = _("$REQUESTS is a file of requests of these lengths, as its prepare_dataset makes it.")
    elif arguments.program == "llama-bench":
        note = _("It loads the file itself; no server runs beside it.")
    return BenchCommand(
        command=" \\\n  ".join([arguments.program, *flags]), reason=None, arguments=arguments, note=note
    )


def _obstacles(plan: Plan, workload: ResolvedWorkload) -> Iterator[str]:
    """Why no command of this client measures the load, the plainest reason first."""
    kind, arrives = plan.engine.engine, workload.mode is WorkloadMode.OPEN_LOOP
    if workload.mode in (WorkloadMode.OFFLINE, WorkloadMode.DECODE_STEP, WorkloadMode.STATIC_BATCH):
        yield _("Clients measure requests in flight and arrivals: ask in mode closed_loop, open_loop or single_stream.")
    if plan.speculative is not None:
        yield _("The figures are those without speculation: measure the plan without it.")
    if kind != "vllm" and workload.prefix_cache_hit_rate:
        yield _("This client makes no prompts with a common prefix.")
    if arrives and kind not in ("vllm", "sglang"):
        yield _("This client sends no requests at a rate.")
    if arrives and kind == "sglang" and workload.burstiness_cv != 1.0:
        yield _("This client's arrivals are Poisson: burstiness_cv is 1 there.")
    if arrives and workload.burstiness_cv == 0.0:
        yield _("This client's arrivals are drawn at random: none has a burstiness_cv of 0.")


def _requests(workload: ResolvedWorkload, percentile: int) -> int:
    """Requests of a run: ten rounds, or as many as tell the percentile."""
    if workload.mode is WorkloadMode.OPEN_LOOP:
        return max(ceil(_BEYOND * 100 / (100 - percentile)), _FEWEST)
    in_flight = workload.concurrency
    rounds = workload.traffic.waves(in_flight) or REQUESTS_PER_CONCURRENCY
    return max(ceil(rounds * in_flight), _FEWEST if workload.traffic.kind is TrafficKind.STEADY else 1)


def _load(workload: ResolvedWorkload) -> Iterator[str]:
    if workload.mode is WorkloadMode.OPEN_LOOP:
        yield f"--request-rate {workload.requests_per_s:g}"
        if workload.burstiness_cv != 1.0:
            # The client's factor is the shape of the Gamma distribution of gaps.
            yield f"--burstiness {workload.burstiness_cv**-2:.6g}"
    else:
        yield f"--max-concurrency {workload.concurrency}"


def _vllm(plan: Plan, workload: ResolvedWorkload, model: str, percentile: int) -> Iterator[str]:
    prompt, answer = round(workload.input_tokens), max(round(workload.output_tokens), 1)
    shared = round(prompt * workload.prefix_cache_hit_rate)
    yield f"--model {model}"
    yield "--dataset-name random"
    yield f"--random-input-len {max(prompt - shared, 1)}"
    if shared:
        yield f"--random-prefix-len {shared}"
    yield f"--random-output-len {answer}"
    ratio = workload.traffic.length_ratio
    # Lengths are the mean, less and more by this share.
    yield f"--random-range-ratio {(1.0 - ratio) / (1.0 + ratio):.4g}"
    yield f"--num-prompts {_requests(workload, percentile)}"
    yield from _load(workload)
    yield "--ignore-eos"
    yield "--percentile-metrics ttft,tpot,e2el"
    yield f"--metric-percentiles {','.join(map(str, sorted({50, 90, percentile, 99})))}"


def _sglang(plan: Plan, workload: ResolvedWorkload, model: str, percentile: int) -> Iterator[str]:
    ratio = workload.traffic.length_ratio
    longest = 2.0 / (1.0 + ratio)
    yield "--backend sglang"
    yield f"--model {model}"
    yield "--dataset-name random-ids"
    # Lengths go from this share of the longest to it.
    yield f"--random-input-len {round(longest * workload.input_tokens)}"
    yield f"--random-output-len {max(round(longest * workload.output_tokens), 1)}"
    yield f"--random-range-ratio {ratio:g}"
    yield f"--num-prompts {_requests(workload, percentile)}"
    yield from _load(workload)


def _trtllm(plan: Plan, workload: ResolvedWorkload, model: str, percentile: int) -> Iterator[str]:
    degrees = plan.parallelism
    yield f"--model {model}"
    yield "throughput"
    yield f"--dataset {REQUESTS}"
    yield f"--num_requests {_requests(workload, percentile)}"
    yield f"--concurrency {workload.concurrency}"
    yield "--streaming"
    for name in ("tp", "pp", "ep"):
        if getattr(degrees, name) > 1:
            yield f"--{name} {getattr(degrees, name)}"


def _llama_cpp(plan: Plan, workload: ResolvedWorkload, model: str, percentile: int) -> Iterator[str]:
    prompt, answer = max(round(workload.input_tokens), 1), max(round(workload.output_tokens), 1)
    cache = _LLAMA_CACHES.get(plan.precision.kv_cache)
    yield f"--model {FILES}"
    yield f"--n-prompt {prompt}"
    yield f"--n-gen {answer}"
    # Prompts behind nothing, tokens behind the prompt.
    yield f"--n-depth 0,{prompt}"
    yield "--n-gpu-layers 99"
    if cache is not None and cache != "f16":
        yield f"--cache-type-k {cache}"
        yield f"--cache-type-v {cache}"


_FLAGS = {
    "vllm bench serve": _vllm,
    "python -m sglang.bench_serving": _sglang,
    "trtllm-bench": _trtllm,
    "llama-bench": _llama_cpp,
}
