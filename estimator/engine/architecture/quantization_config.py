"""What a config.json says of its quantised checkpoint: the format of each matrix, and what is left in 16 bits."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from estimator.engine.architecture.spec import Architecture, Matrix, Quantization, Stored
from estimator.engine.errors import InvalidInputError

MAX_PATTERNS = 20_000
MAX_PATTERN_CHARACTERS = 400
MAX_WORK = 4_000_000
MAX_WILDCARDS = 2_000
_WHERE = "config.quantization_config"
# What a pattern of an ignore list may hold beside plain text: nothing that can run away.
_SAFE_REGEX = re.compile(r"^[\w.\-*+\\()|\[\]?^$]*$")


def read_quantization(config: Mapping[str, Any], text: Mapping[str, Any], architecture: Architecture) -> Architecture:
    """The architecture with the quantisation that its config states, unchanged where it states none.

    Looks at the outer mapping first, then at the text part.

    Raises:
        InvalidInputError: the entry is not an object, or its lists are not lists of texts.
    """
    settings = config.get("quantization_config", text.get("quantization_config"))
    if settings is None:
        return architecture
    if not isinstance(settings, Mapping):
        raise InvalidInputError("quantization_config must be an object", field=_WHERE)
    scheme = _scheme(settings, text.get("expert_dtype"))
    if scheme is None:
        note = "quantization_config is of a kind without a rule: weights are counted in 16 bits"
        return replace(architecture, warnings=(*architecture.warnings, note))
    return replace(architecture, quantization=_apply(scheme, architecture))


@dataclass(frozen=True, slots=True)
class _Scheme:
    """A main format, a format of experts where it differs, formats of single modules, and what is left alone."""

    method: str
    main: str
    kept: "_Kept"
    kv_format: str | None = None
    single: Mapping[str, str] | None = None
    experts: str | None = None
    groups: "tuple[tuple[_Kept, str], ...]" = ()


def _scheme(settings: Mapping[str, Any], expert_dtype: object) -> _Scheme | None:
    """The scheme of a `quantization_config`, by its method."""
    method = settings.get("quant_method") or settings.get("quant_algo") or ""
    if not isinstance(method, str):
        raise InvalidInputError("quant_method must be a text", field=f"{_WHERE}.quant_method")
    kept = _Kept(_patterns(settings))
    name = method.lower().replace("_", "-")
    reader = _METHODS.get(name, _modelopt if "producer" in settings else None)
    scheme = None if reader is None else reader(settings, method, kept)
    if scheme is not None and name == "fp8":
        # experts in fp4 beside fp8: DeepSeek V4 (one scale for 32), or its NVFP4 copies (one for 16)
        if str(settings.get("moe_quant_algo", "")).upper() == "NVFP4":
            return replace(scheme, experts="nvfp4")
        if expert_dtype == "fp4":
            return replace(scheme, experts="mxfp4")
    return scheme


def _fp8(settings: Mapping[str, Any], method: str, kept: "_Kept") -> _Scheme:
    block = settings.get("weight_block_size")
    return _Scheme(method, "fp8_block" if isinstance(block, list | tuple) else "fp8", kept)


def _mxfp4(settings: Mapping[str, Any], method: str, kept: "_Kept") -> _Scheme:
    """The gpt-oss scheme: only expert matrices are packed."""
    return _Scheme(method, "native", kept, experts="mxfp4")


def _grouped(settings: Mapping[str, Any], method: str, kept: "_Kept") -> _Scheme | None:
    """AWQ and GPTQ: bits and group size; widths other than 4 and 8 bits have no rule."""
    bits, group = settings.get("bits", settings.get("w_bit", 4)), settings.get("group_size", 128)
    if bits == 8:
        return _Scheme(method, "gptq_int8", kept)
    if bits != 4:
        return None
    if group not in (32, 64) and method.lower().startswith("gptq"):
        return _Scheme(method, "gptq", kept)
    return _Scheme(method, {32: "int4_g32", 64: "int4_g64"}.get(group, "int4"), kept)


def _bitsandbytes(settings: Mapping[str, Any], method: str, kept: "_Kept") -> _Scheme | None:
    if settings.get("load_in_8bit"):
        return _Scheme(method, "int8_bnb", kept)
    if not settings.get("load_in_4bit", True):
        return None
    return _Scheme(method, "nf4_double" if settings.get("bnb_4bit_use_double_quant") else "nf4", kept)


def _compressed(settings: Mapping[str, Any], method: str, kept: "_Kept") -> _Scheme | None:
    """compressed-tensors: the format of `config_groups`, or one for each group where they differ."""
    groups = [
        (_texts(group.get("targets")), _compressed_format(group["weights"]))
        for group in _groups(settings)
        if isinstance(group.get("weights"), Mapping)
    ]
    formats = {name for _, name in groups}
    if not groups or None in formats:
        return None
    main = str(groups[0][1])
    if len(formats) == 1:
        return _Scheme(method, main, kept, kv_format=_kv_format(settings))
    named = [(_Kept([target for target in targets if target != "Linear"]), str(name)) for targets, name in groups]
    rest = next((str(name) for targets, name in groups if "Linear" in targets), "native")
    return _Scheme(method, rest, kept, kv_format=_kv_format(settings), groups=tuple(named))


def _compressed_format(weights: Mapping[str, Any]) -> str | None:
    """The format of a group's weights, None where there is no rule for it."""
    bits, kind, strategy = weights.get("num_bits"), weights.get("type"), weights.get("strategy")
    group = weights.get("group_size") or 0
    main = None
    if bits == 8:
        main = "int8" if kind == "int" else ("fp8_block" if strategy == "block" else "fp8_channel")
        if kind == "float" and strategy == "tensor":
            main = "fp8"
    elif bits == 4 and kind == "int":
        symmetric = bool(weights.get("symmetric", True))
        main = {32: "int4_g32", 64: "int4_g64"}.get(group, "int4")
        if symmetric:
            main = "int4_g32_symmetric" if group == 32 else "int4_g128_symmetric"
    elif bits == 4:
        main = "nvfp4" if group == 16 else "mxfp4"
    return main


