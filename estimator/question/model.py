"""The `model` of a request: a slug, a slug with another cache, a config.json, or a shape."""

from typing import Annotated

from pydantic import Field, JsonValue, Tag

from estimator.question.acting import REPEATED, Needs, needs
from estimator.question.fields import WHOLE, ModelSlug, Name, Parameters, RequestBody, Tokens, Width, by_key, tag

Layers = Annotated[int, Field(ge=1, le=10_000), WHOLE]
Heads = Annotated[int, Field(ge=1, le=100_000), WHOLE]
Experts = Annotated[int, Field(ge=1, le=100_000), WHOLE]


class ModelOverride(RequestBody):
    """Cache of a catalog model replaced as a what-if; weights and parameters stay those of the model."""

    kv_heads: Heads | None = Field(
        default=None,
        description="KV heads of every layer: the query heads for MHA, 1 for MQA. Divides the query heads.",
    )
    window_tokens: Tokens | None = Field(
        default=None, description="Sliding window of every layer with full attention, tokens."
    )
    latent_rank: Width | None = Field(
        default=None, description="Rank of a latent (MLA) cache instead of K and V, elements."
    )
    latent_rope_dim: Annotated[Width | None, needs("latent_rank")] = Field(
        default=None, description="Rotary width beside the latent, elements; 64 when not given."
    )
    context_window_tokens: Tokens | None = Field(default=None, description="Context window, tokens.")


class OverriddenModel(RequestBody):
    """A catalog model with parts of it replaced."""

    slug: ModelSlug = Field(description="Slug of the catalog model, such as llama-3.1-8b.")
    override: ModelOverride = Field(
        default_factory=ModelOverride, description="What to replace; nothing when left out."
    )


class ConfigModel(RequestBody):
    """A model given by its config.json."""

    config: dict[str, JsonValue] = Field(
        description="The Hugging Face config.json as an object; read, never executed, and kept only by a report."
    )
    name: Annotated[Name | None, REPEATED] = Field(
        default=None,
        description="Name to echo; a format that it tells, as FP8 or NVFP4, counts where the config states no "
        "quantisation and holds no hf_quant_config.",
    )


class ShapeModel(RequestBody):
    """A model given by its figures; missing widths follow from the others."""

    parameters: Parameters = Field(description="Parameters in total, count; 8.03e9 is a whole number too.")
    layers: Layers = Field(description="Layers, count.")
    heads: Heads = Field(description="Query heads of a layer, count.")
    hidden_size: Width | None = Field(
        default=None, description="Width of the model, elements; heads · head_dim when not given."
    )
    active_parameters: Annotated[Parameters | None, needs("experts")] = Field(
        default=None, description="Parameters a token uses (mixture of experts), count; all when not given."
    )
    kv_heads: Heads | None = Field(
        default=None, description="KV heads of a layer, count; the query heads when not given."
    )
    head_dim: Width | None = Field(
        default=None, description="Width of a head, elements; hidden_size / heads when not given."
    )
    intermediate_size: Width | None = Field(default=None, description="Width of the feed-forward part, elements.")
    vocab_size: Width | None = Field(default=None, description="Rows of the token table, count.")
    window_tokens: Tokens | None = Field(default=None, description="Sliding window of every layer, tokens.")
    latent_rank: Width | None = Field(default=None, description="Rank of a latent (MLA) cache, elements.")
    latent_rope_dim: Annotated[Width | None, needs("latent_rank")] = Field(
        default=None, description="Rotary width beside the latent, elements; 64 when not given."
    )
    experts: Annotated[Experts | None, needs("experts_per_token")] = Field(
        default=None, description="Routed experts of a layer, count."
    )
    experts_per_token: Annotated[Experts | None, needs("experts")] = Field(
        default=None, description="Routed experts a token uses, count."
    )
    expert_intermediate_size: Annotated[Width | None, needs("experts")] = Field(
        default=None, description="Width of a routed expert, elements."
    )
    tied_embeddings: Annotated[bool, Needs("parameters are given in total", lambda shape: shape.parameters is None)] = (
        Field(default=False, description="Whether the head shares the token table.")
    )
    context_window_tokens: Tokens | None = Field(default=None, description="Context window, tokens.")
    name: Annotated[Name | None, REPEATED] = Field(default=None, description="Name to echo.")


ModelRef = Annotated[
    Annotated[ModelSlug, Tag(tag("slug"))]
    | Annotated[OverriddenModel, Tag(tag("override"))]
    | Annotated[ConfigModel, Tag(tag("config"))]
    | Annotated[ShapeModel, Tag(tag("shape"))],
    by_key({"slug": "override", "config": "config", "parameters": "shape"}, text="slug"),
    Field(
        description=(
            "The language model: a catalog slug; {slug, override} for another cache; {config} for a config.json; or a "
            "shape {parameters, layers, heads, …}."
        ),
        examples=["llama-3.1-8b"],
    ),
]
