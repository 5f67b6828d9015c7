"""`estimates/throughput/`: ceiling and expected speed of a replica under a load."""

from dataclasses import replace
from math import ceil
from typing import Any, Literal

from django.utils.translation import gettext as _
from pydantic import Field

from estimator.api.answers import BASIS_HELP, Band, Basis, ResponsePart
from estimator.api.endpoint import Asked, Endpoint
from estimator.api.schemas.echo import PlanAnswer, plan_parts
from estimator.api.schemas.plan import PlanRequest
from estimator.api.schemas.throughput_examples import EXAMPLES
from estimator.engine.codes import Binding, Reason
from estimator.engine.forward_pass.roofline import added, ridge_flops_per_byte
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.words import speed_word
from estimator.resolvers.issues import Issue, ResolutionError
from estimator.services.memory_fit import estimate_memory
from estimator.services.memory_hints import launch_hint
from estimator.services.throughput import Throughput, estimate_throughput
from estimator.services.throughput_explain import steps_of
from estimator.services.throughput_figures import METRICS, SpeedFigures, Triple

BindingName = Literal["memory_bandwidth", "compute", "interconnect", "overhead", "kv_cache"]
ReasonName = Literal["does_not_fit", "missing-figure", "kv_settings_assumed", "queue_grows", "no_queue"]
SpeedName = Literal["instant", "comfortable", "visibly_slow", "painful"]


class ThroughputRequest(PlanRequest):
    """Model, GPU, engine, settings and the load on one replica."""


class ConcurrencyPart(ResponsePart):
    """Sequences asked for and admitted."""

    requested: float = Field(description="Requests in flight asked for, count; 1 where the mode asks for none.")
    effective: float | None = Field(description="Sequences inside the engine, mean count; null when nothing fits.")
    decoding: float | None = Field(description="Of these, sequences that decode at a time, mean count.")
    max_sequences: float | None = Field(description="Most sequences of this length that cache and engine admit.")
    saturated: bool = Field(description="true: more was asked for than fits; requests wait for a place.")
    basis: Basis = Field(description="What the size of the KV cache rests on: observed, calibrated or assumption.")


class CeilingPart(ResponsePart):
    """The physical roofline: 100 % of dense peak and bandwidth over the bytes really touched. Nothing is faster."""

    ttft_s: float | None = Field(description="Least time to the first token, seconds.")
    tpot_s: float | None = Field(description="Least mean time per token with as many sequences decoding, seconds.")
    e2e_s: float | None = Field(description="Least time to the whole answer, seconds.")
    tokens_per_s_per_user: float | None = Field(description="Most output tokens/s of one request.")
    tokens_per_s_total: float | None = Field(description="Most output tokens/s of the replica.")
    tokens_per_s_per_gpu: float | None = Field(description="Most output tokens/s of the replica over its GPUs.")
    requests_per_s: float | None = Field(description="Most requests/s of the replica.")
    goodput_requests_per_s: float | None = Field(
        description="Requests/s that meet every target at the ceiling; null without targets."
    )
    max_requests_per_s_within_slo: float | None = Field(
        description="Highest requests/s within the targets at the ceiling; null without targets."
    )


class ExpectedPart(ResponsePart):
    """The calibrated expectation with its band; with engine ideal the roofline with the assumed efficiencies."""

    ttft_s: Band | None = Field(description="Time to the first token, seconds; open loop: the mean.")
    tpot_s: Band | None = Field(description="Mean time per output token after the first, seconds.")
    e2e_s: Band | None = Field(description="Time to the whole answer, seconds; static batch: of the whole batch.")
    normalized_tpot_s: Band | None = Field(
        description="e2e_s over all output tokens, the first one's wait included: what some tools call TPOT, seconds."
    )
    tokens_per_s_per_user: Band | None = Field(description="Output tokens/s that one request sees, 1 / tpot_s.")
    tokens_per_s_total: Band | None = Field(description="Output tokens/s of the replica.")
    tokens_per_s_per_gpu: Band | None = Field(description="Output tokens/s of the replica over its GPUs.")
    requests_per_s: Band | None = Field(description="Requests/s of the replica.")
    goodput_requests_per_s: Band | None = Field(
        description="Requests/s that meet every target at this load; null without targets."
    )
    max_requests_per_s_within_slo: Band | None = Field(
        description="Highest requests/s within the targets, over concurrencies or rates; null without targets."
    )
    basis: Basis = Field(description=BASIS_HELP)
    reason: ReasonName | None = Field(description="Why figures above are null; null where all are said.")
    reason_detail: str | None = Field(description="The same in words.")


