"""Imports a language model from its config.json: read and shown first, saved when asked."""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from catalog.config_text import spelled_out
from catalog.models import Checkpoint, LanguageModel
from catalog.reading import ReadModel, read_model
from catalog.revisions import catalog_write
from catalog.services.people import save_by_person

MAX_CONFIG_BYTES = 1_000_000


class ConfigTextError(ValueError):
    """A text that is no config.json, in words for the person who pasted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPreview:
    """What an import would save; `existing` is the row that has the slug, `same_config` slugs of an equal config."""

    slug: str
    name: str
    read: ReadModel
    existing: LanguageModel | None
    same_config: tuple[str, ...]


def parse_config(text: str | bytes) -> dict[str, Any]:
    """The object a pasted config.json holds.

    Raises:
        ConfigTextError: too large, no JSON (with the place), or no object.
    """
    body = text.encode() if isinstance(text, str) else text
    if len(body) > MAX_CONFIG_BYTES:
        raise ConfigTextError(
            _("The text has %(size)d bytes; at most %(limit)d are read. Paste config.json, not the weights' index.")
            % {"size": len(body), "limit": MAX_CONFIG_BYTES}
        )
    try:
        config = orjson.loads(spelled_out(body, everywhere=True))
    except orjson.JSONDecodeError as broken:
        raise ConfigTextError(
            _("Not valid JSON at line %(line)d, column %(column)d: %(fault)s.")
            % {"line": broken.lineno, "column": broken.colno, "fault": broken.msg}
        ) from broken
    if not isinstance(config, dict):
        raise ConfigTextError(_("A config.json is an object in braces; this is something else."))
    return config


def slug_of(name: str) -> str:
    """A slug from a model's name: `meta-llama/Llama-3.1-8B` gives `llama-3.1-8b`."""
    tail = name.strip().rsplit("/", maxsplit=1)[-1].lower()
    return re.sub(r"[._-]*[^a-z0-9._]+[._-]*|[._-]{2,}", "-", tail).strip("._-")


def preview_model(config: Mapping[str, Any], *, name: str, slug: str = "", generic: bool = False) -> ModelPreview:
    """What importing `config` would save; saves nothing.

    Raises:
        EngineError: the reader refuses the config (unknown architecture, bad value).
    """
    read = read_model(config, generic=generic, name=name)
    slug = slug or slug_of(name)
    same = LanguageModel.objects.filter(config_sha256=read.config_sha256).values_list("slug", flat=True)
    return ModelPreview(
        slug=slug,
        name=name.strip(),
        read=read,
        existing=LanguageModel.objects.filter(slug=slug).first(),
        same_config=tuple(same),
    )


def import_model(
    config: Mapping[str, Any],
    *,
    name: str,
    user: Any,
    slug: str = "",
    source: str = "",
    source_date: datetime.date | None = None,
    publisher: str = "",
    checkpoints: Sequence[Mapping[str, Any]] = (),
    generic: bool = False,
    replace: bool = False,
    reason: str = "",
) -> LanguageModel:
    """Read a config and save the model, with who and why in its history.

    Args:
        config: the parsed config.json.
        checkpoints: stored weight files, {precision, stored_weight_bytes, source}.
        generic: read an unknown `model_type` by the common keys, labelled as such.
        replace: update the model that has the slug already instead of refusing.

    Raises:
        EngineError: the reader refuses the config.
        ValidationError: by field: the slug is taken or malformed, a value fails its check.
    """
    preview = preview_model(config, name=name, slug=slug, generic=generic)
    if preview.existing is not None and not replace:
        raise ValidationError(
            {
                "slug": _("There is a model %(slug)s already; ask to replace it or choose another.")
                % {"slug": preview.slug}
            }
        )
    read = preview.read
    row = preview.existing or LanguageModel(slug=preview.slug)
    row.name = preview.name or preview.slug
    row.family = read.family
    row.architecture = read.architecture
    row.config = dict(config)
    row.config_sha256 = read.config_sha256
    row.total_parameters = read.total_parameters
    row.active_parameters = read.active_parameters
    row.experts = read.experts
    row.context_window_tokens = read.context_window_tokens
    row.publisher = publisher or row.publisher
    # The source of a config that is replaced is not that of the new one.
    row.source = source or _("config pasted by a person")
    row.source_date = source_date
    with catalog_write(only_if_touched=True):
        save_by_person(row, user=user, reason=reason or _("Imported from a config.json"))
        for checkpoint in checkpoints:
            stored = Checkpoint(model=row, **checkpoint)
            save_by_person(stored, user=user, reason=reason)
    return row
