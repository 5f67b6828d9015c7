"""The quantisation methods that configs name, each read as one scheme: formats, and what stays in 16 bits.

Source: the configuration classes of transformers 5.24 and vLLM 0.19 and the files themselves (2026-11).
"""

from collections.abc import Mapping
from dataclasses import replace

from estimator.engine.errors import InvalidInputError
from estimator.engine.formats.checkpoint_codings import integer_format
from estimator.engine.formats.module_patterns import MAX_PATTERN_CHARACTERS, MAX_WILDCARDS, ModulePatterns
from estimator.engine.formats.quantisation_scheme import MAX_PATTERNS, WHERE, Reader, Scheme, Settings
from estimator.engine.formats.quantisation_tools import (
    read_aqlm,
    read_bitnet,
    read_exllama,
    read_hqq,
    read_quark,
    read_torchao,
)


def read_scheme(settings: Settings, expert_dtype: object) -> Scheme | None:
    """The scheme of a `quantization_config`, None where there is no rule for it.

    Raises:
        InvalidInputError: the method is no text, or a list is no list of names.
    """
    method = method_of(settings)
    kept = ModulePatterns(_patterns(settings))
    name = method.lower().replace("_", "-")
    reader = METHODS.get(name, _modelopt if "producer" in settings else None)
    scheme = None if reader is None else reader(settings, method, kept)
    if scheme is None or name != "fp8":
        return scheme
    # experts in fp4 beside fp8: DeepSeek V4 (one scale for 32), or its NVFP4 copies (one for 16)
    if str(settings.get("moe_quant_algo", "")).upper() == "NVFP4":
        return replace(scheme, experts="nvfp4")
    return replace(scheme, experts="mxfp4") if settings.get("expert_dtype", expert_dtype) == "fp4" else scheme


def method_of(settings: Settings) -> str:
    """The config's own word for its method, empty where it has none."""
    method = settings.get("quant_method") or settings.get("quant_algo") or ""
    if not isinstance(method, str):
        raise InvalidInputError("quant_method must be a text", field=f"{WHERE}.quant_method")
    return method[:MAX_PATTERN_CHARACTERS]


def _fp8(settings: Settings, method: str, kept: ModulePatterns) -> Scheme:
    block = settings.get("weight_block_size")
    return Scheme(method=method, main="fp8_block" if isinstance(block, list | tuple) else "fp8", kept=kept)


def _mxfp4(settings: Settings, method: str, kept: ModulePatterns) -> Scheme:
    """The gpt-oss scheme: only expert matrices are packed."""
    return Scheme(method=method, main="native", kept=kept, experts="mxfp4")


def _constant(main: str) -> Reader:
    """A method with one format."""
    return lambda settings, method, kept: Scheme(method=method, main=main, kept=kept)


