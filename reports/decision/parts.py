"""The decision as data: what the API answers, what a version stores, and what pages and files draw."""

from typing import Literal

from pydantic import Field

from estimator.estimates.answers import Amount, ResponsePart
from estimator.estimates.sweep.next_measurement import RowMeasurement

StateName = Literal[
    "within_targets", "no_targets", "misses_targets", "not_known", "queue_grows", "does_not_fit", "unsupported"
]


class FigureBand(ResponsePart):
    """A figure with its band."""

    low: float | None = Field(description="Lower end of the band; null where it is not known.")
    mid: float | None = Field(description="Middle of the band.")
    high: float | None = Field(description="Upper end of the band.")


class CostBand(ResponsePart):
    """A cost at the fast end, the middle and the slow end of the speed's band."""

    low: Amount | None = Field(description="At the fast end of the speed's band.")
    mid: Amount | None = Field(description="At its middle.")
    high: Amount | None = Field(description="At its slow end.")


class LinePrice(ResponsePart):
    """The price of a GPU's hour, as the version was priced."""

    per_gpu_hour: Amount = Field(description="Price of one GPU for an hour, exact.")
    currency: str = Field(description="ISO 4217 code of the amount.")
    source: str = Field(description="Where it is from: given, owned, or an offer of the catalog.")
    seller: str | None = Field(description="Who asks it; null where it was given or is of an older release.")
    date: str | None = Field(description="Day it was seen, ISO 8601; null where none is known.")
    url: str | None = Field(description="Address of the offer in the API; null without one.")


class LoadWithin(ResponsePart):
    """The largest loads of the report within the targets, of the setting of the line."""

    unit: Literal["users", "requests/s"] = Field(description="What is counted: sequences at once, or arrivals.")
    safe: float | None = Field(
        description="All targets hold with a chance of 0.9 and more; by band: at its slow end. Null where at no load."
    )
    likely: float | None = Field(
        description="They hold with a chance of 0.5 and more; by band: in its middle. Null where at no load."
    )
    by: Literal["chance", "band"] | None = Field(
        default=None,
        description="What safe and likely follow: `chance_within_slo` of the rows, or, where these tell no chance "
        "(older releases, engines without a band), the sides of the band. Null without targets.",
    )
    meets: float | None = Field(
        default=None,
        description="The targets hold at the side of the band that was asked for (`meets_slo`); without targets, it "
        "fits. Null where at no load.",
    )
    next_load: float | None = Field(
        description="The next load of the report, which misses the targets; those between it and `meets` were not "
        "computed, unless the sweep was refined."
    )


class LineSetting(ResponsePart):
    """The setting of a line: the row that proves it."""

    row_index: int = Field(description="Row of the version.")
    gpus: int = Field(description="GPUs of one replica, count.")
    engine: str = Field(description="Engine profile, as rows say it.")
    engine_name: str = Field(description="Its name for people.")
    precision: str = Field(description="Formats of weights and KV cache, as rows say them.")
    parallelism: str = Field(description="Degrees inside one replica, as rows say them.")
    batch_size: int | None = Field(description="Sequences at once; null where the mode sets them.")
    offered_requests_per_s: float | None = Field(description="Arrivals, requests/s; null outside open_loop.")
    refined: bool | None = Field(
        description="Whether its load was found between two that were asked for; null in older releases."
    )


class DecisionLine(ResponsePart):
    """The best setting of one GPU for one workload, or why there is none."""

    gpu: str = Field(description="GPU, as rows say it.")
    gpu_name: str = Field(description="Its name for people.")
    state: StateName = Field(description="Whether a setting of it is within the targets, else what is in the way.")
    reason: str | None = Field(description="Why no setting of this GPU is in question, in a sentence; else null.")
    place: int | None = Field(description="Place among the GPUs from 1, the cheapest first; null without a cost.")
    setting: LineSetting | None = Field(description="The best setting; null where there is none.")
    load_within: LoadWithin | None = Field(description="Largest loads within the targets; null without batch or rate.")
    tokens_per_s_total: FigureBand | None = Field(description="Output tokens of all users together, tokens/s.")
    tokens_per_s_per_user: FigureBand | None = Field(description="Output tokens of one user, tokens/s.")
    ttft_s: FigureBand | None = Field(description="Time to the first token, seconds.")
    tpot_s: FigureBand | None = Field(description="Time per output token after the first, seconds.")
    e2e_s: FigureBand | None = Field(description="Time to the whole answer, seconds.")
    basis: str | None = Field(description="What the figures rest on.")
    price: LinePrice | None = Field(description="Price of the GPU; null where none is known: then there is no cost.")
    price_reason: str | None = Field(default=None, description="Why no price is known, in a sentence; else null.")
    cost_per_mtok_output: CostBand | None = Field(
        description="Per million output tokens, answers carrying the whole price of the GPUs, always busy."
    )
    cost_per_mtok_blended: CostBand | None = Field(
        description="Per million tokens, prompt and answer together; the figure to hold against an API."
    )
    cost_per_month: Amount | None = Field(description="GPUs of one replica for a month of 730 h.")
    cost_over_winner: float | None = Field(description="Its cost per token over the winner's; 1 for the winner.")
    wins_below_per_gpu_hour: Amount | None = Field(
        description="Price of this GPU's hour below which it would win at the winner's price; null for the winner."
    )


