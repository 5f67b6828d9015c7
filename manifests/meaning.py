"""What flags mean in a question: each kind of value once, and settings that several flags decide together."""

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _

from manifests import values
from manifests.arguments import Arguments, Meaning
from manifests.flags import Flag, truth
from manifests.reading_notes import Reading, Unknown

_PLAIN: dict[str, Callable[[str], Any]] = {
    "whole": values.whole, "length": values.length, "number": values.number, "share": values.share,
    "cache": values.CACHES.get, "text": lambda text: text or None,
}  # fmt: skip
# Words that leave a setting to the engine.
_AUTO = frozenset(("auto", "none", "default", "-1", "0", ""))
_TEXTS = {
    "memory.mamba_cache_mode": ("none", "align", "all"),
    "memory.mamba_ssm_cache_dtype": ("float32", "bfloat16", "float16"),
}
_FILES = frozenset(("--config", "--extra_llm_api_options"))


def apply_flags(flags: tuple[Flag, ...], known: Arguments, reading: Reading) -> dict[str, Flag]:
    """Puts flags into the question; returns those that decide a setting together, by what they say."""
    together: dict[str, Flag] = {}
    for flag in flags:
        meaning = known.meanings.get(flag.name or "")
        if flag.name is None:
            reading.unknown.append(Unknown(flag=flag.written, line=flag.line, near=flag.near))
        elif meaning is None:
            reading.ignored(flag, _why(flag, known))
        elif "." not in meaning.field or meaning.field.endswith("_total") or meaning.field.startswith("lora."):
            together[meaning.field] = flag
        else:
            _apply(flag, meaning, reading)
    return together


def _why(flag: Flag, known: Arguments) -> str | None:
    if flag.name in known.without_effect or flag.value.lower() in known.quiet_values.get(flag.name or "", ()):
        return None
    if flag.name in _FILES:
        return _("settings of a file, which is not read here: give what it says beside the manifest")
    return _("no figure here holds what it changes")


def _apply(flag: Flag, meaning: Meaning, reading: Reading) -> None:
    if meaning.kind == "switch":
        said = truth(flag)
        if said is None:
            _not_read(flag, reading)
        else:
            reading.flag(meaning.field, said, flag)
        return
    if meaning.kind in ("dtype", "quantization"):
        _weights(flag, meaning, reading)
        return
    if flag.value.lower() in _AUTO:
        reading.ignored(flag, None)
        return
    value = _value(flag, meaning)
    if value is None or value not in _TEXTS.get(meaning.field, (value,)):
        _not_read(flag, reading)
    else:
        reading.flag(meaning.field, value, flag)


def _value(flag: Flag, meaning: Meaning) -> Any:
    if meaning.kind == "wholes":
        found = [values.whole(one) for part in flag.values for one in part.strip("[]").split(",") if one.strip()]
        return found if found and None not in found else None
    if meaning.kind == "signed":
        return values.length(flag.value)
    return _PLAIN[meaning.kind](flag.value)


def _not_read(flag: Flag, reading: Reading) -> None:
    """A value that is none of what the flag takes, or that no field holds."""
    reading.ignored(flag, _("its value is none that is read here"))
    reading.notes.append(_("%(flag)s: its value could not be read.") % {"flag": flag.written})


def _weights(flag: Flag, meaning: Meaning, reading: Reading) -> None:
    text = flag.value.lower()
    if meaning.kind == "dtype":
        found = values.WEIGHTS_OF_DTYPE.get(text)
        if found is not None and reading.at("precision.weights") is None:
            reading.flag("precision.weights", found, flag)
        else:
            reading.ignored(flag, None)
        return
    method = text.replace("-", "_")
    if method in values.WEIGHTS_OF_METHOD:
        reading.flag("precision.weights", values.WEIGHTS_OF_METHOD[method], flag)
    elif method in _AUTO or method in ("compressed_tensors", "modelopt", "gguf", "quark"):
        # The checkpoint says which format it is in: its name tells.
        reading.ignored(flag, None)
    else:
        reading.ignored(flag, _("the format that it stores weights in is not counted here"))


def apply_together(engine: str, together: dict[str, Flag], reading: Reading) -> None:
    """Settings that several flags decide: degrees of SGLang, slots of llama.cpp, adapters, speculation, JSON."""
    if engine == "sglang":
        _sglang(together, reading)
    if engine == "llama.cpp":
        _llama(together, reading)
    _speculation(together.get("speculation"), reading)
    _lora(together, reading)
    _json_settings(together, reading)
    experts = together.get("expert_parallel")
    if experts is not None and truth(experts):
        degrees = reading.parts.get("parallelism", {})
        ranks = degrees.get("tp", 1) * degrees.get("dp", 1)
        reading.flag("parallelism.ep", ranks, experts)


def _whole(flag: Flag | None, reading: Reading) -> int | None:
    if flag is None:
        return None
    found = values.whole(flag.value)
    if found is None:
        _not_read(flag, reading)
    return found


