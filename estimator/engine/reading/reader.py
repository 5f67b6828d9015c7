"""From a Hugging Face config.json to an architecture: pure, bounded, and refusing what it has no rule for."""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from estimator.engine.errors import InvalidInputError, UnknownArchitectureError
from estimator.engine.formats.quantisation_config import read_quantisation
from estimator.engine.model.spec import Architecture
from estimator.engine.reading.class_defaults import class_defaults
from estimator.engine.reading.families import READERS
from estimator.engine.reading.fields import Fields
from estimator.engine.reading.nesting import NESTED_KEYS, OUTER_KEY, SAME_AS, TEXT_PART
from estimator.engine.reading.prediction import with_mtp
from estimator.engine.reading.shape import HIDDEN, LAYERS
from estimator.engine.reading.vision import vision_parameters

MAX_MODEL_TYPE_CHARACTERS = 100
_NATIVE_DTYPES = {"float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16"}
_DIMENSIONS = frozenset({"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "intermediate_size"})


def known_model_types() -> tuple[str, ...]:
    """Every model_type the reader has rules for, sorted."""
    return tuple(sorted({*READERS, *SAME_AS, *TEXT_PART}))


def read_config(config: Mapping[str, Any], *, generic: bool = False, name: str = "") -> Architecture:
    """Read a config.json as an architecture with exact parameter counts and cache rules.

    Args:
        config: the parsed file; nothing in it is executed, `auto_map` is ignored.
        generic: read an unknown model_type by the llama rule; the result says so in its warnings.
        name: the model's name; a format that it tells counts where no file states a quantisation.

    Returns:
        The architecture; `warnings` name what was assumed.

    Raises:
        UnknownArchitectureError: the model_type has no rule and `generic` is False.
        InvalidInputError: a key has a value that cannot be; `field` names it.
        MissingFigureError: a needed key is absent and its class has no default.
    """
    if not isinstance(config, Mapping):
        raise InvalidInputError("config must be an object", field="config")
    text, path = _text_part(config)
    outer_type = _model_type(config, "config")
    model_type = _model_type(text, path) if text is not config else outer_type
    rule_type = _rule_type(outer_type, model_type)
    reader = READERS.get(rule_type)
    warnings: list[str] = []
    outer_is_known = outer_type in READERS or outer_type in TEXT_PART or outer_type in SAME_AS
    if reader is None or not outer_is_known:
        unknown, where = (model_type, path) if outer_is_known else (outer_type or model_type, "config")
        if not generic:
            raise unknown_architecture(unknown, where)
        warnings.append(f"{where}.model_type {unknown or 'missing'!r} is unknown: read generically by the llama rule")
        rule_type, reader = "llama", READERS["llama"]
    fields = Fields(_merged(_with_towers(config), text), class_defaults(model_type, rule_type), path)
    architecture = reader(fields)
    _require_dimensions(fields)
    warnings += _default_warnings(fields)
    architecture = with_mtp(fields, architecture)
    vision, notes = vision_parameters(Fields(_with_towers(config), {}), outer_type, rule_type, architecture.hidden_size)
    architecture = replace(
        architecture,
        model_type=outer_type or model_type,
        native_dtype=_native_dtype(text, config),
        vision_audio_parameters=vision,
        warnings=(*architecture.warnings, *warnings, *notes, *_window_warnings(architecture)),
    )
    return read_quantisation(config, text, architecture, name=name)


def _with_towers(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping that holds the towers: those of the thinker stand beside the talker's parts."""
    thinker = config.get(OUTER_KEY)
    return {**config, **thinker} if isinstance(thinker, Mapping) else config


def unknown_architecture(model_type: str, path: str = "config") -> UnknownArchitectureError:
    """The refusal of a model_type without a rule, with the nearest known ones; `path` is the part that states it."""
    known = known_model_types()
    near = tuple(difflib.get_close_matches(model_type, known, n=3, cutoff=0.4)) if model_type else ()
    shown = model_type or "(none)"
    hint = f"; nearest known: {', '.join(near)}" if near else ""
    part = path.removeprefix("config").removeprefix(".")
    told = f"the model_type of {part}, {shown!r}," if part else f"model_type {shown!r}"
    return UnknownArchitectureError(
        f"{told} is not known{hint}", model_type=shown, near=near, field=f"{path}.model_type"
    )


def _text_part(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The mapping that holds the language model's dimensions, and its path."""
    path = "config"
    inner = config
    if config.get(OUTER_KEY) is not None:
        inner, path = _object(config, OUTER_KEY, path)
    for key in NESTED_KEYS:
        if inner.get(key) is not None:
            return _object(inner, key, path)
    return inner, path


def _object(config: Mapping[str, Any], key: str, path: str) -> tuple[Mapping[str, Any], str]:
    """The mapping under a key, and its path."""
    nested = config[key]
    if not isinstance(nested, Mapping):
        raise InvalidInputError(f"{key} must be an object", field=f"{path}.{key}")
    return nested, f"{path}.{key}"


def _model_type(config: Mapping[str, Any], path: str) -> str:
    """The model_type of a mapping, empty when absent."""
    value = config.get("model_type")
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_MODEL_TYPE_CHARACTERS:
        raise InvalidInputError("model_type must be a short text", field=f"{path}.model_type")
    return value


def _native_dtype(*configs: Mapping[str, Any]) -> str:
    """The type that the files store weights in, the text part's word first; bf16 where they say none or another."""
    for config in configs:
        for key in ("dtype", "torch_dtype"):
            stated = config.get(key)
            if isinstance(stated, str):
                found = _NATIVE_DTYPES.get(stated.removeprefix("torch."))
                if found is not None:
                    return found
    return "bf16"


def _rule_type(outer_type: str, model_type: str) -> str:
    """The model_type whose rule reads the text part."""
    candidate = model_type
    if not candidate or (candidate == outer_type and outer_type in TEXT_PART and outer_type not in READERS):
        candidate = TEXT_PART.get(outer_type, outer_type)
    return SAME_AS.get(candidate, candidate)


def _merged(config: Mapping[str, Any], text: Mapping[str, Any]) -> Mapping[str, Any]:
    """The text part with the tie flag of the outer mapping, which wins; the class default is that of the text part.

    (Outer classes have defaults of their own since transformers 5, but checkpoints from before follow the text part:
    Mistral Small 3 stores its head although the outer default says tied.)
    """
    tie = config.get("tie_word_embeddings")
    if tie is None or text.get("tie_word_embeddings") is tie:
        return text
    return {**text, "tie_word_embeddings": tie}


def _require_dimensions(fields: Fields) -> None:
    """Refuse a config that states neither width nor depth: class defaults are for omitted keys, not for files."""
    defaulted = set(fields.defaulted)
    if defaulted.intersection(HIDDEN) and defaulted.intersection(LAYERS):
        raise fields.missing("hidden_size")


def _window_warnings(architecture: Architecture) -> list[str]:
    """Say when a window is no shorter than the context, so that its layers act as full attention."""
    longest = architecture.max_context_tokens
    windows = {g.attention.window_tokens for g in architecture.layer_groups if g.attention is not None}
    wide = sorted(window for window in windows if window is not None and longest is not None and window >= longest)
    return [f"a window of {window} tokens is not below the context of {longest}: full attention" for window in wide]


def _default_warnings(fields: Fields) -> list[str]:
    """Say which main dimensions came from the class defaults."""
    taken = sorted(_DIMENSIONS.intersection(fields.defaulted))
    if not taken:
        return []
    return [f"not in the file, taken from the class defaults: {', '.join(taken)}"]