def _modelopt(settings: Mapping[str, Any], method: str, kept: "_Kept") -> _Scheme | None:
    """NVIDIA ModelOpt: FP8, NVFP4, or MIXED_PRECISION with a format for each layer."""
    algorithm = str(settings.get("quant_algo") or "").upper()
    single = None
    layers = settings.get("quantized_layers")
    if isinstance(layers, Mapping):
        if len(layers) > MAX_PATTERNS * 10:
            raise InvalidInputError("quantized_layers has too many entries", field=f"{_WHERE}.quantized_layers")
        single = {
            str(name): _modelopt_format(str(entry.get("quant_algo", "")).upper())
            for name, entry in layers.items()
            if isinstance(entry, Mapping)
        }
    if not algorithm:
        weights = _group_weights(settings) or {}
        algorithm = "NVFP4" if weights.get("num_bits") == 4 else "FP8"
    main = "native" if single is not None else _modelopt_format(algorithm)
    if single is None and main == "native":
        return None
    return _Scheme(method, main, kept, kv_format=_kv_format(settings), single=single)


def _modelopt_format(algorithm: str) -> str:
    if "NVFP4" in algorithm or "FP4" in algorithm:
        return "nvfp4"
    if "PB" in algorithm or "BLOCK" in algorithm:
        return "fp8_block"
    if "FP8" in algorithm:
        return "fp8"
    if "INT4" in algorithm or "W4A16" in algorithm:
        return "int4"
    if "INT8" in algorithm:
        return "int8"
    return "native"


