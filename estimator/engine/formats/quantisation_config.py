"""What a config.json says of its quantised checkpoint: the format of each matrix, and what is left in 16 bits."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from estimator.engine.errors import InvalidInputError
from estimator.engine.formats.module_patterns import MAX_WILDCARDS, ModulePatterns
from estimator.engine.formats.names import format_of_name
from estimator.engine.formats.quantisation_methods import METHODS, method_of, read_scheme
from estimator.engine.formats.quantisation_scheme import WHERE, Scheme
from estimator.engine.model.spec import Architecture, Matrix, Quantisation, Stored

MAX_WORK = 4_000_000


def read_quantisation(
    config: Mapping[str, Any], text: Mapping[str, Any], architecture: Architecture, *, name: str = ""
) -> Architecture:
    """The architecture with the quantisation of its checkpoint, unchanged where nothing tells of one.

    The config's own entry goes first (the outer mapping, then the text part), then the quantiser's file beside it
    (`hf_quant_config` in the config), then the model's name. A method without a rule is said by name, with those that
    have one; lists and patterns that cannot be read are said too.

    Raises:
        InvalidInputError: the entry is not an object, or its lists are not lists of texts.
    """
    settings, basis = _settings(config, text)
    if settings is None:
        told = format_of_name(name)
        if told is None:
            return architecture
        word, weight_format = told
        scheme: Scheme | None = Scheme(
            method=word, main=weight_format, kept=ModulePatterns(()), notes=(_OF_NAME % word,)
        )
        basis = "name"
    else:
        scheme = read_scheme(settings, text.get("expert_dtype"))
    if scheme is None:
        return replace(architecture, warnings=(*architecture.warnings, _without_rule(settings or {})))
    return replace(
        architecture,
        quantization=replace(_apply(scheme, architecture), basis=basis),
        warnings=(*architecture.warnings, *scheme.notes, *_unread(scheme)),
    )


QUANTISER_FILE = "hf_quant_config"
"""The key under which a config may hold what ModelOpt writes into hf_quant_config.json beside it."""
NOTE_OF_NAME = "the config states no quantisation, the name says "
_OF_NAME = NOTE_OF_NAME + "%s: counted so, with nothing but routers in 16 bits"


def _settings(config: Mapping[str, Any], text: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    """What tells of the quantisation, and where it stands."""
    own = next((one[key] for key in _KEYS for one in (config, text) if one.get(key) is not None), None)
    if own is not None:
        if not isinstance(own, Mapping):
            raise InvalidInputError("quantization_config must be an object", field=WHERE)
        return own, "config"
    file = config.get(QUANTISER_FILE)
    if file is None:
        return None, "config"
    inner = file.get("quantization", file) if isinstance(file, Mapping) else None
    if not isinstance(inner, Mapping):
        raise InvalidInputError(f"{QUANTISER_FILE} must be an object", field=f"config.{QUANTISER_FILE}")
    return {"producer": "modelopt", **inner}, "file"


# compressed-tensors wrote `compression_config` before 2024-10.
_KEYS = ("quantization_config", "compression_config")


def _without_rule(settings: Mapping[str, Any]) -> str:
    """What to say of a method, or of settings of one, that there is no rule for."""
    method = method_of(settings)
    known = ", ".join(sorted(METHODS))
    if method.lower().replace("_", "-") in METHODS:
        what = f"these settings of {method!r}"
    else:
        what = f"quant_method {method[:60] or '(none)'!r} (known: {known})"
    return f"quantization_config is without a rule for {what}: weights are counted in 16 bits"


def _unread(scheme: Scheme) -> tuple[str, ...]:
    """What to say of patterns that are not run because they could run away."""
    lists = (scheme.kept, *(one for one, _ in scheme.groups))
    unread = [pattern for one in lists for pattern in one.unread]
    if not unread:
        return ()
    return (f"{len(unread)} patterns of quantization_config are not read, the first is {unread[0][:80]!r}",)


def _apply(scheme: Scheme, architecture: Architecture) -> Quantisation:
    """The format of each matrix of each group, counting layers."""
    order = architecture.layer_order or tuple(
        index for index, group in enumerate(architecture.layer_groups) for _ in range(group.layers)
    )
    work = len(order) * max((len(group.matrices) for group in architecture.layer_groups), default=0)
    matchers = [scheme.kept, *(named for named, _ in scheme.groups)]
    if scheme.kept.size > MAX_WILDCARDS or work * sum(one.size + len(one.parts) for one in matchers) > MAX_WORK:
        raise InvalidInputError("the list of unquantised modules is too long for so many layers", field=WHERE)
    positions: list[list[int]] = [[] for _ in architecture.layer_groups]
    for layer, index in enumerate(order):
        positions[index].append(layer)
    same_everywhere = scheme.single is None and not any(one.names_layers for one in matchers)
    matrices = tuple(
        tuple(_stored(scheme, matrix, layers, same_everywhere=same_everywhere) for matrix in group.matrices)
        for group, layers in zip(architecture.layer_groups, positions, strict=True)
    )
    return Quantisation(
        method=scheme.method,
        weight_format=_main_format(scheme, architecture, matrices),
        matrices=matrices,
        kv_cache_format=scheme.kv_format,
        lm_head_format=scheme.lm_head,
    )


def _main_format(scheme: Scheme, architecture: Architecture, matrices: Sequence[Sequence[Sequence[Stored]]]) -> str:
    """The format that holds most of the quantised elements; the scheme's own where there are none."""
    elements: Counter[str] = Counter()
    for group, stored in zip(architecture.layer_groups, matrices, strict=True):
        for matrix, formats in zip(group.matrices, stored, strict=True):
            for name, layers in formats:
                elements[name] += matrix.rows * matrix.columns * matrix.copies * layers
    del elements["native"]
    return elements.most_common(1)[0][0] if elements else scheme.experts or scheme.main


def _stored(scheme: Scheme, matrix: Matrix, layers: Sequence[int], *, same_everywhere: bool) -> tuple[Stored, ...]:
    """Formats of one matrix over the layers of its group."""
    if not matrix.quantisable:
        return (Stored("native", len(layers)),)
    if same_everywhere:
        return (Stored(_format_of(scheme, f"layers.{layers[0]}.{matrix.name}"), len(layers)),)
    counts = Counter(_format_of(scheme, f"layers.{layer}.{matrix.name}") for layer in layers)
    return tuple(Stored(name, count) for name, count in counts.items())


def _format_of(scheme: Scheme, path: str) -> str:
    """The format of one module."""
    concrete = path.replace(".experts.*.", ".experts.0.")
    if scheme.single is not None:
        return _single_format(scheme.single, concrete)
    if scheme.kept(concrete):
        # NVFP4 copies of an fp8 model list what stays fp8, not what stays in 16 bits
        return scheme.main if scheme.experts == "nvfp4" else "native"
    if scheme.experts is not None and ".experts." in concrete:
        return scheme.experts
    for named, weight_format in scheme.groups:
        if named(concrete):
            return weight_format
    return scheme.main


_MODEL_PREFIXES = ("model.", "backbone.", "model.language_model.", "language_model.model.", "")


def _single_format(single: Mapping[str, str], path: str) -> str:
    """The format that a per-layer table gives a module (by its own name, or that of its experts as a whole)."""
    names = [path, path.replace(".mlp.shared_experts.", ".mlp.shared_expert.")]
    if ".experts." in path:
        names.append(path.split(".experts.")[0] + ".experts")
    for prefix in _MODEL_PREFIXES:
        for name in names:
            found = single.get(prefix + name)
            if found is not None:
                return found
    return "native"
