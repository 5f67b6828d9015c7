"""`models/inspect/`: what a config.json describes; nothing is saved. `models/import/` is the same, saved by staff."""

from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import Field, JsonValue

from estimator.engine.model.cache import KvCacheSummary
from estimator.engine.model.spec import Attention, FeedForward, Quantisation, RecurrentState
from estimator.estimates.answers import Answer, ResponsePart, common_parts, part_of
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.inspect.compute import GroupFigures, ModelFigures, inspect_config
from estimator.estimates.memory_fit.answer import ParameterCounts
from estimator.question.fields import Name, RequestBody
from estimator.question.plan import Precision
from estimator.resolvers.plan import Resolved


class InspectRequest(RequestBody):
    """A config.json, and the formats to count bytes in."""

    config: dict[str, JsonValue] = Field(
        description="The Hugging Face config.json as an object; read, never executed. The hf_quant_config.json beside "
        "it may be given under the key hf_quant_config."
    )
    name: Name | None = Field(default=None, description="Name to echo.")
    precision: Precision | None = Field(
        default=None, description="Formats; the config's own quantisation, else bf16, when left out."
    )
    generic: bool = Field(
        default=False,
        description="Read an unknown model_type by the llama rule, with a warning, instead of refusing it.",
    )


class ImportRequest(InspectRequest):
    """A config.json to save as a model of the catalog."""

    name: Name = Field(description="Name of the model; the slug follows from it when not given.")
    slug: Annotated[str, Field(max_length=100, pattern=r"^[a-z0-9][a-z0-9._-]*$")] | None = Field(
        default=None, description="Slug of the new row."
    )
    source: Annotated[str, Field(max_length=500)] = Field(default="", description="Where the config came from.")
    publisher: Annotated[str, Field(max_length=100)] = Field(default="", description="Who released the model.")
    replace: bool = Field(default=False, description="Update the model that has the slug already.")


InspectAttention: Any = part_of(
    Attention,
    "InspectAttention",
    "Attention of a layer.",
    kind="full, window, chunk, latent, sparse_latent or compressed.",
    query_heads="Query heads, count.",
    kv_heads="KV heads, count; without meaning for latent kinds.",
    head_dim_qk="Width of queries and keys of a head, elements.",
    head_dim_v="Width of values of a head, elements.",
    window_tokens="Window or chunk, tokens; null for none.",
    stores_kv="Whether the layer has a cache of its own.",
    latent_rank="Rank of the latent cache, elements; 0 for none.",
    latent_rope_dim="Rotary width beside the latent, elements.",
    index_head_dim="Width of the index of sparse attention, elements; 0 for none.",
    compress_ratio="Tokens for one compressed entry; 0 for none.",
)


InspectState: Any = part_of(
    RecurrentState,
    "InspectState",
    "Constant state of a layer and sequence.",
    kind="mamba1, mamba2, linear_attention or short_convolution.",
    recurrent_elements="Recurrent state, elements.",
    conv_elements="Convolution state, elements.",
    state_bytes_per_element="Bytes of a recurrent element; 4 where the config asks for fp32.",
)


InspectFeedForward: Any = part_of(
    FeedForward,
    "InspectFeedForward",
    "Feed-forward part of a layer.",
    intermediate_size="Width of the dense MLP, elements; 0 for none.",
    matrices="Matrices of an MLP: 3 with a gate, else 2.",
    experts="Routed experts, count; 0 for dense.",
    experts_per_token="Experts a token uses, count.",
    expert_intermediate_size="Width of a routed expert, elements.",
    shared_intermediate_size="Width of the shared experts together, elements.",
)


class InspectGroup(ResponsePart):
    """Equal layers."""

    layers: int = Field(description="Layers of this kind, count.")
    parameters_per_layer: int = Field(description="Parameters of one of them, count.")
    cache_bytes_per_token: int = Field(description="Cache that a token adds in all of them, bytes.")
    attention: InspectAttention | None = Field(description="Attention; null for none.")
    state: InspectState | None = Field(description="State; null for none.")
    feed_forward: InspectFeedForward | None = Field(description="Feed-forward part; null for none.")

    @classmethod
    def of(cls, figures: GroupFigures) -> "InspectGroup":
        """The group as shown."""
        group = figures.group
        return cls(
            layers=group.layers,
            parameters_per_layer=figures.parameters_per_layer,
            cache_bytes_per_token=figures.cache_bytes_per_token,
            attention=InspectAttention.model_validate(group.attention) if group.attention else None,
            state=InspectState.model_validate(group.state) if group.state else None,
            feed_forward=InspectFeedForward.model_validate(group.feed_forward) if group.feed_forward else None,
        )


