"""Bodies that the reports endpoints read: strict, bounded, every fault named."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from estimator.engine.specs import WorkloadMode
from estimator.question.fields import (
    SMALLEST,
    WHOLE,
    BytesOrNone,
    Count,
    Currency,
    EngineSlug,
    GpuSlug,
    OfferSlug,
    OnePerRow,
    RequestBody,
    Tokens,
    by_key,
    tag,
)
from estimator.question.gpu import GpuRef
from estimator.question.model import ModelRef
from estimator.question.workload import Lora

MAX_LIST = 200
MAX_BATCHES = 4096
MAX_RATES = 1000
Batch = Annotated[int, Field(ge=1, le=1_000_000), WHOLE]
Label = Annotated[str, Field(min_length=1, max_length=200)]
Seconds = Annotated[float, Field(ge=SMALLEST, le=1e6)]
Rate = Annotated[float, Field(ge=SMALLEST, le=1e6)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
TagName = Annotated[str, Field(min_length=1, max_length=50, pattern=r"\S")]
# A thousand million per hour is no price; the bound keeps every product within what a column of money holds.
GpuHourPrice = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{1,9}(\.[0-9]{1,12})?$",
        description='Exact decimal as a string, such as "2.50".',
        examples=["2.50"],
    ),
]
FormatName = Annotated[str, Field(min_length=1, max_length=20, pattern=r"^[a-z0-9_]+$")]


class SweepPrecision(RequestBody):
    """Formats of one precision of the sweep."""

    weights: FormatName | None = Field(
        default=None,
        description="Format of the weights; that of each model's own files, else bf16, when left out.",
        examples=["fp8"],
    )
    kv_cache: FormatName | None = Field(
        default=None,
        description=(
            "Format of the KV cache; bf16 when not given, and the wait of a load beyond what fits is then not said."
        ),
        examples=["bf16"],
    )
    attention_weights: FormatName | None = Field(default=None, description="Format of attention weights, if another.")
    expert_weights: FormatName | None = Field(default=None, description="Format of expert weights, if another.")
    activations: FormatName | None = Field(default=None, description="Format of activations, if another.")


class SweepParallelism(RequestBody):
    """Degrees inside one replica."""

    tp: Count = Field(default=1, description="Tensor parallel degree.")
    pp: Count = Field(default=1, description="Pipeline stages.")
    ep: Count = Field(default=1, description="Expert parallel degree; divides tp · dp.")
    dp: Count = Field(default=1, description="Attention data parallel degree inside one replica.")


class SweepWorkload(RequestBody):
    """Lengths of one workload; its load is the batch size of the row, or for open_loop each of its rates."""

    name: Annotated[str, Field(min_length=1, max_length=80)] | None = Field(
        default=None, description="A name for the rows; mode and lengths when not given.", examples=["chat"]
    )
    mode: WorkloadMode = Field(
        default=WorkloadMode.CLOSED_LOOP,
        description=(
            "How load is put on the replica: closed_loop, static_batch and decode_step at each batch size; open_loop "
            "at each of requests_per_s; offline with what fits, and single_stream with one request: one row each."
        ),
    )
    input_tokens: Tokens = Field(description="Prompt length, tokens.", examples=[1000])
    output_tokens: Tokens = Field(description="Answer length, tokens.", examples=[300])
    context_tokens: Tokens | None = Field(
        default=None,
        description=(
            "Cache length at which decode is evaluated, tokens; input + output/2 for speed and input + output for "
            "memory when not given."
        ),
    )
    prefix_cache_hit_rate: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="Share of the prompt found in the prefix cache, 0 to below 1."
    )
    requests_per_s: Annotated[list[Rate], Field(min_length=1, max_length=MAX_RATES)] | None = Field(
        default=None, description="Rates of arrival, requests/s, one row each; for open_loop.", examples=[[1, 2, 4]]
    )
    burstiness_cv: Annotated[float, Field(ge=0, le=100)] | None = Field(
        default=None,
        description="Coefficient of variation of the times between arrivals of an open_loop; 1 (Poisson) if not given.",
    )


class SweepMemory(RequestBody):
    """Overrides of the profile's memory settings."""

    utilization: Annotated[float, Field(ge=SMALLEST, le=1)] | None = Field(
        default=None, description="Share of GPU memory the engine may use."
    )
    runtime_overhead_bytes: BytesOrNone | None = Field(
        default=None, description="Bytes of the runtime on each GPU that are neither weights nor cache."
    )
    max_num_seqs: Count | None = Field(default=None, description="Most sequences the engine runs at once.")
    max_batched_tokens: Count | None = Field(default=None, description="Most tokens of one step.")


