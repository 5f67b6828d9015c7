"""`estimates/throughput/`: ceiling and expected speed of a replica under a load."""

from typing import Annotated

from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.codes import Reason
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.forward_pass.roofline import added, ridge_flops_per_byte
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.words import speed_word
from estimator.estimates.answers import Band
from estimator.estimates.echo import plan_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.memory_fit.launch import Server, launch_hint
from estimator.estimates.memory_fit.load import load_of
from estimator.estimates.throughput.breakdown import breakdown
from estimator.estimates.throughput.caveats import (
    throughput_assumptions,
    throughput_not_modelled,
    throughput_warnings,
)
from estimator.estimates.throughput.compute import Throughput, estimate_throughput
from estimator.estimates.throughput.energy import EnergyPart, energy_part
from estimator.estimates.throughput.explain import steps_of
from estimator.estimates.throughput.figures import SpeedFigures, band_part
from estimator.estimates.throughput.idle import idle_settings_of_speed
from estimator.estimates.throughput.next_measurement import NextMeasurement, next_measurement
from estimator.estimates.throughput.odds import TargetOdds, unknown_text
from estimator.estimates.throughput.parts import (
    CeilingPart,
    ConcurrencyPart,
    DecodePart,
    ExpectedPart,
    FirstTokenPart,
    MeetsSloPart,
    OddsPart,
    OpenLoadPart,
    PrefillPart,
    RooflinePart,
    SpeculativePart,
    SpeedName,
    ThroughputAnswer,
)
from estimator.estimates.throughput.simulated import MOST_REQUESTS, Percentiles, simulated
from estimator.estimates.throughput.simulated import Asked as Playing
from estimator.estimates.unused import unused_in_plan, unused_warnings
from estimator.figures.reasons import REASONS
from estimator.figures.speed import METRICS
from estimator.question.acting import Needs
from estimator.question.fields import WHOLE
from estimator.question.plan import PlanRequest
from estimator.resolvers.facts import Facts
from estimator.resolvers.plan import Plan
from estimator.resolvers.resolve import resolve_plan

_SIMULATED = Needs("percentiles: simulated is needed with it", lambda body: body.percentiles == "simulated")


class ThroughputRequest(PlanRequest):
    """Model, GPU, engine, settings and the load on one replica."""

    percentiles: Percentiles = Field(
        default="closed_form",
        description="closed_form; or simulated: the load is played through request by request as well, and `simulated` "
        "has the percentiles.",
    )
    simulated_requests: Annotated[Annotated[int, Field(ge=10, le=MOST_REQUESTS), WHOLE] | None, _SIMULATED] = Field(
        default=None,
        description=f"Requests to play, 10 to {MOST_REQUESTS:,}, at least three times workload.concurrency; ten for "
        "each in flight when not given.",
    )
    simulation_seed: Annotated[Annotated[int, Field(ge=0, le=2**31), WHOLE], _SIMULATED] = Field(
        default=0, description="Seed of lengths and arrivals; the same gives the same figures."
    )


def answer_throughput(body: ThroughputRequest, asked: Asked) -> ThroughputAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: no workload, or parts that do not go together.
    """
    if body.workload is None:
        raise ResolutionError([Fault(path=("workload",), code="required", detail=_("This field is required."))])
    plan = resolve_plan(body, asked.facts)
    result = estimate_throughput(plan)
    figures = result.figures
    steps = steps_of(result) if asked.explain else []
    energy = energy_part(plan, result.prepared, figures)
    return ThroughputAnswer(
        **plan_parts(
            plan,
            steps=steps,
            explain=asked.explain,
            assumptions=throughput_assumptions(result),
            warnings=[*throughput_warnings(result), *idle_settings_of_speed(plan), *_unused(body, plan, energy)],
            not_modelled=throughput_not_modelled(result),
        ),
        feasible=result.feasible,
        concurrency=_concurrency(result),
        ceiling=_ceiling(result),
        expected=expected_part(result),
        prefill=_prefill(result),
        decode=DecodePart(step_s=figures.step_s, flops=result.decode.flops, bytes=result.decode.bytes),
        roofline=_roofline(result),
        binding_term=figures.binding.label if figures.binding is not None else None,
        speed_word=speed_word_of(figures),
        time_breakdown_s=breakdown(result),
        open_load=_open_load(result),
        energy=energy,
        first_token=_first_token(result),
        meets_slo=_meets(result),
        odds=None if result.targets is None else odds_part(result, result.targets.odds),
        simulated=simulated(result, Playing(requests=body.simulated_requests, seed=body.simulation_seed))
        if body.percentiles == "simulated"
        else None,
        next_measurement=None if result.targets is None else measurement_of(result, result.targets.odds, asked.facts),
        speculative=_speculative(result),
        rows=result.rows,
        launch_hint=_launch_hint(result),
    )


def _launch_hint(result: Throughput) -> list[str]:
    """Flags of a server that holds the load, as memory-fit says them; none where nothing fits."""
    if not result.serves:
        return []
    sequences, tokens = load_of(result.plan)
    server = Server(
        plan=result.plan,
        memory=result.memory,
        context_tokens=tokens,
        sequences=sequences,
        engine_sequences=result.memory_cache.engine_sequences,
    )
    return launch_hint(server)


def _unused(body: ThroughputRequest, plan: Plan, energy: EnergyPart | None) -> tuple[str, ...]:
    rules = [*unused_in_plan(plan)]
    if energy is None:
        rules += [(path, _("no power is said")) for path in ("power", "power_cap_w", "gpu.tdp_w")]
    return unused_warnings(body, rules)


def _concurrency(result: Throughput) -> ConcurrencyPart:
    figures = result.figures
    return ConcurrencyPart(
        requested=None if result.workload.mode is WorkloadMode.OPEN_LOOP else figures.concurrency,
        effective=figures.effective_concurrency,
        decoding=figures.decoding_sequences,
        max_sequences=figures.max_sequences,
        full_length_sequences=figures.full_length_sequences,
        engine_max_sequences=result.memory_cache.engine_sequences,
        saturated=figures.saturated,
        basis="observed" if result.memory_cache.observed else result.plan.engine.memory.basis,
    )


def _ceiling(result: Throughput) -> CeilingPart:
    targets = result.targets
    return CeilingPart(
        **{name: result.figures.ceiling[name] for name in METRICS},
        goodput_requests_per_s=targets.goodput_ceiling if targets else None,
        max_requests_per_s_within_slo=targets.max_rate_ceiling if targets else None,
    )


def expected_part(result: Throughput) -> ExpectedPart:
    """The calibrated expectation in the answer's form."""
    figures, targets = result.figures, result.targets
    reason = figures.reason
    return ExpectedPart(
        **{name: band_part(figures.expected[name]) for name in METRICS},
        normalized_tpot_s=_normalized(result),
        goodput_requests_per_s=band_part(targets.goodput) if targets else None,
        max_requests_per_s_within_slo=band_part(targets.max_rate) if targets else None,
        basis=result.prepared.basis.value,
        reason=None if reason is Reason.NONE else reason.label,
        reason_detail=_reason_text(result),
    )