def _sglang(together: dict[str, Flag], reading: Reading) -> None:
    """--tp-size counts all ranks of a copy; attention data parallel takes its ranks out of them."""
    tp, dp = _whole(together.get("sglang_tp"), reading), _whole(together.get("sglang_dp"), reading)
    attention = _whole(together.get("attention_dp"), reading)
    switch = together.get("dp_attention")
    ranks = attention if attention is not None else (dp if switch is not None and truth(switch) else None)
    if tp is not None:
        inner = ranks or 1
        if tp % inner:
            reading.notes.append(
                _("The attention's %(dp)s ranks do not divide --tp-size %(tp)s.") % {"dp": inner, "tp": tp}
            )
            inner = 1
        reading.flag("parallelism.tp", tp // inner, together["sglang_tp"])
    if ranks is not None and ranks > 1:
        reading.flag("parallelism.dp", ranks, together["attention_dp" if attention is not None else "sglang_dp"])
    elif dp is not None and dp > 1 and ranks is None:
        reading.replicas *= dp
        reading.say("replicas", dp, together["sglang_dp"])
        reading.notes.append(_("--dp-size %(dp)s starts %(dp)s copies: the question is that of one.") % {"dp": dp})
    limit = _whole(together.get("memory.max_num_seqs_total"), reading)
    if limit is not None:
        each = max(limit // (reading.at("parallelism.dp") or 1), 1)
        reading.flag("memory.max_num_seqs", each, together["memory.max_num_seqs_total"])
    no_cache = together.get("no_prefix_caching")
    if no_cache is not None and truth(no_cache):
        reading.flag("memory.enable_prefix_caching", False, no_cache)


def _llama(together: dict[str, Flag], reading: Reading) -> None:
    slots_flag, context_flag = together.get("llama_slots"), together.get("llama_context")
    slots = values.whole(slots_flag.value) if slots_flag is not None else None
    if slots is not None and slots_flag is not None:
        reading.flag("memory.max_num_seqs", slots, slots_flag)
    context = values.length(context_flag.value) if context_flag is not None else None
    if context is not None and context_flag is not None:
        reading.flag("memory.max_model_len", max(context // (slots or 1), 1), context_flag)
    elif context_flag is not None:
        reading.ignored(context_flag, None)
    off = together.get("no_unified")
    if off is not None:
        reading.flag("memory.kv_unified", False, off)
    _llama_cache(together, reading)
    _llama_places(together, reading)


def _llama_cache(together: dict[str, Flag], reading: Reading) -> None:
    keys, kept = together.get("llama_cache_k"), together.get("llama_cache_v")
    formats = {values.CACHES.get(flag.value) for flag in (keys, kept) if flag is not None}
    flag = keys or kept
    if flag is None:
        return
    found = next(iter(formats))
    if len(formats) == 1 and found is not None and keys is not None and kept is not None:
        reading.flag("precision.kv_cache", found, flag)
    elif formats == {"fp16"}:
        reading.flag("precision.kv_cache", "fp16", flag)
    else:
        for one in (keys, kept):
            if one is not None:
                reading.ignored(one, _("keys and values in unlike formats, or in one that is not counted"))


def _llama_places(together: dict[str, Flag], reading: Reading) -> None:
    """Where layers and tensors lie."""
    layers = together.get("llama_layers")
    if layers is not None:
        text = layers.value.lower()
        most = values.whole(text)
        if text in ("auto", "all", "-1", "-2") or (most is not None and most >= 99):
            reading.say("layers on the GPU", "all", layers)
        else:
            reading.ignored(layers, _("layers in host memory are not counted: figures are those of all on GPUs"))
    moved = together.get("llama_override")
    if moved is not None:
        if moved.value.replace("=", " ").split()[:1] == ["per_layer_token_embd"] and moved.value.upper().endswith(
            "CPU"
        ):
            reading.flag("memory.ple_offload_embedding", True, moved)
        else:
            reading.ignored(moved, _("tensors moved by pattern are not counted"))
    split = together.get("llama_split")
    if split is not None:
        reading.say("split mode", split.value, split)


def _speculation(flag: Flag | None, reading: Reading) -> None:
    if flag is None:
        return
    said = values.json_object(flag.value)
    if said is None:
        _not_read(flag, reading)
        return
    method = str(said.get("method") or "")[:60]
    if "mtp" in method:
        reading.flag("mtp_layers_loaded", 1, flag)
        reading.notes.append(
            _("Speculation by the model's own layers (%(method)s): their memory is counted; the speed is that without.")
            % {"method": method}
        )
        return
    reading.ignored(flag, _("how often drafts are taken is not stated: give speculative beside the manifest"))


def _lora(together: dict[str, Flag], reading: Reading) -> None:
    switch = together.get("lora")
    named = [one for name in ("lora.max_loras", "lora.max_rank") if (one := together.get(name)) is not None]
    if switch is None or not truth(switch):
        for flag in named:
            reading.ignored(flag, _("adapters are off: --enable-lora is not given"))
        return
    # vLLM's own: one adapter of rank 16.
    for name, default in (("lora.max_loras", 1), ("lora.max_rank", 16)):
        own = together.get(name)
        found = _whole(own, reading)
        reading.flag(name, found if found is not None else default, own if own is not None else switch)


def _json_settings(together: dict[str, Flag], reading: Reading) -> None:
    tables = together.get("engram")
    if tables is not None:
        said = values.json_object(tables.value)
        if said is not None and isinstance(said.get("cpu_offload"), bool):
            reading.flag("memory.ple_offload_embedding", said["cpu_offload"], tables)
        else:
            _not_read(tables, reading)
    graphs = together.get("compilation")
    if graphs is None:
        return
    said = values.json_object(graphs.value) or {}
    sizes, most = said.get("cudagraph_capture_sizes"), said.get("max_cudagraph_capture_size")
    if isinstance(sizes, list) and sizes and all(isinstance(one, int) and 0 < one <= 1_000_000 for one in sizes):
        reading.flag("memory.cudagraph_capture_sizes", sizes[:1000], graphs)
    elif isinstance(most, int) and 0 < most <= 1_000_000:
        reading.flag("memory.max_cudagraph_capture_size", most, graphs)
    else:
        reading.ignored(graphs, _("no figure here holds what it changes"))