InspectCache: Any = part_of(
    KvCacheSummary,
    "InspectCache",
    "Cache of one sequence, logical bytes.",
    bytes_per_token="Bytes a token adds in layers that grow without limit; the index of sparse attention apart.",
    index_bytes_per_token="Bytes a token adds to the index of sparse attention.",
    window_bytes_per_token="Bytes a token adds in windowed layers, up to the window.",
    window_tokens="Longest window, tokens; null without one.",
    window_bytes_per_sequence="Full windows of one sequence, bytes.",
    state_bytes_per_sequence="States of one sequence, bytes.",
    fixed_bytes_per_sequence="Full windows and states of one sequence, bytes.",
)


InspectQuantization: Any = part_of(
    Quantisation,
    "InspectQuantization",
    "What the config says of its checkpoint.",
    method="The config's own word; of the name where that alone tells.",
    basis="What tells it: config, file (hf_quant_config in the config), or name where no file says it.",
    weight_format="Format of most quantised weights.",
    kv_cache_format="Cache format the config asks for; null for none.",
)


class InspectAnswer(Answer):
    """The model that a config.json describes."""

    name: str | None = Field(description="Name that was given.")
    slug: str | None = Field(default=None, description="Slug of the saved model; null when nothing was saved.")
    family: str = Field(description="Family whose rules read the config.")
    model_type: str = Field(description="model_type of the config.")
    config_sha256: str = Field(description="sha256 of the config's canonical JSON.")
    context_window_tokens: int | None = Field(description="Longest context, tokens; null when not stated.")
    layer_groups: list[InspectGroup] = Field(description="Groups of equal layers.")
    parameters: ParameterCounts
    weights_format: str = Field(description="Format that weights_bytes counts in; bf16 where neither side names one.")
    weights_bytes: int = Field(description="Weights in the formats asked for, scales included, bytes.")
    checkpoint_format: str = Field(description="Format of the config's own files: its quantisation, else its dtype.")
    checkpoint_bytes: int = Field(description="Weights as the config's files store them, MTP layers apart, bytes.")
    bits_per_parameter: float = Field(description="The same over all parameters, bits.")
    kv_cache: InspectCache
    quantization: InspectQuantization | None = Field(description="The config's own quantisation; null for none.")


def answer_inspect(body: InspectRequest, asked: Asked) -> InspectAnswer:
    """The answer to a request."""
    figures = inspect_config(body.config, precision=body.precision, generic=body.generic, name=body.name or "")
    return inspect_answer(figures, name=body.name, revision=asked.facts.catalog_revision, explain=asked.explain)


def inspect_answer(
    figures: ModelFigures, *, name: str | None, revision: int, explain: bool, slug: str | None = None
) -> InspectAnswer:
    """The figures as an answer."""
    architecture = figures.architecture
    warnings = list(architecture.warnings)
    parts = common_parts(
        Resolved(warnings=tuple(warnings)), catalog_revision=revision, steps=figures.explain(), explain=explain
    )
    quantization = architecture.quantization
    return InspectAnswer(
        **parts,
        name=name,
        slug=slug,
        family=architecture.family,
        model_type=architecture.model_type,
        config_sha256=figures.config_sha256,
        context_window_tokens=architecture.max_context_tokens,
        layer_groups=[InspectGroup.of(group) for group in figures.groups],
        parameters=ParameterCounts.model_validate(figures.totals),
        weights_format=figures.precision.weights,
        weights_bytes=figures.weights_bytes,
        checkpoint_format=figures.checkpoint_format,
        checkpoint_bytes=figures.checkpoint_bytes,
        bits_per_parameter=figures.weights_bytes * 8 / max(figures.totals.total, 1),
        kv_cache=InspectCache.model_validate(figures.cache),
        quantization=InspectQuantization.model_validate(quantization) if quantization else None,
    )


_GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 1152,
    "intermediate_size": 6912,
    "num_hidden_layers": 26,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "sliding_window": 512,
    "sliding_window_pattern": 6,
    "vocab_size": 262_144,
    "max_position_embeddings": 32_768,
}

ENDPOINT = Endpoint(
    slug="inspect",
    area="models",
    summary=_("Inspect a config.json"),
    description=_(
        "Layer groups, exact parameter counts, weight bytes and cache figures of the model a config.json describes. "
        "Nothing is saved. A model_type without a rule is 422 unknown-architecture with the nearest known."
    ),
    request=InspectRequest,
    response=InspectAnswer,
    answer=answer_inspect,
)
