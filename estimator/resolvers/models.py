"""Resolves the model of a request: a catalog row, a catalog row with another cache, a config.json, or a shape."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from catalog.canonical import sha256_of
from catalog.spelling import near_matches
from estimator.engine.errors import EngineError
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.model.serialise import from_dict
from estimator.engine.reading.inline import architecture_from_shape, override_cache
from estimator.engine.reading.reader import read_config
from estimator.question.model import ConfigModel, ModelOverride, OverriddenModel, ShapeModel
from estimator.resolvers.collect import unknown_slug
from estimator.resolvers.facts import FactRow, Facts, UnknownSlugError
from estimator.resolvers.plan import Checkpoint, Provenance, ResolvedModel

DEFAULT_LATENT_ROPE_DIM = 64


Asked = str | OverriddenModel | ConfigModel | ShapeModel


def resolve_model(asked: Asked, facts: Facts, path: tuple[str, ...] = ("model",)) -> ResolvedModel:
    """The model with its architecture.

    Args:
        asked: a slug, a slug with another cache, a config.json, or a shape.
        facts: where catalog rows come from.
        path: place in the request, for pointers.

    Raises:
        ResolutionError: unknown slug.
        UnknownArchitectureError: a config whose model_type has no rule (its field is the one not known).
        InvalidInputError, MissingFigureError: a config or shape that cannot be (field is the dotted place).
    """
    if isinstance(asked, str):
        return _from_catalog(asked, facts, path)
    if isinstance(asked, OverriddenModel):
        return _overridden(_from_catalog(asked.slug, facts, path), asked.override)
    if isinstance(asked, ConfigModel):
        return _from_config(asked.config, asked.name, path)
    return _from_shape(asked)


def model_provenance(model: ResolvedModel, facts: Facts) -> tuple[Provenance, ...]:
    """Where the architecture is from."""
    what, unit = "model.architecture", "1"
    if model.slug is not None:
        row = facts.row("model", model.slug)
        source, date = str(row.get("source") or "catalog"), row.get("source_date")
        return (Provenance(what=what, value=model.slug, unit=unit, source=source, date=date),)
    if model.config_sha256 is not None:
        source = "config.json of the request, sha256 " + model.config_sha256
        return (Provenance(what=what, value=model.architecture.family, unit=unit, source=source),)
    return (Provenance(what=what, value="inline", unit=unit, source="request"),)


def _from_catalog(slug: str, facts: Facts, path: tuple[str, ...]) -> ResolvedModel:
    try:
        row = facts.row("model", slug)
    except UnknownSlugError as error:
        raise unknown_slug(error, path, near_matches(slug, facts.slugs("model"))) from None
    return facts.derived(("resolved_model", slug), lambda: _of_row(row))


def _of_row(row: FactRow) -> ResolvedModel:
    architecture = from_dict(row["architecture"])
    return ResolvedModel(
        slug=row["slug"],
        name=row["name"],
        architecture=architecture,
        parameters=parameter_totals(architecture),
        checkpoints=tuple(
            Checkpoint(
                precision=checkpoint["precision"],
                stored_weight_bytes=checkpoint["stored_weight_bytes"],
                source=checkpoint.get("source", ""),
            )
            for checkpoint in row.get("checkpoints", ())
        ),
        context_window_tokens=row.get("context_window_tokens"),
        config_sha256=row.get("config_sha256") or None,
    )


def _overridden(model: ResolvedModel, override: ModelOverride) -> ResolvedModel:
    given = {name: value for name, value in override if value is not None}
    if not given:
        return model
    architecture = override_cache(
        model.architecture,
        kv_heads=override.kv_heads,
        window_tokens=override.window_tokens,
        latent_rank=override.latent_rank,
        latent_rope_dim=override.latent_rope_dim or DEFAULT_LATENT_ROPE_DIM,
    )
    return ResolvedModel(
        slug=model.slug,
        name=model.name,
        architecture=architecture,
        parameters=model.parameters,
        checkpoints=model.checkpoints,
        context_window_tokens=override.context_window_tokens or model.context_window_tokens,
        config_sha256=model.config_sha256,
        override=given,
    )


def _from_config(config: Mapping[str, Any], name: str | None, path: tuple[str, ...]) -> ResolvedModel:
    try:
        architecture = read_config(config, name=name or "")
    except EngineError as error:
        if error.field:
            error.field = ".".join((*path, error.field))
        raise
    return ResolvedModel(
        slug=None,
        name=name or _("model of the config given"),
        architecture=architecture,
        parameters=parameter_totals(architecture),
        context_window_tokens=architecture.max_context_tokens,
        config_sha256=sha256_of(config),
    )


def _from_shape(shape: ShapeModel) -> ResolvedModel:
    values = dict(shape)
    name = values.pop("name")
    values["max_context_tokens"] = values.pop("context_window_tokens")
    values["experts"] = shape.experts or 0
    values["experts_per_token"] = shape.experts_per_token or 0
    values["latent_rope_dim"] = shape.latent_rope_dim or DEFAULT_LATENT_ROPE_DIM
    architecture = architecture_from_shape(**values)
    return ResolvedModel(
        slug=None,
        name=name or _("model of the shape given"),
        architecture=architecture,
        parameters=parameter_totals(architecture),
        context_window_tokens=shape.context_window_tokens,
    )
