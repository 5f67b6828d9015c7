"""Quantisation methods of other tools: AMD Quark, TorchAO, HQQ, EXL2 and EXL3, AQLM, BitNet.

Source: the configuration classes of transformers 5.24 and the tools' own files (2026-11).
"""

from collections.abc import Mapping

from estimator.engine.formats.checkpoint_codings import average_format, integer_format
from estimator.engine.formats.module_patterns import MAX_PATTERN_CHARACTERS, MAX_WILDCARDS, ModulePatterns
from estimator.engine.formats.quantisation_scheme import Scheme, Settings


def read_quark(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """AMD Quark: a global format of weights, and others for layers by name."""
    overall = settings.get("global_quant_config")
    main = _quark_format(overall.get("weight")) if isinstance(overall, Mapping) else None
    if main is None:
        return None
    groups = []
    layers = settings.get("layer_quant_config")
    for pattern, rule in layers.items() if isinstance(layers, Mapping) and len(layers) <= MAX_WILDCARDS else ():
        own = _quark_format(rule.get("weight")) if isinstance(rule, Mapping) else None
        if own is None and isinstance(rule, Mapping) and rule.get("weight") is not None:
            return None
        groups.append((ModulePatterns([str(pattern)[:MAX_PATTERN_CHARACTERS]]), own or "native"))
    cache = settings.get("kv_cache_quant_config")
    kv_format = "fp8" if isinstance(cache, Mapping) and cache and "fp8" in str(cache)[:4_000] else None
    return Scheme(method=method, main=main, kept=kept, groups=tuple(groups), kv_format=kv_format)


def _quark_format(weight: object) -> str | None:
    """The format of Quark's entry for weights; of a list (steps after each other) the last one is stored."""
    if isinstance(weight, list | tuple):
        weight = weight[-1] if weight else None
    if not isinstance(weight, Mapping):
        return None
    kind, scheme, group = str(weight.get("dtype", "")), str(weight.get("qscheme", "")), weight.get("group_size")
    if kind.startswith("fp8"):
        return "fp8" if scheme == "per_tensor" else ("mxfp8" if group == 32 else "fp8_channel")
    if kind in ("fp4", "mx", "mxfp4"):
        return "mxfp4" if group in (32, None) else None
    bits = {"int4": 4, "uint4": 4, "int8": 8, "uint8": 8, "int3": 3, "int2": 2}.get(kind)
    if bits == 8 and scheme != "per_group":
        return "int8"
    return integer_format(bits, group if scheme == "per_group" else None, symmetric=kind.startswith("int"))


def read_torchao(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """TorchAO: the name of the weights' configuration, as a text or as an object."""
    kind = settings.get("quant_type")
    arguments: object = settings.get("quant_type_kwargs")
    if isinstance(kind, Mapping):
        default = kind.get("default", kind)
        default = default if isinstance(default, Mapping) else {}
        kind, arguments = default.get("_type"), default.get("_data")
    if not isinstance(kind, str):
        return None
    name = kind.lower().replace("_", "")
    group = arguments.get("group_size") if isinstance(arguments, Mapping) else None
    if "int4" in name:
        # its 4-bit layout has a 16-bit scale and a 16-bit zero for each group
        size = group if type(group) is int and group > 0 else (32 if "int8dynamic" in name else 128)
        main = average_format(4 + 32 / size)
    elif "int8" in name:
        main = "int8"
    else:
        main = "fp8_channel" if "float8" in name else None
    return None if main is None else Scheme(method=method, main=main, kept=kept)


def read_hqq(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """HQQ: bits and group with a 16-bit scale and a 16-bit zero; one set for all, or one for each kind of layer."""
    quant = settings.get("quant_config")
    if not isinstance(quant, Mapping):
        return None
    if isinstance(quant.get("weight_quant_params"), Mapping):
        main = _hqq_format(quant)
        return None if main is None else Scheme(method=method, main=main, kept=kept)
    found = {str(name): _hqq_format(rule) for name, rule in list(quant.items())[:64] if isinstance(rule, Mapping)}
    if not found or any(one is None for one in found.values()):
        return None
    groups = tuple((ModulePatterns([name]), str(one)) for name, one in found.items())
    return Scheme(method=method, main="native", kept=kept, groups=groups)


def _hqq_format(rule: Settings) -> str | None:
    weights = rule.get("weight_quant_params", rule)
    bits = weights.get("nbits") if isinstance(weights, Mapping) else None
    group = weights.get("group_size", 64) if isinstance(weights, Mapping) else None
    if type(bits) is not int or not 1 <= bits <= 8:
        return None
    if group is None:
        return integer_format(bits, None)
    return average_format(bits + 32 / group) if type(group) is int and 8 <= group <= 65_536 else None


def read_exllama(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """EXL2 and EXL3: the average bits of the linear layers, and the head's own."""
    main = average_format(settings.get("bits"))
    head = average_format(settings.get("head_bits", 6))
    if main is None or head is None:
        return None
    return Scheme(method=method, main=main, kept=kept, lm_head=head)


def read_aqlm(settings: Settings, method: str, kept: ModulePatterns) -> Scheme | None:
    """AQLM: additive codebooks over groups of inputs and outputs."""
    parts = [
        settings.get("num_codebooks", 1),
        settings.get("nbits_per_codebook", 16),
        settings.get("in_group_size", 8),
        settings.get("out_group_size", 1),
    ]
    if any(type(part) is not int or not 1 <= part <= 64 for part in parts) or parts[1] > 16:
        return None
    return Scheme(method=method, main="aqlm_{}x{}_g{}x{}".format(*parts), kept=kept)


def read_bitnet(settings: Settings, method: str, kept: ModulePatterns) -> Scheme:
    """BitNet: ternary weights, packed unless the file is for online quantisation."""
    online = settings.get("quantization_mode") == "online"
    return Scheme(method=method, main="native" if online else "bitnet", kept=kept)
