"""Reads a config.json into what the catalog stores of a model: one path for import, preview and loader."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catalog.canonical import sha256_of
from estimator.engine.model.parameters import parameter_totals
from estimator.engine.model.serialise import to_dict
from estimator.engine.reading.reader import read_config


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadModel:
    """A config as read: the architecture in its stored form, exact parameter counts, and the reader's warnings."""

    family: str
    architecture: dict[str, Any]
    config_sha256: str
    total_parameters: int
    active_parameters: int
    experts: int
    context_window_tokens: int | None
    warnings: tuple[str, ...]


def read_model(config: Mapping[str, Any], *, generic: bool = False, name: str = "") -> ReadModel:
    """The model a config.json describes.

    Args:
        config: the parsed file; nothing in it is executed.
        generic: read an unknown `model_type` by the common keys, labelled as such, instead of refusing it.
        name: the model's name; a format that it tells counts where no file states a quantisation.

    Raises:
        UnknownArchitectureError: no rules for its `model_type`, with the nearest known ones.
        InvalidInputError: a value is missing or out of range.
    """
    read = read_config(config, generic=generic, name=name)
    totals = parameter_totals(read)
    return ReadModel(
        family=read.family,
        architecture=to_dict(read),
        config_sha256=sha256_of(config),
        total_parameters=totals.total,
        active_parameters=totals.active,
        experts=max((group.feed_forward.experts for group in read.layer_groups if group.feed_forward), default=0),
        context_window_tokens=read.max_context_tokens,
        warnings=tuple(read.warnings),
    )
