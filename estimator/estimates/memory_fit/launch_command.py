"""The command that starts the engine for a plan: of the arguments that its version takes, and of no others.

A plan that flags alone cannot express has no command, and a reason: a command that the engine refuses, or that starts
another plan, would be worse than none.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from django.utils.translation import gettext as _

from estimator.engine.memory.weight_parts import own_weight_format
from estimator.estimates.memory_fit.launch import Server, launch_hint
from estimator.resolvers.plan import Plan

_ARGUMENTS = Path(__file__).parent / "launch_arguments.yaml"
_SIXTEEN_BIT = {"bf16": "bfloat16", "fp16": "float16"}
_REPOSITORY = re.compile(r"(?:config\.json of|transformers [\d.]+ for) ([\w.-]+/[\w.-]+)")
_OF_THE_ESTIMATE = ("utilization", "max_num_seqs", "max_batched_tokens", "max_model_len", "runtime_overhead_bytes",
                    "kv_cache_tokens_observed")  # fmt: skip
"""Settings of memory that a command says already, or that only the estimate knows."""
_SAID_BY_FLAGS = {
    "vllm": ("enforce_eager", "enable_prefix_caching"),
    "llama.cpp": ("kv_unified", "n_cpu_moe", "ple_offload_embedding"),
}
_VENDORS = {"vllm": ("NVIDIA", "AMD"), "sglang": ("NVIDIA", "AMD"), "tensorrt-llm": ("NVIDIA",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What a version of an engine takes: its program, the version that was read and where, the names."""

    program: str
    version: str
    source: str
    date: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchCommand:
    """The command, or None with the reason; `arguments` is what it was checked against."""

    command: str | None
    reason: str | None
    arguments: Arguments | None


def argument_lists() -> dict[str, Arguments]:
    """The argument lists of servers by engine profile."""
    return read_argument_lists(_ARGUMENTS)


@cache
def read_argument_lists(path: Path) -> dict[str, Arguments]:
    """The argument lists of a file by engine profile."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        profile: Arguments(
            program=entry["program"],
            version=entry["version"],
            source=entry["source"],
            date=entry["date"],
            names=frozenset(entry["arguments"].split()),
        )
        for entry in entries
        for profile in entry["profiles"]
    }


def launch_command(server: Server, model_source: str | None) -> LaunchCommand:
    """The command for a plan that fits.

    Args:
        server: the plan, its memory, and the load it is started for.
        model_source: where the catalog read the model's config; it names the repository of its files.
    """
    plan = server.plan
    arguments = argument_lists().get(plan.engine.slug)
    if arguments is None:
        reason = _("The arguments of this engine profile are not known: no command is made.")
        return LaunchCommand(command=None, reason=reason, arguments=None)
    flags = [*launch_hint(server), *_formats(plan), *_settings(plan)]
    obstacle = next(_obstacles(server), None)
    unknown = [flag.split()[0] for flag in flags if _positive(flag.split()[0]) not in arguments.names]
    if obstacle is None and unknown:
        obstacle = _("%(version)s does not take %(flags)s.") % {
            "version": arguments.version,
            "flags": ", ".join(unknown),
        }
    if obstacle is not None:
        return LaunchCommand(command=None, reason=obstacle, arguments=arguments)
    lines = [" ".join((arguments.program, *_model(plan, model_source))), *flags]
    return LaunchCommand(command=" \\\n  ".join(lines), reason=None, arguments=arguments)


def _positive(name: str) -> str:
    """The name under which a switch is listed; `--no-` turns it off."""
    return "--" + name.removeprefix("--no-") if name.startswith("--no-") else name


def _model(plan: Plan, source: str | None) -> tuple[str, ...]:
    """The model as the program takes it; a variable of the shell where its repository is not known."""
    if plan.engine.kind == "llama_cpp":
        return ("--model", '"$GGUF"')
    found = repository_of(source)
    name = shlex.quote(found) if found else '"$MODEL"'
    return ("--model-path", name) if plan.engine.engine == "sglang" else (name,)


def repository_of(source: str | None) -> str | None:
    """The repository of a model's files, by where the catalog read its config; None where that does not say it."""
    found = _REPOSITORY.search(source or "")
    return found.group(1) if found else None


