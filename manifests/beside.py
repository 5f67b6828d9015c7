"""What may be asked of a manifest: its text, that of its last version, and what it does not state."""

from typing import Annotated, Any

from pydantic import Field

from estimator.question.fields import Currency, Money, Name, OfferSlug, RequestBody
from estimator.question.gpu import GpuRef
from estimator.question.model import ModelRef
from estimator.question.plan import (
    EngineSettings,
    Launch,
    Memory,
    MtpLayers,
    Parallelism,
    Precision,
)
from estimator.question.workload import Lora, PowerCap, Speculative, Targets, Workload
from manifests.reading.yaml_tree import MOST_CHARACTERS

Text = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
# An engine's name as people write it is one of the catalog's; it is checked with the whole question.
EngineName = Annotated[str, Field(min_length=1, max_length=100)]


def _left_out() -> Any:
    """Nothing: a part that was left out is no value of its type, and none is shown for it."""
    return None


class QuestionBeside(RequestBody):
    """Parts of a verdict's question that the manifest does not state, or in place of what it states."""

    model: ModelRef = Field(default_factory=_left_out, description="The model, where the catalog has not its name.")
    gpu: GpuRef = Field(default_factory=_left_out, description="The GPU, where no label of a node names it.")
    engine: EngineName | None = Field(default=None, description="Engine profile or release, such as vllm-0.19.")
    parallelism: Parallelism | None = Field(default=None, description="How a replica is split over GPUs.")
    precision: Precision | None = Field(default=None, description="Formats of weights, cache and activations.")
    memory: Memory | None = Field(default=None, description="Memory settings of the engine.")
    engine_settings: EngineSettings | None = Field(default=None, description="Settings by the engine's own names.")
    launch: Launch | None = Field(default=None, description="tuned or default, as estimates take it.")
    workload: Workload | None = Field(default=None, description="Lengths and load: no manifest states them.")
    slo: Targets | None = Field(default=None, description="Targets of a request: no manifest states them.")
    speculative: Speculative | None = Field(default=None, description="How speculative decoding does.")
    lora: Lora | None = Field(default=None, description="Adapters.")
    mtp_layers_loaded: MtpLayers | None = Field(default=None, description="Multi-token prediction layers held.")
    power_cap_w: PowerCap | None = Field(default=None, description="Most power that each GPU may draw, W.")
    price_per_gpu_hour: Money | None = Field(
        default=None, description="Price of one GPU for an hour, exact decimal in `currency`; else the catalog's."
    )
    currency: Currency | None = Field(default=None, description="ISO 4217 code of the price; USD when not given.")
    offer: OfferSlug | None = Field(default=None, description="Slug of an offer, in place of a price.")
    changes: bool | None = Field(default=None, description="false: the neighbours of the plan are not judged.")

    def parts(self) -> dict[str, Any]:
        """What was given, as JSON."""
        parts: dict[str, Any] = without_none(self.model_dump(mode="json", exclude_unset=True))
        return parts


class Limits(RequestBody):
    """Most that the tokens may cost; a limit left out is not checked."""

    cost_per_mtok_output: Money | None = Field(default=None, description="Most for a million output tokens.")
    cost_per_month: Money | None = Field(default=None, description="Most for a month of 730 h, all replicas together.")


class ManifestRequest(RequestBody):
    """A manifest, and what it does not state."""

    text: Text = Field(
        description=(
            "A command line (vllm serve, python -m sglang.launch_server, trtllm-serve, llama-server, docker run), a "
            "Compose file, or YAML of Kubernetes, KServe or llm-d. Nothing of it is run or kept."
        ),
        examples=["vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4 --max-model-len 16384"],
    )
    previous: Text | None = Field(default=None, description="The last version: the answer says what differs.")
    server: Name | None = Field(default=None, description="Which server of several, by name; the first when not given.")
    question: QuestionBeside = Field(
        default_factory=QuestionBeside, description="What the manifest does not state; before what it states."
    )
    limits: Limits = Field(default_factory=Limits, description="Limits of cost, checked beside question.slo.")


def without_none(given: Any) -> Any:
    """JSON without keys whose value is null; a config.json keeps its own."""
    if isinstance(given, list):
        return [without_none(one) for one in given]
    if not isinstance(given, dict):
        return given
    return {key: value if key == "config" else without_none(value) for key, value in given.items() if value is not None}