class PrefillPart(ResponsePart):
    """Work and time of one prompt."""

    prefill_s: float | None = Field(description="One prompt alone on the replica, seconds, as expected.")
    flops: float = Field(description="Products and attention of one prompt, FLOP.")
    bytes: float = Field(description="Weights touched and cache read, bytes.")
    tokens_per_s: float | None = Field(description="Prompt tokens over prefill_s, tokens/s.")


class DecodePart(ResponsePart):
    """Work and time of one decode step."""

    step_s: float | None = Field(description="One step: a token for every decoding sequence, seconds, as expected.")
    flops: float = Field(description="Products and attention of one step of the replica, FLOP.")
    bytes: float = Field(description="Weights touched and cache read by one step of the replica, bytes.")


class RooflinePart(ResponsePart):
    """Where a decode step lies on the roofline."""

    arithmetic_intensity_flops_per_byte: float = Field(description="FLOPs over bytes of a step, FLOP/byte.")
    ridge_flops_per_byte: float = Field(description="Peak over bandwidth: above it compute binds, FLOP/byte.")
    memory_s: float = Field(description="Bytes of a step of one GPU over its bandwidth, seconds.")
    compute_s: float = Field(description="FLOPs of a step of one GPU over its dense peak, seconds.")
    overlapped_s: float = Field(description="A step whose transfers and products overlap fully: the larger, seconds.")
    added_s: float = Field(description="A step that first transfers and then computes: the sum, seconds.")
    mfu: float | None = Field(description="FLOPs of a step over what the GPUs could do in step_s, share.")
    mbu: float | None = Field(description="Bytes of a step over what the GPUs could read in step_s, share.")


class BreakdownPart(ResponsePart):
    """Where the expected time of one request goes, seconds.

    The parts add up to ttft_s + (output_tokens - 1) * tpot_s, which is e2e_s except for a static batch, whose e2e_s is
    that of the whole batch.
    """

    waiting: float = Field(description="Engine overhead, the running step, prompts ahead and a free place, seconds.")
    prefill: float = Field(description="Its own prompt, seconds.")
    decode_memory: float = Field(description="Decode: reading weights, cache and activations, seconds.")
    decode_compute: float = Field(description="Decode: products, seconds.")
    decode_interconnect: float = Field(description="Decode: exchange between GPUs, seconds.")
    decode_overhead: float = Field(description="Decode: kernel launches and the engine's own step, seconds.")
    prefill_interference: float = Field(description="Decode: waiting for the prompts of others, seconds.")


class MeetsSloPart(ResponsePart):
    """Targets held against the chosen side of the band."""

    ttft_s: bool | None = Field(description="Time to the first token; null when not asked or not known.")
    tpot_s: bool | None = Field(description="Time per token; null when not asked or not known.")
    e2e_s: bool | None = Field(description="Whole answer; null when not asked or not known.")
    all: bool | None = Field(description="Every target asked for; null when one is not known.")
    percentile: int = Field(description="Share of requests that must meet the targets, percent.")
    band_side: str = Field(description="mid, or conservative: the slow end of the band.")


class OpenLoadPart(ResponsePart):
    """Open loop: how busy the replica is and how TTFT spreads."""

    utilization: float = Field(description="Rate over the highest stable rate; at 1 or more the queue grows.")
    max_stable_requests_per_s: float = Field(description="Highest rate at which the queue stays finite, requests/s.")
    ttft_s_p50: float | None = Field(description="Half of the requests wait no longer, seconds.")
    ttft_s_p90: float | None = Field(description="90 % of the requests wait no longer, seconds.")
    ttft_s_p95: float | None = Field(description="95 % of the requests wait no longer, seconds.")
    ttft_s_p99: float | None = Field(description="99 % of the requests wait no longer, seconds.")


