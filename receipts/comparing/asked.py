"""What is sent with a file: the facts that it does not hold."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from estimator.question.fields import Count, EngineSlug, GpuSlug, ModelSlug, Name, RequestBody, Tokens
from estimator.question.plan import EngineSettings, Launch, Memory, Parallelism, Precision

MOST_CHARACTERS = 1_500_000


class ReceiptRequest(RequestBody):
    """A file's text, and what it does not say of its setting and load; what it says counts, and must agree."""

    text: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)] = Field(
        description="The text of the file, pasted whole. It is read and not kept."
    )
    model: ModelSlug | None = Field(default=None, description="Catalog model, where the file's name of it is another.")
    gpu: GpuSlug | None = Field(default=None, description="Catalog GPU; most files name none.")
    engine: EngineSlug | None = Field(
        default=None, description="Engine with its release, such as vllm-0.19; most files say no version."
    )
    parallelism: Parallelism | None = Field(
        default=None,
        description="How the replica was split, where the file does not say it; one GPU when neither does.",
    )
    precision: Precision | None = Field(
        default=None,
        description="Formats, where the file does not say them; as in the model's files when neither does.",
    )
    memory: Memory | None = Field(default=None, description="Memory settings of the server.")
    engine_settings: EngineSettings = Field(default={}, description="Settings of the server by its engine's own names.")
    launch: Launch = Field(default="tuned", description="tuned: kernels picked by flags; default: a plain start.")
    concurrency: Count | None = Field(
        default=None, description="Requests in flight at most, where the file does not say it."
    )
    input_tokens: Tokens | None = Field(
        default=None, description="Prompt length that was asked for; the file must have reached it within 10 %."
    )
    output_tokens: Tokens | None = Field(
        default=None, description="Answer length that was asked for; the file must have reached it within 10 %."
    )
    prefix_cache_hit_rate: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="Share of the prompt that the server had in its prefix cache, 0 to below 1."
    )


class MeasurementRequest(ReceiptRequest):
    """A file to keep."""

    name: Name | None = Field(default=None, description="What it is called; the setting when left out.")
    prediction: UUID | None = Field(default=None, description="The kept prediction that it answers.")
    public: bool = Field(default=False, description="true: it stands on the public page of truth, with its setting.")