class OverriddenEngine(RequestBody):
    """An engine profile started with other settings; its rows name what differs."""

    slug: EngineSlug = Field(description="Engine profile or its alias.", examples=["vllm"])
    memory: SweepMemory = Field(
        default=SweepMemory(), description="Overrides of its memory settings, before those of the sweep."
    )


SweepEngine = Annotated[
    Annotated[EngineSlug, Tag(tag("slug"))] | Annotated[OverriddenEngine, Tag(tag("override"))],
    by_key({"slug": "override"}, text="slug", otherwise="override"),
]


class BatchRange(RequestBody):
    """Batch sizes from one to another, every one of them or the powers of two."""

    from_: Batch = Field(alias="from", description="First batch size.", examples=[1])
    to: Batch = Field(description="Last batch size, included.", examples=[256])
    scale: Literal["linear", "powers_of_two"] = Field(default="linear", description="Every size, or powers of two.")


def _batch_form(value: Any) -> str | None:
    if isinstance(value, list):
        return tag("list")
    if isinstance(value, dict | BatchRange):
        return tag("range")
    if value is None:
        return tag("none")
    return tag("max") if isinstance(value, str) else None


class SweepRequest(RequestBody):
    """What is crossed with what: the rows are all combinations, in this order."""

    models: Annotated[list[ModelRef], Field(min_length=1, max_length=MAX_LIST)] = Field(
        description=(
            "Models, as estimates take them; one given by config or figures needs a name, and is kept with the report."
        ),
        examples=[["llama-3.1-8b"]],
    )
    gpus: Annotated[list[GpuRef], Field(min_length=1, max_length=MAX_LIST)] = Field(
        description="GPUs, as estimates take them; one given by its figures needs a name, by which it is priced.",
        examples=[["h100-sxm5-80gb"]],
    )
    engines: Annotated[list[SweepEngine], Field(min_length=1, max_length=20)] = Field(
        default=["vllm"], description="Engine profiles or their aliases, each perhaps with settings of its own."
    )
    precisions: Annotated[list[SweepPrecision], Field(min_length=1, max_length=20)] = Field(
        default=[SweepPrecision()], description="Formats of weights and KV cache."
    )
    parallelism: Annotated[list[SweepParallelism], Field(min_length=1, max_length=20)] = Field(
        default=[SweepParallelism()], description="Splits over GPUs; one that no model allows is refused."
    )
    workloads: Annotated[list[SweepWorkload], Field(min_length=1, max_length=MAX_LIST)] = Field(
        description="Lengths and modes."
    )
    batch_sizes: Annotated[
        Annotated[list[Batch], Field(min_length=1, max_length=MAX_BATCHES), Tag(tag("list"))]
        | Annotated[BatchRange, Tag(tag("range"))]
        | Annotated[Literal["max"], Tag(tag("max"))]
        | Annotated[None, Tag(tag("none"))],
        Discriminator(
            _batch_form,
            custom_error_type="one_of_keys",
            custom_error_message="one of the keys",
            custom_error_context={"keys": "from, to", "text": "yes"},
        ),
    ] = Field(
        default=None,
        description=(
            'A list, a range, or "max": powers of two up to what fits, and what fits. Required if a workload is '
            "closed_loop, static_batch or decode_step; no other takes one."
        ),
    )
    memory: SweepMemory = Field(default=SweepMemory(), description="Overrides of the memory settings of all engines.")
    lora: Lora | None = Field(default=None, description="Adapters held beside each model; none when left out.")