def _normalized(result: Throughput) -> Band | None:
    """End-to-end time over the output tokens; a batch's time is not that of a request."""
    whole, tokens = band_part(result.figures.expected["e2e_s"]), float(result.workload.output_tokens)
    if whole is None or tokens < 1 or result.workload.mode is WorkloadMode.STATIC_BATCH:
        return None
    return Band(low=whole.low / tokens, mid=whole.mid / tokens, high=whole.high / tokens)


def _reason_text(result: Throughput) -> str | None:
    reason = result.figures.reason
    if reason is Reason.MISSING_FIGURE and result.plan.gpu.slug is None and not result.plan.gpu.spec.kernel_family:
        return _("No measured kernels stand for a GPU given by its figures: give gpu.kernel_family, such as hopper.")
    if reason is Reason.MISSING_FIGURE:
        return result.prepared.unsupported or _("No measurement describes this engine at this load.")
    return REASONS.get(reason.label)


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
    memory, compute, fits = float(least.memory_s), float(least.compute_s), result.serves
    return RooflinePart(
        memory_s=memory if fits else None,
        compute_s=compute if fits else None,
        overlapped_s=float(least.time_s()) if fits else None,
        added_s=float(added(memory_s=memory, compute_s=compute)) if fits else None,
        arithmetic_intensity_flops_per_byte=work.intensity_flops_per_byte,
        ridge_flops_per_byte=ridge_flops_per_byte(
            peak_flops_per_s=result.peak_flops_per_s, bandwidth_bytes_per_s=gpu.memory_bandwidth_bytes_per_s
        ),
        mfu=work.flops / (available * result.peak_flops_per_s) if available else None,
        mbu=work.bytes / (available * gpu.memory_bandwidth_bytes_per_s) if available else None,
    )


def speed_word_of(figures: SpeedFigures) -> SpeedName | None:
    """How the speed of one user feels."""
    speed = figures.expected["tokens_per_s_per_user"].mid
    return speed_word(speed).value if speed is not None else None


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


def _first_token(result: Throughput) -> FirstTokenPart | None:
    figures, traffic = result.figures, result.workload.traffic
    if figures.ttft_forward_s is None:
        return None
    return FirstTokenPart(
        traffic=traffic.kind,
        statistic=traffic.statistic,
        taken_at=traffic.ttft_at,
        outside_s=figures.ttft_outside_s,
        waiting_s=figures.ttft_waiting_s,
        forward_s=figures.ttft_forward_s,
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


def odds_part(result: Throughput, found: TargetOdds) -> OddsPart:
    """Chances of meeting the targets in the answer's form."""
    return OddsPart(
        ttft_s=found.ttft_s,
        tpot_s=found.tpot_s,
        e2e_s=found.e2e_s,
        all=found.together,
        reason=unknown_text(found, _reason_text(result), ideal=result.prepared.ideal is not None),
    )


def measurement_of(result: Throughput, found: TargetOdds, facts: Facts) -> NextMeasurement:
    """The measurement that would narrow the decision on a plan most."""
    unknown = unknown_text(found, _reason_text(result), ideal=result.prepared.ideal is not None)
    return next_measurement(result.plan, found, facts, unknown)


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
    says_speed=True,
)
