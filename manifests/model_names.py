"""Which model of the catalog a name in a manifest is, and which format of weights the name tells."""

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from catalog.spelling import near_matches
from estimator.engine.formats.names import FORMAT_OF_WORD, format_of_name
from estimator.resolvers.facts import Facts

_GGUF = re.compile(r"\.gguf$", re.IGNORECASE)
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
# Mixes of GGUF files in names: Q4_K_M, IQ4_XS, Q8_0, F16; dynamic ones (UD-) have other tensors, and are said to.
_MIX = re.compile(r"(?:^|[-_.:/])(UD-)?(I?Q\d_[A-Z0-9_]+|BF16|F16|F32|MXFP4)(?=$|[-_.])", re.IGNORECASE)
_KNOWN_MIXES = frozenset(
    ("q2_k", "q3_k_s", "q3_k_m", "q3_k_l", "q4_0", "q4_1", "q4_k_s", "q4_k_m", "q5_0", "q5_1", "q5_k_s", "q5_k_m",
     "q6_k", "q8_0", "iq4_xs", "iq3_m", "iq2_m", "iq1_s", "bf16", "mxfp4")
)  # fmt: skip
_AS_FORMAT = {"gptq": "int4", "mxfp8": "fp8"}
_WEIGHT_FORMATS = frozenset(("fp8", "int8", "int4", "nvfp4", "mxfp4", "nf4"))
# Words behind a format that say how the checkpoint was made, not which model it is.
_MADE = re.compile(
    r"(?<![a-z0-9])(dynamic|block|quantized|quant|marlin|static|per-tensor|tensorwise|int4|int8|4bit|8bit|w4a16|w8a8|g128|"
    r"g32|kv|gguf|gptq|awq|fp8|fp4|nvfp4|mxfp4|bnb|unsloth|hf|128g|channelwise|original|autoround|hqq|exl2|4-bit|8-bit)"
    r"(?![a-z0-9])",
    re.IGNORECASE,
)
_MONTH = re.compile(r"-\d{4}$")
_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A name read: the slug, or None with what is near; the format that the name tells, and a note on it."""

    slug: str | None
    weights: str | None
    near: tuple[str, ...]
    note: str | None = None


def model_of_name(name: str, facts: Facts) -> NamedModel:
    """The model that a repository, path or file name means.

    Args:
        name: `meta-llama/Llama-3.3-70B-Instruct`, `/models/Qwen3-8B-AWQ`, `unsloth/Qwen3-8B-GGUF:Q4_K_M`.
        facts: the catalog.
    """
    text = name[:_LONGEST].rstrip("/")
    plain, mix = _without_mix(text)
    weights, note = _of_mix(mix) if mix else (_format(plain), None)
    found = _spelled(text, facts) if mix is None else ()
    if len(found) == 1:
        return NamedModel(slug=found[0], weights=weights if weights != _format(found[0]) else None, near=(), note=note)
    bare = _without_words(plain)
    # A month behind a name, as in DeepSeek-R1-0528, is another training of the same shape.
    for one in dict.fromkeys((plain, bare, _MONTH.sub("", bare))):
        found = _spelled(one, facts)
        if len(found) == 1:
            return NamedModel(slug=found[0], weights=weights, near=(), note=note)
    base = bare.rsplit("/", 1)[-1]
    return NamedModel(slug=None, weights=weights, near=found or near_matches(base, facts.slugs("model")), note=note)


def _spelled(name: str, facts: Facts) -> tuple[str, ...]:
    if name in facts.slugs("model"):
        return (name,)
    return facts.spelled("model", name) if name else ()


def _without_mix(text: str) -> tuple[str, str | None]:
    base = _SHARD.sub("", _GGUF.sub("", text))
    found = _MIX.search(base.rsplit("/", 1)[-1])
    if found is None or not (_GGUF.search(text) or "gguf" in text.lower() or ":" in text):
        return (re.sub(r"[-_]gguf$", "", base, flags=re.IGNORECASE), None)
    head, tail = base.rsplit("/", 1) if "/" in base else ("", base)
    kept = tail[: found.start()] if found.start() else tail
    kept = re.sub(r"[-_.]?gguf$", "", kept, flags=re.IGNORECASE)
    return (f"{head}/{kept}" if head else kept), (found[1] or "").upper() + found[2]


def _of_mix(mix: str) -> tuple[str | None, str | None]:
    name = mix.lower()
    if name.startswith("ud-"):
        plain = name[3:]
        note = _("%(mix)s is a dynamic mix: its sizes differ from those of %(plain)s, which was taken.")
        return (plain, note % {"mix": mix, "plain": plain}) if plain in _KNOWN_MIXES else _nearest(mix, plain)
    name = {"f16": "fp16", "f32": "fp32"}.get(name, name)
    return (name, None) if name in _KNOWN_MIXES | {"fp16", "fp32"} else _nearest(mix, name)


def _nearest(mix: str, name: str) -> tuple[str | None, str | None]:
    return None, _("The mix %(mix)s is not one of those counted: give precision.weights.") % {"mix": mix}


def _format(name: str) -> str | None:
    found = format_of_name(name.rsplit("/", 1)[-1])
    if found is None:
        return None
    return _AS_FORMAT.get(found[1], found[1]) if found[1] in FORMAT_OF_WORD.values() else None


def _without_words(name: str) -> str:
    head, _mark, base = name.rpartition("/")
    cleaned = _MADE.sub("", base)
    cleaned = re.sub(r"[-_.]{2,}", "-", cleaned).strip("-_.")
    return f"{head}/{cleaned}" if head else cleaned