class SpeculativePart(ResponsePart):
    """Speculative decoding at this load; a speed-up below 1 slows down."""

    tokens_per_pass: float = Field(description="Expected tokens of one pass of the model.")
    speedup: float = Field(description="Decode speed with speculation over without, at this load.")
    speedup_memory_bound: float = Field(description="The same while verifying is free: tokens_per_pass / (1 + k · c).")
    verify_cost_ratio: float = Field(description="Time of a verifying pass over a plain step.")
    draft_cost_ratio: float = Field(description="Time of one drafted token over a plain step.")
    tpot_s: float | None = Field(description="Decode time per token with speculation, seconds; null when unknown.")
    reversal_batch_size: int | None = Field(
        description="Smallest power of two of sequences at which it slows down; null: none up to 4,096."
    )
    draft_cache_bytes_per_token: float | None = Field(
        description="KV cache of the draft model on a GPU, bytes per token; null without a draft model."
    )
    basis: Basis = Field(description=BASIS_HELP)


class RowPart(ResponsePart):
    """One batch size."""

    batch_size: float = Field(description="Concurrency of this row, count.")
    effective_concurrency: float | None = Field(description="Sequences inside the engine, mean count.")
    saturated: bool = Field(description="true: more was asked for than fits.")
    ceiling_tpot_s: float | None = Field(description="Least mean time per token, seconds.")
    ceiling_tokens_per_s_total: float | None = Field(description="Most output tokens/s of the replica.")
    ttft_s: Band | None = Field(description="Time to the first token, seconds.")
    tpot_s: Band | None = Field(description="Mean time per output token after the first, seconds.")
    tokens_per_s_per_user: Band | None = Field(description="Output tokens/s that one request sees.")
    tokens_per_s_total: Band | None = Field(description="Output tokens/s of the replica.")
    binding_term: BindingName | None = Field(description="What limits this row; null when nothing fits.")
    reason: ReasonName | None = Field(description="Why figures of the row are null.")


class ThroughputAnswer(PlanAnswer):
    """Speed of one replica under the load: ceiling and expectation, never mixed."""

    feasible: bool = Field(description="Weights and one sequence of this length fit.")
    concurrency: ConcurrencyPart
    ceiling: CeilingPart
    expected: ExpectedPart
    prefill: PrefillPart
    decode: DecodePart
    roofline: RooflinePart
    binding_term: BindingName | None = Field(
        description="Largest part of a decode step; kv_cache when the cache, not the step, limits; null if none fits."
    )
    speed_word: SpeedName | None = Field(description="How tokens_per_s_per_user feels to a reader.")
    time_breakdown_s: BreakdownPart | None = Field(description="Where the time of a request goes; null when not said.")
    open_load: OpenLoadPart | None = Field(description="Queue of an open loop; null in other modes.")
    meets_slo: MeetsSloPart | None = Field(description="Targets; null without slo.")
    speculative: SpeculativePart | None = Field(description="Speculative decoding; null when not asked for.")
    rows: list[RowPart] = Field(description="One row for each of batch_sizes, in their order.")
    launch_hint: list[str] = Field(description="Flags of the engine for this plan; empty where it has none.")


