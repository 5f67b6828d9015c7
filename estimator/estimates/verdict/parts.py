"""The parts of a verdict's answer."""

from typing import Any, Literal

from pydantic import Field

from estimator.engine.memory.fit import MemoryFit
from estimator.estimates.answers import Amount, Band, ResponsePart, part_of, shown
from estimator.estimates.cost.answer import SelfHostedBill
from estimator.estimates.echo import PlanAnswer
from estimator.estimates.memory_fit.answer import MemoryLedger
from estimator.estimates.throughput.capacity import LoadWithin
from estimator.estimates.throughput.energy import EnergyPart
from estimator.estimates.throughput.next_measurement import NextMeasurement
from estimator.estimates.throughput.parts import BindingName, ExpectedPart, OddsPart, SpeedName

StateName = Literal["safe", "likely", "fits", "too_slow", "speed_unknown", "does_not_fit"]
STATE_HELP = (
    "safe: fits, and all targets are met with a chance of 0.9 and more; likely: of 0.5 and more; fits: no target "
    "was asked for; too_slow: they do not hold; speed_unknown: fits, nothing measured tells the speed; does_not_fit."
)


class VerdictWords(ResponsePart):
    """The verdict for people."""

    state: StateName = Field(description=STATE_HELP)
    label: str = Field(description="The state in two or three words.")
    sentence: str = Field(description="The verdict in one sentence.")
    figures: str | None = Field(description="Times and money in a sentence; null where they are not said.")
    binds: str = Field(description="What limits the plan, in a sentence.")
    advice: str = Field(description="The nearest change that would help, in a sentence.")


ConcurrencyWithin: Any = part_of(
    LoadWithin,
    "ConcurrencyWithin",
    "The most requests in flight that memory holds and that meet every target; without targets what memory holds.",
    low="Safe users: all targets are met with a chance of 0.9, count; 0 when not for one.",
    mid="Likely users: all targets are met with a chance of 0.5, count.",
    high="Hardly: all targets are met with a chance of 0.1, count.",
    binding=shown(
        "What ends the middle: ttft, tpot, e2e, memory, max_num_seqs or missing-figure; null at 0.", kind=str | None
    ),
)


VerdictMemory: Any = part_of(
    MemoryFit,
    "VerdictMemory",
    "Memory, as memory-fit says it.",
    verdict=shown("The verdict of memory-fit on the load.", kind=Literal["fits", "tight", "does_not_fit"]),
    feasible="Whether the load fits.",
    binding_term=shown("What passes the budget when it does not fit, else what load exhausts first.", kind=str),
    max_sequences="Sequences of the asked length that the cache holds, count.",
    per_gpu=shown("", kind=MemoryLedger),
)


class CurvePoint(ResponsePart):
    """The speed under another number of requests in flight."""

    concurrency: int = Field(description="Requests in flight, count.")
    ttft_s: Band | None = Field(description="Time to the first token, seconds.")
    tpot_s: Band | None = Field(description="Time per output token after the first, seconds.")
    tokens_per_s_total: Band | None = Field(description="Output tokens of all users together, tokens/s.")


class ChangePart(ResponsePart):
    """The same question with one thing changed."""

    change: str = Field(description="The setting that is changed, as in the request.")
    value: str | int = Field(description="Its new value.")
    label: str = Field(description="The change in words.")
    state: StateName = Field(description=STATE_HELP)
    sentence: str = Field(description="The verdict then.")
    max_concurrency_within_slo: ConcurrencyWithin | None = Field(description="As above; null in open loop.")
    max_requests_per_s_within_slo: Band | None = Field(description="As above; null unless open loop.")
    ttft_s: float | None = Field(description="Time to the first token, middle of the band, seconds.")
    tpot_s: float | None = Field(description="Time per output token, middle of the band, seconds.")
    currency: str | None = Field(description="ISO 4217 code of the amounts; null without a price.")
    cost_per_mtok_output: Amount | None = Field(description="Cost of a million output tokens.")
    cost_per_mtok_blended: Amount | None = Field(description="Cost of a million tokens, prompt and answer together.")
    cost_per_month: Amount | None = Field(description="Bill of a month of 730 h.")


class LaunchPart(ResponsePart):
    """The command that starts the engine for this plan."""

    command: str | None = Field(
        description="Shell command, a line per flag; $MODEL or $GGUF stand for files that are not known. Null with a "
        "reason where the load does not fit or flags alone cannot start the plan."
    )
    reason: str | None = Field(description="Why there is no command.")
    version: str | None = Field(description="Version of the engine whose arguments were read; null when none was.")
    source: str | None = Field(description="Where its arguments were read.")
    manifest: str | None = Field(
        description="The same as a Kubernetes manifest, YAML: a Deployment with GPUs, probes and shared memory, and a "
        "Service. Null with a reason."
    )
    manifest_reason: str | None = Field(description="Why there is no manifest.")


class VerdictAnswer(PlanAnswer):
    """One verdict on a plan, its parts, and what would change it."""

    verdict: VerdictWords
    max_concurrency_within_slo: ConcurrencyWithin | None = Field(
        description="Users within the targets, safe (low) and likely (mid); null where the load is no count of them."
    )
    max_requests_per_s_within_slo: Band | None = Field(
        description="Highest rate within the targets: safe (chance of 0.9), likely (0.5), hardly (the fast end of the "
        "band); null unless open loop."
    )
    odds: OddsPart | None = Field(description="Chances of meeting the targets at the asked load; null without slo.")
    next_measurement: NextMeasurement | None = Field(
        description="The benchmark that would narrow the verdict most; null without slo."
    )
    memory: VerdictMemory
    speed: ExpectedPart = Field(description="Speed at the asked load, as throughput says it.")
    energy: EnergyPart | None = Field(description="Power and energy at the asked load, as throughput says it.")
    binding_term: BindingName | None = Field(description="Largest part of a decode step; null if none fits.")
    speed_word: SpeedName | None = Field(description="How tokens_per_s_per_user feels to a reader.")
    curve: list[CurvePoint] = Field(description="The speed from one user to what memory holds; empty in open loop.")
    cost: SelfHostedBill | None = Field(description="What the tokens cost; null without a price of the GPU.")
    changes: list[ChangePart] = Field(description="The same question with one thing changed; empty when not asked for.")
    launch: LaunchPart
    launch_hint: list[str] = Field(
        description="Flags of the engine for this plan; empty where it has none or nothing fits."
    )
