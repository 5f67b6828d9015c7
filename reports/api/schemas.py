"""Bodies that the reports endpoints read: strict, bounded, every fault named."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from estimator.api.fields import WHOLE, Count, Currency, RequestBody, Share, Tokens, tag

MAX_LIST = 200
MAX_BATCHES = 4096
Batch = Annotated[int, Field(ge=1, le=1_000_000), WHOLE]
Slug = Annotated[str, Field(min_length=1, max_length=100)]
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

    weights: FormatName = Field(default="bf16", description="Format of the weights.", examples=["fp8"])
    kv_cache: FormatName = Field(default="bf16", description="Format of the KV cache.", examples=["bf16"])
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
    """Lengths of one workload; the batch size of each row is its load."""

    name: Annotated[str, Field(min_length=1, max_length=80)] | None = Field(
        default=None, description="A name for the rows; mode and lengths when not given.", examples=["chat"]
    )
    mode: Literal["closed_loop", "static_batch", "decode_step"] = Field(
        default="closed_loop", description="How the batch is put on the replica."
    )
    input_tokens: Tokens = Field(description="Prompt length, tokens.", examples=[1000])
    output_tokens: Tokens = Field(description="Answer length, tokens.", examples=[300])
    prefix_cache_hit_rate: Share = Field(default=0.0, description="Share of the prompt found in the prefix cache.")


class SweepMemory(RequestBody):
    """Overrides of the profile's memory settings, for all rows."""

    utilization: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="Share of GPU memory the engine may use."
    )
    max_num_seqs: Count | None = Field(default=None, description="Most sequences the engine runs at once.")
    max_batched_tokens: Count | None = Field(default=None, description="Most tokens of one step.")


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
    return tag("max") if isinstance(value, str) else None


class SweepRequest(RequestBody):
    """What is crossed with what: the rows are all combinations, in this order."""

    models: Annotated[list[Slug], Field(min_length=1, max_length=MAX_LIST)] = Field(
        description="Catalog models.", examples=[["llama-3.1-8b"]]
    )
    gpus: Annotated[list[Slug], Field(min_length=1, max_length=MAX_LIST)] = Field(
        description="Catalog accelerators.", examples=[["h100-sxm5-80gb"]]
    )
    engines: Annotated[list[Slug], Field(min_length=1, max_length=20)] = Field(
        default=["vllm"], description="Engine profiles or their aliases."
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
        | Annotated[Literal["max"], Tag(tag("max"))],
        Discriminator(
            _batch_form,
            custom_error_type="one_of_keys",
            custom_error_message="one of the keys",
            custom_error_context={"keys": "from, to", "text": "yes"},
        ),
    ] = Field(description='A list, a range, or "max": powers of two up to what fits, and what fits.')
    memory: SweepMemory = Field(default=SweepMemory(), description="Overrides of the engine's memory settings.")


class SloRequest(RequestBody):
    """Targets; a row meets them only if it meets each one given."""

    ttft_s: Annotated[float, Field(gt=0, le=1e6)] | None = Field(default=None, description="Time to first token, s.")
    tpot_s: Annotated[float, Field(gt=0, le=1e6)] | None = Field(default=None, description="Time per output token, s.")
    e2e_s: Annotated[float, Field(gt=0, le=1e6)] | None = Field(default=None, description="Request to last token, s.")
    band_side: Literal["mid", "conservative"] = Field(
        default="conservative", description="Compare the middle of the band, or its slow end."
    )


class SweepPricing(RequestBody):
    """Prices of GPU hours; a GPU without one costs null, never zero."""

    currency: Currency = Field(default="USD")
    price_per_gpu_hour: dict[Slug, GpuHourPrice] = Field(
        default={}, max_length=MAX_LIST, description="Price of one GPU for an hour, by accelerator."
    )
    offers: dict[Slug, Slug] = Field(
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
