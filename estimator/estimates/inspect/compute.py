"""Reads a config.json into the figures that people look at before they trust an estimate."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from catalog.canonical import canonical_json
from catalog.services.model_import import MAX_CONFIG_BYTES
from estimator.engine.errors import InvalidInputError
from estimator.engine.explain import Step
from estimator.engine.memory.weight_parts import fold, own_weight_format
from estimator.engine.memory.weights import rank_weights
from estimator.engine.model.cache import (
    KvCacheSummary,
    attention_elements,
    index_elements,
    kv_cache_summary,
    kv_element_bytes,
    whole_bytes,
)
from estimator.engine.model.parameters import ParameterTotals, layer_parameters, parameter_totals
from estimator.engine.model.spec import Architecture, LayerGroup
from estimator.engine.reading.reader import read_config
from estimator.engine.specs import Parallelism, Precision
from estimator.question import plan as question
from estimator.resolvers.precisions import resolve_precision

_CONFIG = "config.json of the request"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """One layer group with its parameters a layer and its cache bytes a token (of all its layers)."""

    group: LayerGroup
    parameters_per_layer: int
    cache_bytes_per_token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """What a config describes; `weights_bytes` in the formats asked for, `checkpoint_bytes` as its own files are."""

    architecture: Architecture
    config_sha256: str
    totals: ParameterTotals
    cache: KvCacheSummary
    groups: tuple[GroupFigures, ...]
    weights_bytes: int
    precision: Precision
    checkpoint_bytes: int
    checkpoint_format: str

    def explain(self) -> list[Step]:
        """Parameters by layer group, and their sum with the tables and the head."""
        steps = [self._group_step(index, figures) for index, figures in enumerate(self.groups)]
        architecture = self.architecture
        values = {f"layers_{index}_parameters": step.value for index, step in enumerate(steps)}
        values |= {
            "embedding": self.totals.embedding,
            "lm_head": self.totals.lm_head,
            "final_norm": architecture.final_norm_parameters,
            "other": architecture.other_parameters,
            "vision_audio": self.totals.vision_audio,
        }
        numbers = {name: value for name, value in values.items() if isinstance(value, int)}
        steps.append(
            Step.worked(
                name="parameters_total",
                formula=" + ".join(numbers),
                values=numbers,
                value=self.totals.total,
                unit="1",
                source=_CONFIG,
            )
        )
        return steps

    def _group_step(self, index: int, figures: GroupFigures) -> Step:
        group = figures.group
        copies = group.layers if group.parameter_copies is None else group.parameter_copies
        return Step.worked(
            name=f"layers_{index}_parameters",
            formula="copies · parameters_per_layer",
            values={"copies": copies, "parameters_per_layer": figures.parameters_per_layer},
            value=copies * figures.parameters_per_layer,
            unit="1",
            source=_CONFIG,
        )


def inspect_config(
    config: Mapping[str, Any],
    *,
    precision: question.Precision | None = None,
    generic: bool = False,
    name: str = "",
) -> ModelFigures:
    """Read a config and count.

    Args:
        config: the parsed file.
        precision: formats to count in; None and weights left out take the config's own quantisation, else bf16.
        generic: read an unknown model_type by the llama rule.
        name: the model's name; a format that it tells counts where no file states a quantisation.

    Raises:
        UnknownArchitectureError, InvalidInputError, MissingFigureError: the reader refuses the config.
    """
    canonical = canonical_json(config)
    if len(canonical) > MAX_CONFIG_BYTES:
        raise InvalidInputError(f"the config has {len(canonical)} bytes, more than {MAX_CONFIG_BYTES}", field="config")
    architecture = read_config(config, generic=generic, name=name)
    formats = resolve_precision(precision or question.Precision(), architecture)
    weights = rank_weights(fold(architecture), formats, Parallelism())
    stored = own_weight_format(architecture) or architecture.native_dtype
    files = rank_weights(fold(architecture), Precision(weights=stored), Parallelism())
    return ModelFigures(
        architecture=architecture,
        config_sha256=sha256(canonical).hexdigest(),
        totals=parameter_totals(architecture),
        cache=kv_cache_summary(architecture, formats.kv_cache),
        groups=tuple(_group(group, formats.kv_cache) for group in architecture.layer_groups),
        weights_bytes=round(weights.total_bytes),
        precision=formats,
        checkpoint_bytes=round(files.total_bytes),
        checkpoint_format=stored,
    )


def _group(group: LayerGroup, kv_format: str) -> GroupFigures:
    """The figures of one group."""
    cache = 0
    attention = group.attention
    if attention is not None and attention.stores_kv:
        element = kv_element_bytes(kv_format)
        elements = (attention_elements(attention) + index_elements(attention)) * group.layers * group.attention_blocks
        cache = whole_bytes(elements * element)
    return GroupFigures(group=group, parameters_per_layer=layer_parameters(group), cache_bytes_per_token=cache)
