"""What a start does not state and a question needs: the default that was taken, said each time."""

from typing import Any

from django.utils.translation import gettext as _

from estimator.resolvers.facts import Facts
from manifests.reading_notes import NotStated, Reading

# The load of the catalog's preset for a chat assistant, with as many users as one small server has.
INPUT_TOKENS, OUTPUT_TOKENS, USERS = 1500, 300, 16
_OF_THE_ENGINE = {
    "memory.utilization": "the engine's default",
    "memory.max_num_seqs": "the engine's default",
    "memory.max_batched_tokens": "the engine's default",
    "precision.weights": "the format of the model's own files",
    "precision.kv_cache": "bf16",
    "memory.enable_prefix_caching": "the engine's default",
}


def take_defaults(reading: Reading, engine: str, facts: Facts) -> None:
    """Says what was taken for each field that the text leaves open, and puts a length and a load into the question."""
    _length(reading, engine, facts)
    _load(reading)
    if "parallelism" not in reading.parts:
        _say(reading, "parallelism", "one GPU", _("no degree is stated"))
    for field, taken in _OF_THE_ENGINE.items():
        if reading.at(field) is None:
            _say(reading, field, taken, _("not stated"))
    if reading.at("slo") is None:
        _say(reading, "slo", "no target", _("a manifest states none: give slo beside it"))


def _say(reading: Reading, field: str, taken: str, why: str) -> None:
    reading.not_stated.append(NotStated(field=field, taken=taken, why=why))


def _length(reading: Reading, engine: str, facts: Facts) -> None:
    """vLLM, SGLang and TensorRT-LLM start with the model's whole window where no length is given."""
    model = reading.at("model")
    if reading.at("memory.max_model_len") is not None or engine == "llama.cpp" or not isinstance(model, str):
        return
    window = facts.row("model", model).get("context_window_tokens")
    if window:
        reading.parts.setdefault("memory", {})["max_model_len"] = int(window)
        _say(reading, "memory.max_model_len", str(window), _("not stated: the engine takes the model's whole window"))


def _load(reading: Reading) -> None:
    """A load, as long as the server takes."""
    if reading.at("workload") is not None:
        return
    longest = reading.at("memory.max_model_len") or INPUT_TOKENS + OUTPUT_TOKENS
    output = max(min(OUTPUT_TOKENS, longest // 6), 1)
    lengths: dict[str, Any] = {"input_tokens": max(min(INPUT_TOKENS, longest - output), 1), "output_tokens": output}
    most = (reading.at("memory.max_num_seqs") or USERS) * (reading.at("parallelism.dp") or 1)
    load = {**lengths, "concurrency": min(USERS, most)}
    reading.parts["workload"] = load
    taken = ", ".join(f"{name} {value}" for name, value in load.items())
    _say(reading, "workload", taken, _("a manifest states no load: give workload beside it"))