def answer_throughput(body: ThroughputRequest, asked: Asked) -> ThroughputAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: no workload, or parts that do not go together.
    """
    if body.workload is None:
        raise ResolutionError([Issue(path=("workload",), code="required", detail=_("This field is required."))])
    plan = body.plan(asked.facts)
    stated = "kv_cache" in body.precision.model_fields_set and body.memory.utilization is not None
    result = estimate_throughput(plan, kv_settings_assumed=not stated)
    figures = result.figures
    steps = steps_of(result) if asked.explain else []
    hint, beyond = _hint(result)
    return ThroughputAnswer(
        **plan_parts(
            plan,
            steps=steps,
            explain=asked.explain,
            assumptions=_assumptions(result),
            warnings=[*_warnings(result), *beyond],
            not_modelled=_not_modelled(result),
        ),
        feasible=figures.reason is not Reason.DOES_NOT_FIT,
        concurrency=_concurrency(result),
        ceiling=_ceiling(result),
        expected=_expected(result),
        prefill=_prefill(result),
        decode=DecodePart(step_s=figures.step_s, flops=result.decode.flops, bytes=result.decode.bytes),
        roofline=_roofline(result),
        binding_term=figures.binding.label if figures.binding is not None else None,
        speed_word=_word(figures),
        time_breakdown_s=_breakdown(result),
        open_load=_open_load(result),
        meets_slo=_meets(result),
        speculative=_speculative(result),
        rows=[_row(row) for row in result.rows],
        launch_hint=hint,
    )


def _hint(result: Throughput) -> tuple[list[str], list[str]]:
    """Flags that start the engine as the figures take it, and a warning where its own defaults would run fewer."""
    plan = result.plan
    if not plan.engine.memory:
        return [], []
    estimate = estimate_memory(plan)
    running = ceil((result.figures.effective_concurrency or 0.0) / plan.parallelism.dp)
    default = estimate.fit.rank.max_num_seqs
    if plan.memory.max_num_seqs is not None or running <= default:
        return launch_hint(estimate), []
    text = _(
        "The engine's default runs %(default)s sequences at once on this GPU; the figures take it to be started for "
        "%(running)s, as the launch hint says. State memory.max_num_seqs to see the default's."
    ) % {"default": default, "running": running}
    raised = replace(plan, memory=replace(plan.memory, max_num_seqs=running))
    return launch_hint(estimate_memory(raised)), [text]


def _band(triple: Triple) -> Band | None:
    if triple.mid is None or triple.low is None or triple.high is None:
        return None
    return Band(low=min(triple.low, triple.mid), mid=triple.mid, high=max(triple.high, triple.mid))


def _concurrency(result: Throughput) -> ConcurrencyPart:
    figures = result.figures
    return ConcurrencyPart(
        requested=figures.concurrency,
        effective=figures.effective_concurrency,
        decoding=figures.decoding_sequences,
        max_sequences=figures.max_sequences,
        saturated=figures.saturated,
        basis=result.budget.basis,
    )


def _ceiling(result: Throughput) -> CeilingPart:
    targets = result.targets
    return CeilingPart(
        **{name: result.figures.ceiling[name] for name in METRICS},
        goodput_requests_per_s=targets.goodput_ceiling if targets else None,
        max_requests_per_s_within_slo=targets.max_rate_ceiling if targets else None,
    )


def _expected(result: Throughput) -> ExpectedPart:
    figures, targets = result.figures, result.targets
    reason = figures.reason
    return ExpectedPart(
        **{name: _band(figures.expected[name]) for name in METRICS},
        normalized_tpot_s=_normalized(result),
        goodput_requests_per_s=_band(targets.goodput) if targets else None,
        max_requests_per_s_within_slo=_band(targets.max_rate) if targets else None,
        basis=result.prepared.basis.value,
        reason=None if reason is Reason.NONE else reason.label,
        reason_detail=_reason_text(result),
    )


def _normalized(result: Throughput) -> Band | None:
    """End-to-end time over the output tokens; a batch's time is not that of a request."""
    whole, tokens = _band(result.figures.expected["e2e_s"]), float(result.workload.output_tokens)
    if whole is None or tokens < 1 or result.workload.mode is WorkloadMode.STATIC_BATCH:
        return None
    return Band(low=whole.low / tokens, mid=whole.mid / tokens, high=whole.high / tokens)


def _reason_text(result: Throughput) -> str | None:
    texts = {
        Reason.DOES_NOT_FIT: _("Weights and one sequence of this length do not fit into the memory."),
        Reason.KV_SETTINGS_ASSUMED: _(
            "More requests than fit: the wait for a place depends on the KV format and the memory share, which were "
            "not both given."
        ),
        Reason.QUEUE_GROWS: _("Requests arrive faster than the replica serves them: the queue grows without end."),
        Reason.NO_QUEUE: _("Offline the queue never empties: a time to the first token is no property of it."),
    }
    reason = result.figures.reason
    if reason is Reason.MISSING_FIGURE and result.plan.gpu.slug is None and not result.plan.gpu.spec.kernel_family:
        return _("No measured kernels stand for a GPU given by its figures: give gpu.kernel_family, such as hopper.")
    if reason is Reason.MISSING_FIGURE:
        return result.prepared.unsupported or _("No measurement describes this engine at this load.")
    return texts.get(reason)


