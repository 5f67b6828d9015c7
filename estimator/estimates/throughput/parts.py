"""The answer of `estimates/throughput/`, part by part."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import Field, create_model

from estimator.estimates.answers import BASIS_HELP, Band, Basis, ResponsePart, part_of, shown
from estimator.estimates.echo import PlanAnswer
from estimator.estimates.throughput.compute import SpeculationResult
from estimator.estimates.throughput.energy import EnergyPart
from estimator.estimates.throughput.figures import SpeedFigures
from estimator.estimates.throughput.next_measurement import NextMeasurement
from estimator.estimates.throughput.simulated import SimulatedPart
from estimator.figures.energy import ENERGY
from estimator.figures.speed import FIGURES
from estimator.question.traffic import Statistic, TakenFrom, TrafficKind

BindingName = Literal["memory_bandwidth", "compute", "interconnect", "overhead", "kv_cache"]


ReasonName = Literal[
    "does_not_fit",
    "missing-figure",
    "kv_settings_assumed",
    "queue_grows",
    "no_queue",
    "no_second_token",
    "one_step",
]


SpeedName = Literal["instant", "comfortable", "visibly_slow", "painful"]


class ConcurrencyPart(ResponsePart):
    """Sequences asked for and admitted."""

    requested: float | None = Field(description="Requests in flight asked for, count; null in open loop.")
    effective: float | None = Field(
        description="Sequences inside the engine, mean count; up to a fraction above max_sequences. null if none fits."
    )
    decoding: float | None = Field(description="Of these, sequences that decode at a time, mean count.")
    max_sequences: float | None = Field(
        description="Most sequences that run at once, count: as many as the KV cache has room for while they run "
        "(prompt and half of the answer, or all of it where the engine never evicts; context_tokens where stated), at "
        "most engine_max_sequences. 0 when not one fits to its end."
    )
    full_length_sequences: float | None = Field(
        description="Sequences that the KV cache holds when each has its prompt and whole answer in it (context_tokens "
        "where stated), count: max_sequences of memory-fit. Beyond it an engine may have to evict."
    )
    engine_max_sequences: int = Field(
        description="Sequences that the engine's scheduler runs at once at most, whatever the cache holds, count; as "
        "in memory-fit."
    )
    saturated: bool = Field(
        description="true: more was asked for than max_sequences; requests wait for a place. false when not one fits."
    )
    basis: Basis = Field(description="What the size of the KV cache rests on: observed, calibrated or assumption.")


class _Ceiling(ResponsePart):
    goodput_requests_per_s: float | None = Field(
        description="Requests/s that meet every target at the ceiling; null without targets."
    )
    max_requests_per_s_within_slo: float | None = Field(
        description="Highest requests/s within the targets at the ceiling; null without targets."
    )


class _Expected(ResponsePart):
    normalized_tpot_s: Band | None = Field(
        description="e2e_s over all output tokens, the first one's wait included: what some tools call TPOT, seconds."
    )
    goodput_requests_per_s: Band | None = Field(
        description="Requests/s that meet every target at this load; null without targets."
    )
    max_requests_per_s_within_slo: Band | None = Field(
        description="Highest requests/s within the targets, over concurrencies at each end of the band; of arrivals "
        "safely (chance of 0.9), likely (0.5) and hardly; null without targets."
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
    memory_s: float | None = Field(
        description="Bytes of a step of one GPU over its bandwidth, seconds; null when nothing fits."
    )
    compute_s: float | None = Field(
        description="FLOPs of a step of one GPU over its dense peak, seconds; null when nothing fits."
    )
    overlapped_s: float | None = Field(
        description="A step whose transfers and products overlap fully: the larger, seconds; null when nothing fits."
    )
    added_s: float | None = Field(
        description="A step that first transfers and then computes: the sum, seconds; null when nothing fits."
    )
    mfu: float | None = Field(description="FLOPs of a step over what the GPUs could do in step_s, share.")
    mbu: float | None = Field(description="Bytes of a step over what the GPUs could read in step_s, share.")


class BreakdownPart(ResponsePart):
    """Where the expected time of one request goes, seconds.

    The parts add up to e2e_s: the mean request from the client, whichever first token traffic asks for; of a static
    batch the whole batch, in all its turns.
    """

    waiting: float = Field(
        description="Client and server, the running step, prompts ahead and a free place, seconds; of a static batch "
        "the prompts of the others and the turns before."
    )
    prefill: float = Field(description="Its own prompt, seconds.")
    decode_memory: float = Field(description="Decode: reading weights, cache and activations, seconds.")
    decode_compute: float = Field(description="Decode: products, seconds.")
    decode_interconnect: float = Field(description="Decode: exchange between GPUs, seconds.")
    decode_overhead: float = Field(description="Decode: kernel launches and the engine's own step, seconds.")
    prefill_interference: float = Field(description="Decode: waiting for the prompts of others, seconds.")


Said = TypeVar("Said", bool, float)


class OfTargets(ResponsePart, Generic[Said]):
    """One thing said of each target and of all of them."""

    ttft_s: Said | None = Field(description="Of the time to the first token; null when not asked or not known.")
    tpot_s: Said | None = Field(
        description="Of the time per token; null when not asked, not known, or where answers of one token have none."
    )
    e2e_s: Said | None = Field(description="Of the whole answer; null when not asked or not known.")
    all: Said | None = Field(
        description="Of every target at once that was asked for and can bind; null when one is not known or none can."
    )


class MeetsSloPart(OfTargets[bool]):
    """Targets held against the chosen side of the band."""

    percentile: int = Field(description="Share of requests that must meet the targets, percent.")
    band_side: str = Field(description="mid, or conservative: the slow end of the band.")


class OddsPart(OfTargets[float]):
    """Chance, 0 to 1, that this load is within its targets, from the error bands: 0.9 at a slow end, even in a middle.

    Errors of TTFT and TPOT go together a little, as those of measured rows do. Under arrivals the times are those at
    the percentile, and a queue has to stay finite.
    """

    reason: str | None = Field(description="Why `all` is null; null where it is said.")


OpenLoadPart: Any = part_of(
    SpeedFigures,
    "OpenLoadPart",
    "Open loop: how busy the replica is and how TTFT spreads.",
    utilization=shown("Rate over the highest stable rate; at 1 or more the queue grows.", kind=float),
    max_stable_requests_per_s=shown("Highest rate at which the queue stays finite, requests/s.", kind=float),
    ttft_s_p50="Half of the requests wait no longer, seconds.",
    ttft_s_p90="90 % of the requests wait no longer, seconds.",
    ttft_s_p95="95 % of the requests wait no longer, seconds.",
    ttft_s_p99="99 % of the requests wait no longer, seconds.",
)


class FirstTokenPart(ResponsePart):
    """The time to the first token: of which traffic and statistic it is, where it is taken, and where it goes."""

    traffic: TrafficKind = Field(description="steady: requests of a service; benchmark: those of a closed-loop client.")
    statistic: Statistic = Field(description="Statistic over requests that expected.ttft_s is.")
    taken_at: TakenFrom = Field(
        description="Where expected.ttft_s is taken: client, from sending; admission, from the scheduler; forward, "
        "from the prompt's first pass."
    )
    outside_s: float | None = Field(
        description="Client and server, before the scheduler has the request and after the last step, mean seconds."
    )
    waiting_s: float | None = Field(
        description="Waits for the scheduler, for prompts ahead and for a free place, mean seconds."
    )
    forward_s: float | None = Field(description="The passes of its own prompt, mean seconds.")
    ttft_s_p50: float | None = Field(description="From the client, half of the requests wait no longer, seconds.")
    ttft_s_p90: float | None = Field(description="From the client, 90 % of the requests wait no longer, seconds.")
    ttft_s_p95: float | None = Field(description="From the client, 95 % of the requests wait no longer, seconds.")
    ttft_s_p99: float | None = Field(description="From the client, 99 % of the requests wait no longer, seconds.")


SpeculativePart: Any = part_of(
    SpeculationResult,
    "SpeculativePart",
    "Speculative decoding at this load; a speed-up below 1 slows down.",
    tokens_per_pass=shown("Expected tokens of one pass of the model.", kind=float),
    speedup="Decode speed with speculation over without, at this load.",
    speedup_memory_bound=shown("The same while verifying is free: tokens_per_pass / (1 + k · c).", kind=float),
    verify_cost_ratio="Time of a verifying pass over a plain step.",
    draft_cost_ratio="Time of one drafted token over a plain step.",
    tpot_s="Decode time per token with speculation, seconds; null when unknown.",
    reversal_batch_size="Smallest power of two of sequences at which it slows down; null: none up to 4,096.",
    draft_cache_bytes_per_token="KV cache of the draft model on a GPU, bytes per token; null without a draft model.",
    basis=shown(BASIS_HELP, kind=Basis),
)


class _Row(ResponsePart):
    batch_size: float = Field(description="Concurrency of this row, count.")
    effective_concurrency: float | None = Field(description="Sequences inside the engine, mean count.")
    saturated: bool = Field(description="true: more was asked for than runs at once; false when not one fits.")
    binding_term: BindingName | None = Field(description="What limits this row; null when nothing fits.")
    reason: ReasonName | None = Field(description="Why figures of the row are null.")


def _figures(kind: Any, prefix: str = "") -> dict[str, Any]:
    """A field for each figure of a load."""
    return {
        prefix + figure.name: (kind, Field(description=figure.said if kind is _BAND else figure.least))
        for figure in FIGURES
    }


def _energy() -> dict[str, Any]:
    """A field for each figure of power and energy."""
    return {name: (_BAND, Field(description=said)) for name, (_unit, said) in ENERGY.items()}


_BAND, _NUMBER = Band | None, float | None
CeilingPart: Any = create_model(
    "CeilingPart",
    __base__=_Ceiling,
    __doc__="The physical roofline: all of dense peak and bandwidth over the bytes really touched. Nothing is faster.",
    **_figures(_NUMBER),
)
ExpectedPart: Any = create_model(
    "ExpectedPart",
    __base__=_Expected,
    __doc__="The calibrated expectation with its band; with engine ideal the roofline with the assumed efficiencies.",
    **_figures(_BAND),
)
RowPart: Any = create_model(
    "RowPart",
    __base__=_Row,
    __doc__="One batch size, with the figures that `ceiling` and `expected` have at its load.",
    **_figures(_NUMBER, "ceiling_"),
    **_figures(_BAND),
    **_energy(),
)


class ThroughputAnswer(PlanAnswer):
    """Speed of one replica under the load: ceiling and expectation, never mixed."""

    feasible: bool = Field(
        description="Whether the load fits with its whole answers: what memory-fit says of it. Where it does not and "
        "one sequence does, the figures are those of the sequences that run while the others wait; where not even "
        "one fits, no time or rate is said."
    )
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
    energy: EnergyPart | None = Field(
        description="Power and energy; null where the design power of the GPU is not known, or no rate is said."
    )
    first_token: FirstTokenPart | None = Field(
        description="Parts and percentiles of the time to the first token; null where none is said."
    )
    meets_slo: MeetsSloPart | None = Field(description="Targets; null without slo.")
    odds: OddsPart | None = Field(description="Chances of meeting the targets; null without slo.")
    simulated: SimulatedPart | None = Field(
        description="The load played through request by request; null where percentiles: simulated is not asked for."
    )
    next_measurement: NextMeasurement | None = Field(
        description="The benchmark that would narrow the decision on the targets most; null without slo."
    )
    speculative: SpeculativePart | None = Field(description="Speculative decoding; null when not asked for.")
    rows: list[RowPart] = Field(description="One row for each of batch_sizes, in their order.")
    launch_hint: list[str] = Field(
        description="Flags of the engine for this plan; empty where it has none or nothing fits."
    )