def _awq(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """AWQ: bits and group size, zero points unless told otherwise."""
    bits = settings.get("bits", settings.get("w_bit", 4))
    group = settings.get("group_size", settings.get("q_group_size", 128))
    main = integer_format(bits, group, symmetric=settings.get("zero_point") is False)
    return None if main is None else Scheme(method=method, main=main, kept=kept)


def _gptq(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """GPTQ: zero points and the order of inputs are always stored; `dynamic` overrides single modules.

    A key of `dynamic` is a regular expression on the module's name: `-:` leaves the module alone, `+:` or nothing gives
    it bits and groups of its own.
    """
    bits, group = settings.get("bits", 4), settings.get("group_size", 128)
    main = integer_format(bits, group, indexed=True)
    if main is None:
        return None
    groups: list[tuple[ModulePatterns, str]] = []
    dynamic = settings.get("dynamic") or {}
    if not isinstance(dynamic, Mapping) or len(dynamic) > MAX_WILDCARDS:
        raise InvalidInputError("dynamic must be an object of rules by module", field=f"{WHERE}.dynamic")
    for key, rule in dynamic.items():
        pattern = str(key)[:MAX_PATTERN_CHARACTERS]
        one = ModulePatterns(["re:" + pattern.removeprefix("-:").removeprefix("+:")])
        if pattern.startswith("-:"):
            groups.append((one, "native"))
        elif isinstance(rule, Mapping):
            own = integer_format(rule.get("bits", bits), rule.get("group_size", group), indexed=True)
            if own is None:
                return None
            groups.append((one, own))
    head = main if settings.get("lm_head") is True else "native"
    return Scheme(method=method, main=main, kept=kept, groups=tuple(groups), lm_head=head)


def _auto_round(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """AutoRound: integers, or the microscaling floats; `extra_config` gives modules a width of their own."""

    def named(rule: Settings) -> str | None:
        bits = rule.get("bits", settings.get("bits", 4))
        kind = str(rule.get("data_type", settings.get("data_type", "int")))
        if bits == 16 or "float" in kind:
            return "native"
        if kind.startswith("mx_fp"):
            return {4: "mxfp4", 8: "mxfp8"}.get(bits)
        if kind.startswith("nv_fp"):
            return "nvfp4"
        return integer_format(bits, rule.get("group_size", settings.get("group_size", 128)))

    main = named({})
    if main is None:
        return None
    named_alone: dict[str, list[str]] = {}
    extra = settings.get("extra_config")
    for key, rule in extra.items() if isinstance(extra, Mapping) and len(extra) <= MAX_PATTERNS else ():
        own = named(rule) if isinstance(rule, Mapping) else main
        if own is None:
            return None
        if own != main:
            named_alone.setdefault(own, []).append(str(key)[:MAX_PATTERN_CHARACTERS])
    groups = tuple((ModulePatterns(names), own) for own, names in named_alone.items())
    return Scheme(method=method, main=main, kept=kept, groups=groups)


def _bitsandbytes(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    if settings.get("load_in_8bit", settings.get("_load_in_8bit")):
        return Scheme(method=method, main="int8_bnb", kept=kept)
    if not settings.get("load_in_4bit", settings.get("_load_in_4bit", True)):
        return None
    main = "nf4_double" if settings.get("bnb_4bit_use_double_quant") else "nf4"
    return Scheme(method=method, main=main, kept=kept)


def _compressed(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """compressed-tensors: the format of `config_groups`, or one for each group where they differ."""
    listed = [group for group in _groups(settings) if isinstance(group.get("weights"), Mapping)]
    named = [(_texts(group.get("targets")), _compressed_format(group["weights"])) for group in listed]
    if not named or any(name is None for _, name in named):
        return None
    notes: tuple[str, ...] = ()
    sparsity = settings.get("sparsity_config")
    if isinstance(sparsity, Mapping) and sparsity.get("format") not in (None, "dense"):
        notes = ("sparsity_config: what sparse storage saves is not counted",)
    scheme = Scheme(method=method, main=str(named[0][1]), kept=kept, kv_format=_kv_format(settings), notes=notes)
    if len({name for _, name in named}) == 1:
        return scheme
    groups = [(ModulePatterns([one for one in targets if one != "Linear"]), str(name)) for targets, name in named]
    rest = next((str(name) for targets, name in named if "Linear" in targets), "native")
    return replace(scheme, main=rest, groups=tuple(groups))


def _compressed_format(weights: Settings) -> str | None:
    """The format of a group's weights, None where there is no rule for it."""
    bits, kind, strategy = weights.get("num_bits"), weights.get("type"), weights.get("strategy")
    group = weights.get("group_size")
    if kind == "int":
        if bits == 8 and (group in (None, 0, -1) or strategy in ("channel", "tensor")):
            return "int8"
        grouped = None if strategy in ("channel", "tensor") else group
        return integer_format(bits, grouped, symmetric=bool(weights.get("symmetric", True)))
    if bits == 4:
        return {16: "nvfp4", 32: "mxfp4"}.get(group) if isinstance(group, int) else None
    if bits != 8:
        return None
    if strategy == "group":
        return "mxfp8" if group == 32 else None
    return {"block": "fp8_block", "tensor": "fp8"}.get(str(strategy), "fp8_channel")


def _modelopt(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """NVIDIA ModelOpt: FP8, NVFP4, or MIXED_PRECISION with a format for each layer."""
    algorithm = str(settings.get("quant_algo") or "").upper()
    single = None
    layers = settings.get("quantized_layers")
    if isinstance(layers, Mapping):
        if len(layers) > MAX_PATTERNS * 10:
            raise InvalidInputError("quantized_layers has too many entries", field=f"{WHERE}.quantized_layers")
        single = {
            str(name): modelopt_format(str(entry.get("quant_algo", "")).upper())
            for name, entry in layers.items()
            if isinstance(entry, Mapping)
        }
    if not algorithm:
        weights: Settings = next((g["weights"] for g in _groups(settings) if isinstance(g.get("weights"), Mapping)), {})
        algorithm = "NVFP4" if weights.get("num_bits") == 4 else "FP8"
    main = "native" if single is not None else modelopt_format(algorithm)
    if single is None and main == "native":
        return None
    return Scheme(method=method, main=main, kept=kept, kv_format=_kv_format(settings), single=single)


def modelopt_format(algorithm: str) -> str:
    """The format that ModelOpt's name of an algorithm stands for; `native` for none."""
    for part, name in (
        ("MXFP4", "mxfp4"), ("MXFP8", "mxfp8"), ("FP4", "nvfp4"), ("W4A8", "int4"), ("PB", "fp8_block"),
        ("BLOCK", "fp8_block"), ("PER_CHANNEL", "fp8_channel"), ("FP8", "fp8"), ("INT4", "int4"), ("W4A16", "int4"),
        ("INT8", "int8"), ("W8A8", "int8"), ("W8A16", "int8"),
    ):  # fmt: skip
        if part in algorithm:
            return name
    return "native"


METHODS: Mapping[str, Reader] = {
    "fp8": _fp8,
    "fbgemm-fp8": _constant("fp8_channel"),
    "ptpc-fp8": _constant("fp8_channel"),
    "w8a8-fp8": _constant("fp8_channel"),
    "w8a8-int8": _constant("int8"),
    "smoothquant": _constant("int8"),
    "eetq": _constant("int8"),
    "mxfp4": _mxfp4,
    "awq": _awq,
    "awq-marlin": _awq,
    "gptq": _gptq,
    "gptq-marlin": _gptq,
    "marlin": lambda settings, method, kept: _awq({**settings, "zero_point": False}, method, kept),
    "auto-round": _auto_round,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed,
    "modelopt": _modelopt,
    "modelopt-fp4": lambda settings, method, kept: _modelopt({"quant_algo": "NVFP4", **settings}, method, kept),
    "modelopt-mxfp8": lambda settings, method, kept: _modelopt({"quant_algo": "MXFP8", **settings}, method, kept),
    "nvfp4": lambda settings, method, kept: _modelopt({"quant_algo": "NVFP4", **settings}, method, kept),
    "quark": read_quark,
    "torchao": read_torchao,
    "hqq": read_hqq,
    "exl2": read_exllama,
    "exl3": read_exllama,
    "aqlm": read_aqlm,
    "bitnet": read_bitnet,
}


def _groups(settings: Settings) -> list[Settings]:
    """The groups of compressed-tensors that are objects."""
    groups = settings.get("config_groups")
    if not isinstance(groups, Mapping) or len(groups) > 64:
        return []
    return [group for group in groups.values() if isinstance(group, Mapping)]


def _texts(value: object) -> list[str]:
    """The texts of a list, of bounded number and length."""
    entries = value if isinstance(value, list | tuple) else ()
    return [entry for entry in entries[:MAX_WILDCARDS] if isinstance(entry, str) and len(entry) <= 400]


def _kv_format(settings: Settings) -> str | None:
    """The cache format that the checkpoint asks for."""
    scheme = settings.get("kv_cache_scheme")
    if isinstance(scheme, Mapping) and scheme.get("num_bits") == 8:
        return "fp8" if scheme.get("type") == "float" else "int8"
    algorithm = settings.get("kv_cache_quant_algo") or scheme
    return "fp8" if isinstance(algorithm, str) and "FP8" in algorithm.upper() else None


_LISTS = (
    "ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules", "llm_int8_skip_modules", "exclude",
    "skip_modules", "linear_weights_not_to_quantize",
)  # fmt: skip


def _patterns(settings: Settings) -> list[str]:
    """All modules the checkpoint leaves alone, as written."""
    found: list[str] = []
    for key in _LISTS:
        listed = settings.get(key)
        if listed is None:
            continue
        if not isinstance(listed, list | tuple) or len(listed) > MAX_PATTERNS:
            raise InvalidInputError(f"{key} must be a list of module names", field=f"{WHERE}.{key}")
        for entry in listed:
            if not isinstance(entry, str) or len(entry) > MAX_PATTERN_CHARACTERS:
                raise InvalidInputError(f"{key} must be a list of module names", field=f"{WHERE}.{key}")
            found.append(entry.removesuffix(".weight"))
    return found