def _prefill(result: Throughput) -> PrefillPart:
    seconds, tokens = result.figures.prefill_s, result.workload.input_tokens
    return PrefillPart(
        prefill_s=seconds,
        flops=result.prefill.flops,
        bytes=result.prefill.bytes,
        tokens_per_s=tokens / seconds if seconds else None,
    )


def _roofline(result: Throughput) -> RooflinePart:
    gpu, work, step = result.plan.gpu.spec, result.decode, result.figures.step_s
    gpus = result.plan.parallelism.gpus
    available = step * gpus if step else None
    least = result.floor
    memory, compute = float(least.memory_s), float(least.compute_s)
    return RooflinePart(
        memory_s=memory,
        compute_s=compute,
        overlapped_s=float(least.time_s()),
        added_s=float(added(memory_s=memory, compute_s=compute)),
        arithmetic_intensity_flops_per_byte=work.intensity_flops_per_byte,
        ridge_flops_per_byte=ridge_flops_per_byte(
            peak_flops_per_s=result.peak_flops_per_s, bandwidth_bytes_per_s=gpu.memory_bandwidth_bytes_per_s
        ),
        mfu=work.flops / (available * result.peak_flops_per_s) if available else None,
        mbu=work.bytes / (available * gpu.memory_bandwidth_bytes_per_s) if available else None,
    )


def _word(figures: SpeedFigures) -> SpeedName | None:
    speed = figures.expected["tokens_per_s_per_user"].mid
    return speed_word(speed).value if speed is not None else None


def _breakdown(result: Throughput) -> BreakdownPart | None:
    figures = result.figures
    ttft, tpot = figures.expected["ttft_s"].mid, figures.expected["tpot_s"].mid
    parts = {b: figures.parts_s.get(b) or 0.0 for b in Binding}
    known = sum(parts.values())
    if ttft is None or tpot is None or figures.prefill_s is None or not known:
        return None
    tokens = max(result.workload.output_tokens, 1) - 1
    # The roofline's parts overlap; only the longer one is time that passes.
    step = figures.step_s or known
    scale = step / known if result.prepared.ideal is None else None
    if scale is None:
        longest = max(parts, key=lambda b: parts[b])
        parts = {b: (step if b is longest else 0.0) for b in Binding}
        scale = 1.0
    return BreakdownPart(
        waiting=ttft - figures.prefill_s,
        prefill=figures.prefill_s,
        decode_memory=tokens * scale * parts[Binding.MEMORY_BANDWIDTH],
        decode_compute=tokens * scale * parts[Binding.COMPUTE],
        decode_interconnect=tokens * scale * parts[Binding.INTERCONNECT],
        decode_overhead=tokens * scale * parts[Binding.OVERHEAD],
        prefill_interference=tokens * (tpot - step),
    )


def _open_load(result: Throughput) -> OpenLoadPart | None:
    figures = result.figures
    if result.workload.mode is not WorkloadMode.OPEN_LOOP or figures.utilization is None:
        return None
    return OpenLoadPart(
        utilization=figures.utilization,
        max_stable_requests_per_s=figures.max_stable_requests_per_s or 0.0,
        ttft_s_p50=figures.ttft_s_p50,
        ttft_s_p90=figures.ttft_s_p90,
        ttft_s_p95=figures.ttft_s_p95,
        ttft_s_p99=figures.ttft_s_p99,
    )


def _meets(result: Throughput) -> MeetsSloPart | None:
    targets = result.targets
    if targets is None:
        return None
    return MeetsSloPart(
        **targets.met, all=targets.all_met, percentile=targets.percentile, band_side=targets.band_side.value
    )


