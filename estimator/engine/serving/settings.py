"""From settings by an engine's own names to the scheduler's: what is stated, else the default of the version."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from estimator.constants.engine_settings import EngineSetting, Value, settings_of
from estimator.constants.families import FAMILIES
from estimator.engine.memory.plan import MemoryPlan, batched_tokens_of, sequences_limit_of
from estimator.engine.model.spec import Architecture, AttentionKind
from estimator.engine.serving.launch import LaunchSettings
from estimator.engine.specs import EngineProfile, Gpu, Parallelism

# vLLM captures passes of up to twice its sequences, and of this many tokens at most, unless told otherwise.
_CAPTURED_TOKENS_OF_VLLM = 512
# SGLang captures passes of latent attention up to this many tokens.
_CAPTURED_TOKENS_OF_LATENT = 2048
# Settings of the memory policy by what feeds them: their effect is the policy's.
MEMORY_FEEDS = (
    "max_batched_tokens", "max_num_seqs", "utilization", "enable_prefix_caching", "swa_full_tokens_ratio",
    "mamba_full_memory_ratio", "max_model_len", "disable_hybrid_kv_cache_manager", "kv_unified", "n_cpu_moe",
    "ple_offload_embedding",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What decides the defaults of a server besides its settings."""

    architecture: Architecture
    gpu: Gpu
    engine: EngineProfile
    parallelism: Parallelism
    memory: MemoryPlan


def version_of_profile(profile: EngineProfile) -> tuple[int, ...]:
    """The release that was asked for, else the newest of the profile's range; empty where no number is known.

    Without unit. Equation: docs/model.md, eq. (39). Source: names of releases.

    >>> from estimator.engine.specs import IdealConstants
    >>> version_of_profile(EngineProfile(slug="v", engine="vllm", kind="ideal", engine_version="0.12 to 0.19",
    ...     ideal=IdealConstants()))
    (0, 19)
    """
    found = re.findall(r"\d+(?:\.\d+)+", profile.release or profile.engine_version or "")
    return tuple(int(part) for part in found[-1].split(".")) if found else ()


def in_force(engine: EngineProfile, stated: Mapping[str, Value]) -> dict[str, tuple[EngineSetting, Value]]:
    """Every setting of the engine that has a value: the stated ones, and defaults of the version."""
    version = version_of_profile(engine)
    found = {}
    for name, setting in settings_of(engine.engine).items():
        value = stated.get(name, setting.default(version))
        if value is not None:
            found[name] = (setting, value)
    return found


def launch_settings(server: Server, stated: Mapping[str, Value], *, tuned: bool = True) -> LaunchSettings:
    """The scheduler's settings of a server.

    Args:
        server: model, GPU, engine, split and memory plan.
        stated: settings by the engine's own names; the others have the version's defaults.
        tuned: kernels were picked by flags.
    """
    fed: dict[str, Any] = {setting.feeds: value for setting, value in in_force(server.engine, stated).values()}
    overrides = server.memory.overrides
    of_vllm = overrides.async_scheduling if server.engine.engine == "vllm" else None
    if of_vllm is not None and "async_scheduling" not in stated:
        fed["plans_ahead"] = of_vllm
    ahead = fed.get("plans_ahead", not fed.get("plans_not_ahead", False))
    share, timeout = float(fed.get("batch_wait_share", 0.0)), float(fed.get("batch_wait_steps", 0.0))
    return LaunchSettings(
        prompts_alone="mixed_passes" in fed and not fed["mixed_passes"],
        whole_prompts="cut_prompts" in fed and not fed["cut_prompts"],
        plans_ahead=bool(ahead),
        poll_steps=float(fed.get("poll_steps", 1.0)),
        batch_wait_steps=timeout if share > 0.0 else 0.0,
        batch_wait_tokens=share * batched_tokens_of(server.memory),
        rank_wait_steps=float(fed.get("rank_wait_steps", 0.0)) if fed.get("ranks_wait") else 0.0,
        captured_tokens=_captured_tokens(server, fed),
        stream_interval=float(fed.get("stream_interval", 1.0)),
        tuned=tuned,
        eager=_is_eager(server, fed),
    )


def _is_eager(server: Server, fed: Mapping[str, Any]) -> bool:
    """Whether an engine that captures graphs is started without; one that captures none was measured so."""
    if server.engine.engine != "vllm":
        return bool(fed.get("no_graphs"))
    policy, asked = server.memory.policy, fed.get("no_graphs") or server.memory.overrides.enforce_eager
    return bool(asked) and (policy.cuda_graph_bytes > 0 or policy.cuda_graph_size_bytes > 0)


def _captured_tokens(server: Server, fed: Mapping[str, Any]) -> float:
    """Tokens of the largest pass with prompts that graphs hold, 0 where none does."""
    overrides = server.memory.overrides
    asked = fed.get("captured_tokens")
    if server.engine.engine == "vllm":
        if _is_eager(server, fed) or not version_of_profile(server.engine):
            return 0.0
        asked = asked or overrides.max_cudagraph_capture_size
        return float(asked or min(2 * sequences_limit_of(server.memory), _CAPTURED_TOKENS_OF_VLLM))
    most = float(batched_tokens_of(server.memory))
    if "no_piecewise_graphs" in fed:
        kinds = {group.attention.kind for group in server.architecture.layer_groups if group.attention}
        parallel = server.parallelism
        refused = parallel.dp > 1 or parallel.pp > 1 or _is_amd(server.gpu)
        if fed["no_piecewise_graphs"] or refused or AttentionKind.SPARSE_LATENT in kinds:
            return 0.0
        if asked is None and AttentionKind.LATENT in kinds:
            return min(most, float(_CAPTURED_TOKENS_OF_LATENT))
        return float(asked or most)
    return most if fed.get("piecewise_graphs") else 0.0


def _is_amd(gpu: Gpu) -> bool:
    family = FAMILIES.get(gpu.kernel_family or "")
    return family is not None and family.vendor == "AMD"