_METHODS: Mapping[str, Callable[[Mapping[str, Any], str, "_Kept"], _Scheme | None]] = {
    "fp8": _fp8,
    "fbgemm-fp8": lambda settings, method, kept: _Scheme(method, "fp8_channel", kept),
    "mxfp4": _mxfp4,
    "awq": _grouped,
    "awq-marlin": _grouped,
    "gptq": _grouped,
    "gptq-marlin": _grouped,
    "auto-round": _grouped,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed,
    "modelopt": _modelopt,
    "modelopt-fp4": lambda settings, method, kept: _modelopt({"quant_algo": "NVFP4", **settings}, method, kept),
    "nvfp4": _modelopt,
}


def _groups(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The groups of compressed-tensors that are objects."""
    groups = settings.get("config_groups")
    if not isinstance(groups, Mapping) or len(groups) > 64:
        return []
    return [group for group in groups.values() if isinstance(group, Mapping)]


def _texts(value: object) -> list[str]:
    """The texts of a list, of bounded number and length."""
    entries = value if isinstance(value, list | tuple) else ()
    return [entry for entry in entries[:MAX_WILDCARDS] if isinstance(entry, str) and len(entry) <= 400]


def _group_weights(settings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    groups = settings.get("config_groups")
    if not isinstance(groups, Mapping):
        return None
    for group in groups.values():
        if isinstance(group, Mapping) and isinstance(group.get("weights"), Mapping):
            weights: Mapping[str, Any] = group["weights"]
            return weights
    return None


def _kv_format(settings: Mapping[str, Any]) -> str | None:
    """The cache format that the checkpoint asks for."""
    scheme = settings.get("kv_cache_scheme")
    if isinstance(scheme, Mapping) and scheme.get("num_bits") == 8:
        return "fp8" if scheme.get("type") == "float" else "int8"
    algorithm = settings.get("kv_cache_quant_algo") or scheme
    return "fp8" if isinstance(algorithm, str) and "FP8" in algorithm.upper() else None


def _patterns(settings: Mapping[str, Any]) -> list[str]:
    """All modules the checkpoint leaves alone, as written."""
    found: list[str] = []
    for key in ("ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules", "llm_int8_skip_modules"):
        listed = settings.get(key)
        if listed is None:
            continue
        if not isinstance(listed, list | tuple) or len(listed) > MAX_PATTERNS:
            raise InvalidInputError(f"{key} must be a list of module names", field=f"{_WHERE}.{key}")
        for entry in listed:
            if not isinstance(entry, str) or len(entry) > MAX_PATTERN_CHARACTERS:
                raise InvalidInputError(f"{key} must be a list of module names", field=f"{_WHERE}.{key}")
            found.append(entry)
    return found


def _strip(name: str) -> str:
    """A module path without the wrappers that differ between releases of one model."""
    for prefix in ("model.language_model.", "language_model.model.", "language_model.", "model.", "backbone."):
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


class _Kept:
    """Tells whether a module (path below the model) is left in 16 bits.

    Plain names match exactly, as a prefix of the path, or (without a layer number) as one of its parts; `*` stands for
    anything; of `re:` patterns only those are used that cannot run away (no repeated group, two wildcards at most).
    """

    __slots__ = ("bodies", "compiled", "exact", "names_layers", "parts", "size")

    def __init__(self, patterns: Sequence[str]) -> None:
        self.exact: set[str] = set()
        self.parts: set[str] = set()
        self.names_layers = any(_LAYER_NUMBER.search(pattern) for pattern in patterns)
        bodies = []
        for pattern in patterns:
            body = _body(pattern)
            if body is not None:
                bodies.append(body)
            elif not pattern.startswith("re:"):
                plain = _strip(pattern)
                self.exact.add(plain)
                if not _LAYER_NUMBER.search(pattern):
                    self.parts.add(plain)
        self.size = len(bodies)
        self.bodies = bodies
        self.compiled: re.Pattern[str] | None = None

    def __call__(self, path: str) -> bool:
        """Whether the module of this path is left alone."""
        if any(self._names(one) for one in (path, path.replace(".self_attn.", ".attn.").replace(".mlp.", ".ffn."))):
            return True
        if not self.bodies:
            return False
        if self.compiled is None:
            self.compiled = re.compile("|".join(f"(?:{body})" for body in self.bodies))
        other = path.replace(".self_attn.", ".attn.").replace(".mlp.", ".ffn.")
        return any(self.compiled.search("." + one) is not None for one in {path, other})

    def _names(self, path: str) -> bool:
        pieces = path.split(".")
        if self.exact and any(".".join(pieces[:end]) in self.exact for end in range(1, len(pieces) + 1)):
            return True
        return any(part in pieces or f".{part}." in f".{path}." for part in self.parts)


_LAYER_NUMBER = re.compile(r"\.\d+(\.|\*|$)")


def _body(pattern: str) -> str | None:
    """The regular expression of a wildcard or `re:` pattern, None for plain names and for what could run away."""
    if pattern.startswith("re:"):
        body = pattern[3:].removeprefix("^").removeprefix(".*").removesuffix("$").removesuffix(".*")
        repeats = body.count("*") + body.count("+")
        safe = _SAFE_REGEX.match(body) and not re.search(r"\)[*+?]", body) and repeats <= 2
        if not safe:
            return None
        try:
            re.compile(body)
        except re.error:
            return None
        return body
    if "*" not in pattern or pattern.count("*") > 3:
        return None
    body = ".*".join(re.escape(part) for part in _strip(pattern).strip("*").split("*"))
    start = "" if pattern.startswith("*") else r"^\."
    return f"{start}{body}" + ("" if pattern.endswith("*") else r"(?:\.|$)")


def _apply(scheme: _Scheme, architecture: Architecture) -> Quantization:
    """The format of each matrix of each group, counting layers."""
    order = architecture.layer_order or tuple(
        index for index, group in enumerate(architecture.layer_groups) for _ in range(group.layers)
    )
    work = len(order) * max((len(group.matrices) for group in architecture.layer_groups), default=0)
    matchers = [scheme.kept, *(named for named, _ in scheme.groups)]
    if scheme.kept.size > MAX_WILDCARDS or work * sum(one.size + len(one.parts) for one in matchers) > MAX_WORK:
        raise InvalidInputError("the list of unquantised modules is too long for so many layers", field=_WHERE)
    positions: list[list[int]] = [[] for _ in architecture.layer_groups]
    for layer, index in enumerate(order):
        positions[index].append(layer)
    same_everywhere = scheme.single is None and not any(one.names_layers for one in matchers)
    matrices = tuple(
        tuple(_stored(scheme, matrix, layers, same_everywhere=same_everywhere) for matrix in group.matrices)
        for group, layers in zip(architecture.layer_groups, positions, strict=True)
    )
    return Quantization(
        method=scheme.method,
        weight_format=_main_format(scheme),
        matrices=matrices,
        kv_cache_format=scheme.kv_format,
    )


def _main_format(scheme: _Scheme) -> str:
    """The format most of the weights have, for display."""
    if scheme.single:
        counts = Counter(scheme.single.values())
        return counts.most_common(1)[0][0]
    if scheme.groups and scheme.main == "native":
        return scheme.groups[0][1]
    return scheme.experts or scheme.main


def _stored(scheme: _Scheme, matrix: Matrix, layers: Sequence[int], *, same_everywhere: bool) -> tuple[Stored, ...]:
    """Formats of one matrix over the layers of its group."""
    if not matrix.quantisable:
        return (Stored("native", len(layers)),)
    if same_everywhere:
        return (Stored(_format_of(scheme, f"layers.{layers[0]}.{matrix.name}"), len(layers)),)
    counts = Counter(_format_of(scheme, f"layers.{layer}.{matrix.name}") for layer in layers)
    return tuple(Stored(name, count) for name, count in counts.items())


def _format_of(scheme: _Scheme, path: str) -> str:
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