def _speculative(result: Throughput) -> SpeculativePart | None:
    found, asked = result.speculation, result.plan.speculative
    if found is None or asked is None:
        return None
    tokens = found.at_load.tokens_per_pass
    return SpeculativePart(
        tokens_per_pass=tokens,
        speedup=found.speedup,
        speedup_memory_bound=tokens / (1.0 + asked.draft_tokens * found.draft_cost_ratio),
        verify_cost_ratio=found.verify_cost_ratio,
        draft_cost_ratio=found.draft_cost_ratio,
        tpot_s=found.tpot_s,
        reversal_batch_size=found.reversal_batch_size,
        draft_cache_bytes_per_token=found.draft_cache_bytes_per_token,
        basis="assumption",
    )


def _row(figures: SpeedFigures) -> RowPart:
    values: dict[str, Any] = {
        name: _band(figures.expected[name])
        for name in ("ttft_s", "tpot_s", "tokens_per_s_per_user", "tokens_per_s_total")
    }
    return RowPart(
        batch_size=figures.concurrency,
        effective_concurrency=figures.effective_concurrency,
        saturated=figures.saturated,
        ceiling_tpot_s=figures.ceiling["tpot_s"],
        ceiling_tokens_per_s_total=figures.ceiling["tokens_per_s_total"],
        binding_term=figures.binding.label if figures.binding is not None else None,
        reason=None if figures.reason is Reason.NONE else figures.reason.label,
        **values,
    )


def _assumptions(result: Throughput) -> list[str]:
    texts = []
    ideal = result.plan.engine.ideal
    if ideal is not None:
        texts.append(
            _("Prefill reaches %(prefill)g and decode %(decode)g of the dense peak, transfers the whole bandwidth.")
            % {"prefill": ideal.prefill_compute_efficiency, "decode": ideal.decode_compute_efficiency}
        )
    if result.workload.mode is WorkloadMode.OPEN_LOOP:
        texts.append(
            _(
                "Prompts wait for one server with equal service times (GI/D/1, Gamma gaps), and near full places for "
                "a free one by Sakasegawa's formula."
            )
        )
    return texts


def _warnings(result: Throughput) -> list[str]:
    texts = [
        _("No measurement of this GPU stands behind: %(what)s; the nearest was taken and the band is wider.")
        % {"what": doubt}
        for doubt in result.prepared.doubts
    ]
    if result.workload.mode is WorkloadMode.OPEN_LOOP:
        return texts
    if result.waits_for == "cache":
        texts.append(_("More requests are in flight than fit into the KV cache; plan below 95 % of it."))
    elif result.waits_for == "engine":
        limit = _("More requests are in flight than the engine runs at once (%(n)s): the others wait for a place.")
        texts.append(limit % {"n": round(result.figures.max_sequences or 0)})
    return texts


def _not_modelled(result: Throughput) -> list[str]:
    texts = [
        _("sampling options, tool calls and network time to the client"),
        _("correlated routing of experts and uneven lengths of requests"),
    ]
    if result.prepared.ideal is not None:
        texts.append(_("kernel launches, exchange between GPUs, prefills of other requests, queues"))
    if result.workload.prefix_cache_hit_rate:
        texts.append(_("memory that requests with a common prefix share"))
    if result.figures.reason is Reason.DOES_NOT_FIT:
        texts.append(
            _("weights in host memory (offloading): such a server is bound by that memory and the bus, not by the GPU")
        )
    if result.waits_for == "cache" and result.workload.mode is not WorkloadMode.OPEN_LOOP:
        texts.append(_("preemption: a server that admits beyond its cache computes some sequences twice"))
    if result.workload.mode is WorkloadMode.OPEN_LOOP:
        texts.append(_("priorities and preemption; prompts are served one after the other"))
    if result.plan.speculative is not None:
        texts.append(_("speculation in expected: its figures are those without, the block speculative those with"))
    return texts


ENDPOINT = Endpoint(
    slug="throughput",
    summary="Speed of a replica: ceiling and expected, at one load or a list of batch sizes",
    description=(
        "The physical ceiling and the calibrated expectation with its error band, never mixed: time to the first "
        "token, time per token, tokens/s of a user, of the replica and of a GPU. What limits, where the time goes, "
        "whether targets are met and the highest rate within them. With engine ideal, expected is the roofline with "
        "the source documents' efficiencies."
    ),
    request=ThroughputRequest,
    response=ThroughputAnswer,
    answer=answer_throughput,
    examples=EXAMPLES,
)