class DecisionApi(ResponsePart):
    """What a seller bills for the same tokens by its API, from the code of the cost estimate."""

    price: str = Field(description="Slug of the price list (api-prices/).")
    provider: str = Field(description="Who sells it.")
    model: str = Field(description="What the seller calls the model.")
    currency: str = Field(description="ISO 4217 code of the amounts.")
    cost_per_request: Amount = Field(description="Bill of one request of the workload's lengths.")
    cost_per_mtok_output: Amount | None = Field(description="The same per million output tokens, put on them.")
    cost_per_mtok_blended: Amount | None = Field(description="The same per million tokens, prompt and answer together.")
    input_per_mtok: Amount | None = Field(description="List price of a million prompt tokens.")
    output_per_mtok: Amount | None = Field(description="List price of a million output tokens.")
    date: str | None = Field(description="Day the price was seen, ISO 8601.")
    url: str | None = Field(description="Page the price was read on.")
    cost_over_winner: float | None = Field(description="Its blended cost over the winner's; null without a winner.")
    winner_cheaper_above_load: float | None = Field(
        description="Share of the time that the winner's GPUs have to be busy to cost less, 0 to 1; null: never."
    )


class DecisionWinner(ResponsePart):
    """The GPU that the group speaks for."""

    gpu: str = Field(description="GPU, as rows say it.")
    by: Literal["cost", "speed"] = Field(description="cost per token; without prices tokens/s per GPU.")
    runner_up: str | None = Field(description="The second GPU; null where there is none to compare.")
    margin: float | None = Field(description="By how much the second is worse: its cost over the winner's minus 1.")
    bands_overlap: bool | None = Field(description="Whether the bands of the two costs overlap; null without two.")
    runner_up_wins_below: Amount | None = Field(
        description="Price of the second GPU's hour below which it wins; null without two costs."
    )
    winner_loses_above: Amount | None = Field(
        description="Price of the winner's hour above which the second wins; null without two costs."
    )


class DecisionGroup(ResponsePart):
    """One model under one workload: only within it are figures comparable."""

    model: str = Field(description="Model, as rows say it.")
    model_name: str = Field(description="Its name for people.")
    workload: str = Field(description="Workload, as rows say it.")
    workload_name: str = Field(description="The workload in words.")
    mode: str | None = Field(description="Mode of the workload.")
    input_tokens: float | None = Field(description="Mean prompt, tokens.")
    output_tokens: float | None = Field(description="Mean answer, tokens.")
    currency: str | None = Field(description="ISO 4217 code of the costs; null without prices.")
    sentence: str = Field(description="The decision in a sentence.")
    certainty: str | None = Field(description="How sure the order of the first two is, in a sentence.")
    changes: list[str] = Field(description="What would change the answer, a sentence each.")
    winner: DecisionWinner | None = Field(description="The winner; null where no GPU is in question.")
    lines: list[DecisionLine] = Field(description="One line per GPU, the best first.")
    apis: list[DecisionApi] = Field(description="The cheapest sellers of the same model by API, at most 3.")
    api_sellers: int | None = Field(description="Sellers whose bill is known; null where it was not kept.")
    apis_reason: str | None = Field(description="Why there is no line of an API; null where there is one.")
    next_measurement: RowMeasurement | None = Field(
        default=None,
        description="The benchmark that would narrow the choice among the GPUs most; null without targets and in "
        "versions of older releases.",
    )


class Decision(ResponsePart):
    """Which GPU, by how much, and what would change it."""

    groups: list[DecisionGroup] = Field(description="Pairs of model and workload in the order of the rows, at most 50.")
    groups_in_all: int = Field(description="Pairs of model and workload of the version.")
    with_targets: bool = Field(description="Whether targets were asked for.")
    refined: bool = Field(
        description="Whether the largest loads within the targets were looked for between those asked for."
    )
    settings: int = Field(description="Settings of the version: its rows, count.")
    settings_within_targets: int | None = Field(description="Rows within the targets; null without targets.")
    hours_per_month: int = Field(description="Hours of a month in its costs.")