def _formats(plan: Plan) -> Iterator[str]:
    """Flags for weights in another format than that of the model's files."""
    own, asked = _own(plan), plan.precision.weights
    if asked == own or plan.engine.kind == "llama_cpp":
        return
    if asked == "fp8" and own in _SIXTEEN_BIT:
        yield "--quantization fp8"
    elif asked in _SIXTEEN_BIT and own in _SIXTEEN_BIT:
        yield f"--dtype {_SIXTEEN_BIT[asked]}"


def _own(plan: Plan) -> str:
    return own_weight_format(plan.model.architecture) or "bf16"


def _settings(plan: Plan) -> Iterator[str]:
    """Flags for settings of memory that change what is started."""
    if plan.engine.engine != "vllm":
        return
    if plan.memory.enforce_eager:
        yield "--enforce-eager"
    if plan.memory.enable_prefix_caching is not None:
        yield "--enable-prefix-caching" if plan.memory.enable_prefix_caching else "--no-enable-prefix-caching"


def _obstacles(server: Server) -> Iterator[str]:
    """Why flags alone cannot start the plan, the plainest reason first."""
    plan = server.plan
    engine, precision, degrees = plan.engine.engine, plan.precision, plan.parallelism
    window = plan.model.context_window_tokens
    if window is not None and max(server.context_tokens, server.longest_tokens) > window:
        yield _("The load is longer than the model's window: the engine refuses such a length.")
    if server.context_tokens > server.longest_tokens:
        yield _("The load is longer than memory.max_model_len: the server refuses such requests.")
    vendor = plan.gpu.facts.get("vendor")
    if vendor is not None and vendor not in _VENDORS.get(engine, (vendor,)):
        yield _("This engine does not run on GPUs of %(vendor)s.") % {"vendor": vendor}
    if plan.model.override:
        yield _("The cache of the model was replaced as a what-if: no files have it.")
    if precision.attention_weights or precision.expert_weights or precision.activations:
        yield _("Formats of single parts are those of a checkpoint: no flag asks for them.")
    if plan.speculative is not None or plan.mtp_layers_loaded:
        yield _("Speculative decoding has settings of its own: the command is that of the plan without it.")
    if plan.lora is not None and engine != "vllm":
        yield _("Adapters are named one by one in this engine.")
    yield from _of_formats(plan)
    if plan.engine.kind == "llama_cpp" and degrees.gpus > 1:
        yield _("llama.cpp splits a model over GPUs in ways that this plan does not name.")
    if engine == "tensorrt-llm" and degrees.dp > 1:
        yield _("Attention data parallelism of this engine is set in a file, not by a flag.")
    yield from _of_settings(plan)


def _of_formats(plan: Plan) -> Iterator[str]:
    own, asked, cached = _own(plan), plan.precision.weights, plan.precision.kv_cache
    engine = plan.engine.engine
    names = {"own": own, "asked": asked, "cache": cached}
    if plan.engine.kind == "llama_cpp":
        return
    online = engine in ("vllm", "sglang") and (asked == "fp8" or asked in _SIXTEEN_BIT) and own in _SIXTEEN_BIT
    if asked != own and not online:
        yield _("The model's own files are %(own)s: name a checkpoint stored in %(asked)s in their place.") % names
    plain = cached == "bf16" or (cached == "fp8" and engine in ("vllm", "sglang"))
    if not plain:
        yield _("No flag of this engine asks for a cache in %(cache)s.") % names


def _of_settings(plan: Plan) -> Iterator[str]:
    said = {*_OF_THE_ESTIMATE, *_SAID_BY_FLAGS.get(plan.engine.engine, ())}
    given = [
        name for name in plan.memory.__dataclass_fields__ if name not in said and getattr(plan.memory, name) is not None
    ]
    if given:
        yield _("No command is made for these settings: %(names)s.") % {
            "names": ", ".join(f"memory.{n}" for n in given)
        }
