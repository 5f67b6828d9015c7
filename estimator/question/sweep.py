"""A sweep: the same nouns as an estimate's, with lists in them. What a report stores is this, as JSON.

Bounds are those of the estimates, because the classes are: whatever one estimate answers can be asked of many settings.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag

from estimator.engine.specs import WorkloadMode
from estimator.question.acting import REPEATED
from estimator.question.fields import (
    Count,
    Currency,
    EngineSlug,
    GpuSlug,
    OfferSlug,
    OnePerRow,
    RequestBody,
    by_key,
    tag,
)
from estimator.question.gpu import GpuRef
from estimator.question.model import ModelRef
from estimator.question.ownership import OwnedGpus
from estimator.question.plan import DEFAULT_ENGINE, EngineSettings, Launch, Memory, MtpLayers, Parallelism, Precision
from estimator.question.traffic import Traffic
from estimator.question.workload import (
    POWER_CAP_HELP,
    Arrivals,
    Lora,
    Power,
    PowerCap,
    ResolvedWorkload,
    Speculative,
    Targets,
    Workload,
)

MAX_LIST = 200
MAX_BATCHES = 4096
MAX_RATES = 1000
UP_TO_FIT = "max"
# Modes whose load is the batch size of the row; the others set their own: a rate, what fits, or one stream.
BATCH_MODES = (WorkloadMode.CLOSED_LOOP, WorkloadMode.STATIC_BATCH, WorkloadMode.DECODE_STEP)
# A thousand million per hour is no price; the bound keeps every product within what a column of money holds.
GpuHourPrice = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{1,9}(\.[0-9]{1,12})?$",
        description='Exact decimal as a string, such as "2.50".',
        examples=["2.50"],
    ),
]
Label = Annotated[str, Field(min_length=1, max_length=200)]


def _listed(value: Any) -> Any:
    """A list of rates from one."""
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


Rates = Annotated[list[Arrivals], Field(min_length=1, max_length=MAX_RATES)]


class SweptWorkload(Workload):
    """A workload with its loads: its own concurrency or batch sizes, else those of the sweep; or rates of arrival."""

    name: Annotated[Annotated[str, Field(min_length=1, max_length=80)] | None, REPEATED] = Field(
        default=None, description="A name for the rows; mode and lengths when not given.", examples=["chat"]
    )
    requests_per_s: Annotated[Rates | None, BeforeValidator(_listed)] = Field(  # type: ignore[assignment]
        default=None,
        description="Rates of arrival, requests/s, one row each, or one number; for open_loop.",
        examples=[[1, 2, 4]],
    )

    @property
    def takes_batches(self) -> bool:
        """Whether its load is a batch size."""
        return self.mode in BATCH_MODES

    @property
    def rates(self) -> list[float]:
        """Rates of arrival in ascending order, each once, requests/s."""
        return sorted(set(map(float, self.requests_per_s or ())))

    @property
    def own_batches(self) -> list[int]:
        """Batch sizes of its own in ascending order, each once; none where it takes those of the sweep."""
        return sorted(set(self.batch_sizes or ([self.concurrency] if self.concurrency else ())))

    def resolved(self) -> ResolvedWorkload:
        """Lengths and mode of its rows; their load is beside them."""
        return super().resolved().model_copy(update={"requests_per_s": None, "concurrency": 1, "batch_sizes": []})

    @property
    def label(self) -> str:
        """What rows call it: its name, else mode, lengths and what is not as usual."""
        if self.name:
            return self.name
        asked = self.resolved()
        label = f"{self.mode} {figure(asked.input_tokens)}+{figure(asked.output_tokens)}"
        if self.context_tokens:
            label += f" at {figure(self.context_tokens)}"
        if self.prefix_cache_hit_rate:
            label += f" hit {self.prefix_cache_hit_rate:g}"
        if self.burstiness_cv != 1.0:
            label += f" cv {self.burstiness_cv:g}"
        if self.traffic != Traffic():
            told = self.traffic.model_dump(mode="json", exclude_defaults=True)
            label += " " + " ".join(f"{name}={value}" for name, value in told.items())
        return label


class OverriddenEngine(RequestBody):
    """An engine profile started with other settings; its rows name what differs."""

    slug: EngineSlug = Field(description="Engine profile or its alias.", examples=["vllm"])
    memory: Memory = Field(default=Memory(), description="Overrides of its memory settings, before those of the sweep.")
    engine_settings: EngineSettings = Field(
        default={}, description="Settings of the server by its engine's own names, as estimates take them."
    )
    launch: Launch | None = Field(default=None, description="tuned or default; the sweep's when not given.")


EngineRef = Annotated[
    Annotated[EngineSlug, Tag(tag("slug"))] | Annotated[OverriddenEngine, Tag(tag("override"))],
    by_key({"slug": "override"}, text="slug", otherwise="override"),
]


class BatchRange(RequestBody):
    """Batch sizes from one to another, every one of them or the powers of two."""

    from_: Count = Field(alias="from", description="First batch size.", examples=[1])
    to: Count = Field(description="Last batch size, included.", examples=[256])
    scale: Literal["linear", "powers_of_two"] = Field(default="linear", description="Every size, or powers of two.")


def _batch_form(value: Any) -> str | None:
    if isinstance(value, list):
        return tag("list")
    if isinstance(value, dict | BatchRange):
        return tag("range")
    if value is None:
        return tag("none")
    return tag("max") if isinstance(value, str) else None


BatchSizes = Annotated[
    Annotated[list[Count], Field(min_length=1, max_length=MAX_BATCHES), Tag(tag("list"))]
    | Annotated[BatchRange, Tag(tag("range"))]
    | Annotated[Literal["max"], Tag(tag("max"))]
    | Annotated[None, Tag(tag("none"))],
    Discriminator(
        _batch_form,
        custom_error_type="one_of_keys",
        custom_error_message="one of the keys",
        custom_error_context={"keys": "from, to", "text": "yes"},
    ),
]


class Sweep(RequestBody):
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
    engines: Annotated[list[EngineRef], Field(min_length=1, max_length=20)] = Field(
        default=[DEFAULT_ENGINE], description="Engine profiles or their aliases, each perhaps with settings of its own."
    )
    precisions: Annotated[list[Precision], Field(min_length=1, max_length=20)] = Field(
        default=[Precision()], description="Formats of weights and KV cache."
    )
    parallelism: Annotated[list[Parallelism], Field(min_length=1, max_length=20)] = Field(
        default=[Parallelism()], description="Splits over GPUs; one that no model allows is refused."
    )
    workloads: Annotated[list[SweptWorkload], Field(min_length=1, max_length=MAX_LIST)] = Field(
        description="Lengths, modes and loads."
    )
    batch_sizes: BatchSizes = Field(
        default=None,
        description=(
            'A list, a range, or "max": powers of two up to what fits, and what fits. Required if a workload is '
            "closed_loop, static_batch or decode_step and has no load of its own; no other takes one."
        ),
    )
    refine: bool = Field(
        default=False,
        description=(
            "Whether the largest batch within the targets is looked for between the last of a list that holds them and "
            "the first that misses them; at most two rows more for each setting and workload, marked `refined`."
        ),
    )
    memory: Memory = Field(default=Memory(), description="Overrides of the memory settings of all engines.")
    engine_settings: EngineSettings = Field(
        default={}, description="Settings of every server by its engine's own names; an engine's own come before."
    )
    launch: Launch = Field(default="tuned", description="tuned or default, as estimates take it.")
    speculative: Speculative | None = Field(default=None, description="Speculative decoding; off when left out.")
    lora: Lora | None = Field(default=None, description="Adapters held beside each model; none when left out.")
    mtp_layers_loaded: MtpLayers = Field(
        default=0, description="Multi-token prediction layers of each model held in memory, count."
    )
    power: Power | None = Field(
        default=None, description="Price of electricity, said beside the price of the GPUs; not counted when left out."
    )
    power_cap_w: PowerCap | None = Field(default=None, description=POWER_CAP_HELP)

    @classmethod
    def stored(cls, given: Mapping[str, Any]) -> Self:
        """The sweep that a report of this or an earlier release holds as JSON; null there is what was left out.

        Names of formats are taken as they are: an earlier release let any through, and its rows say what is wrong.
        """
        parts = without_nulls(given)
        formats = [Precision.model_construct(**one) for one in parts.pop("precisions", None) or [{}]]
        return cls.model_validate(parts, strict=False).model_copy(update={"precisions": formats})


class Pricing(RequestBody):
    """Prices of GPU hours; a GPU without one costs null, never zero."""

    currency: Currency = Field(default="USD")
    price_per_gpu_hour: dict[Label, GpuHourPrice] = Field(
        default={}, max_length=MAX_LIST, description="Price of one GPU for an hour, by slug or given name."
    )
    offers: Annotated[dict[GpuSlug, OfferSlug], BeforeValidator(OnePerRow("gpu"))] = Field(
        default={}, max_length=MAX_LIST, description="Offer of the catalog, by accelerator."
    )
    owned: dict[Label, OwnedGpus] = Field(
        default={}, max_length=MAX_LIST, description="What owned GPUs cost, by slug or given name; before offers."
    )


def stored_targets(given: Mapping[str, Any] | None) -> Targets | None:
    """The targets that a report holds as JSON."""
    return None if given is None else Targets.model_validate(without_nulls(given), strict=False)


def without_nulls(given: Any) -> Any:
    """JSON without the keys whose value is null; a config.json keeps its own."""
    if isinstance(given, list):
        return [without_nulls(one) for one in given]
    if not isinstance(given, Mapping):
        return given
    return {
        name: value if name == "config" else without_nulls(value) for name, value in given.items() if value is not None
    }


def figure(value: float | str | Sequence[float]) -> str:
    """A setting in full, so that two entries are told apart by what differs: 131072, 0.9, float32, 1/2/4."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "/".join(map(figure, value))
    return f"{int(value)}" if float(value).is_integer() else f"{float(value)!r}"