class SloRequest(RequestBody):
    """Targets; a row meets them only if it meets each one given."""

    ttft_s: Seconds | None = Field(default=None, description="Time to first token, s.")
    tpot_s: Seconds | None = Field(default=None, description="Time per output token, s.")
    e2e_s: Seconds | None = Field(default=None, description="Request to last token, s.")
    percentile: Annotated[Literal[50, 90, 95, 99], WHOLE] | None = Field(
        default=None,
        description=(
            "Share of requests of an open_loop that must meet the targets, percent; 95 when not given. The figures of "
            "other modes are model values, which it does not change."
        ),
    )
    band_side: Literal["mid", "conservative"] = Field(
        default="conservative", description="Compare the middle of the band, or its slow end."
    )


class SweepPricing(RequestBody):
    """Prices of GPU hours; a GPU without one costs null, never zero."""

    currency: Currency = Field(default="USD")
    price_per_gpu_hour: dict[Label, GpuHourPrice] = Field(
        default={}, max_length=MAX_LIST, description="Price of one GPU for an hour, by slug or given name."
    )
    offers: Annotated[dict[GpuSlug, OfferSlug], BeforeValidator(OnePerRow("gpu"))] = Field(
        default={}, max_length=MAX_LIST, description="Offer of the catalog, by accelerator."
    )


class CreateReportRequest(RequestBody):
    """A report to compute."""

    name: Name = Field(description="What people will call it.", examples=["Llama 3.1 8B on one H100"])
    tags: Annotated[list[TagName], Field(max_length=20)] = Field(default=[], description="Words to find it by.")
    sweep: SweepRequest = Field(description="The settings to cross.")
    slo: SloRequest | None = Field(default=None, description="Targets for meets_slo and the best batch within them.")
    pricing: SweepPricing | None = Field(
        default=None, description="GPU prices; not given: the cheapest on-demand offer of the catalog for each GPU."
    )


class RebuildRequest(RequestBody):
    """Another version with today's catalog; parts given replace those of the newest version."""

    sweep: SweepRequest | None = Field(default=None, description="Another sweep; not given: the same.")
    slo: SloRequest | None = Field(default=None, description="Other targets; not given: the same.")
    pricing: SweepPricing | None = Field(default=None, description="Other prices; not given: the same way of pricing.")


class RecostRequest(RequestBody):
    """The same rows at other prices, as a new version."""

    pricing: SweepPricing | None = Field(default=None, description="Other prices; not given: today's of the catalog.")


class ChangeReportRequest(RequestBody):
    """What may change after a report is made."""

    name: Name | None = Field(default=None, description="Another name.")
    tags: Annotated[list[TagName], Field(max_length=20)] | None = Field(default=None, description="Other tags.")
    visibility: Literal["private", "all"] | None = Field(default=None, description="Shares only, or everybody.")
    archived: bool | None = Field(default=None, description="false brings an archived report back.")


class CreateLinkRequest(RequestBody):
    """A link for people without a login."""

    format: Literal["csv", "json", "xlsx", "parquet", "html"] = Field(description="The one format it opens.")
    expires_in_days: Annotated[int, Field(ge=1, le=30), WHOLE] = Field(default=7, description="Days until it ends.")


class ShareRequest(RequestBody):
    """Read access for one person or one group."""

    user: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(default=None, description="User name.")
    group: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(default=None, description="Group name.")


class ScheduleRequest(RequestBody):
    """Regular rebuilds."""

    period: Literal["daily", "weekly", "monthly"] = Field(description="How often.")
    enabled: bool = Field(default=True, description="false keeps the schedule without running it.")


def plain(body: RequestBody | None) -> Any:
    """The body as JSON-able values, defaults included, by the names of the API."""
    return None if body is None else body.model_dump(mode="json", by_alias=True)
