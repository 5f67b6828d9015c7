"""Activations of the largest pass that an engine runs at start: products, workspace of experts, logits."""

from estimator.engine.memory.plan import MemoryPlan, batched_tokens_of, sequences_limit_of
from estimator.engine.memory.weight_parts import component_format
from estimator.engine.model.spec import Architecture, Component


def mlp_width(architecture: Architecture, tp: int) -> float:
    """The widest active MLP of a layer on a rank: ff/tp, or k·expert width + shared width over tp."""
    widest = 0.0
    for group in architecture.layer_groups:
        feed = group.feed_forward
        if feed is None:
            continue
        experts = feed.experts_per_token * feed.expert_intermediate_size if feed.experts else 0
        shared = feed.shared_intermediate_size
        widest = max(widest, float(feed.intermediate_size if not feed.experts else 0), float(experts + shared))
    return widest / tp


def expert_workspace_bytes(plan: MemoryPlan) -> float:
    """Workspace of fused expert kernels on a rank: T·k·(max(2n, d) + n)·2 bytes; none for dense models and mxfp4.

    Source: observed activation peaks of DeepSeek-V2-Lite (1.93 GiB) and Qwen1.5-MoE (2.47 GiB), 0.42 and 0.23 above the
    logits; this gives 0.39 and 0.26. gpt-oss with its mxfp4 kernels shows none (vLLM 0.19 accuracy report, 2026-04).
    """
    copies = plan.policy.expert_workspace_copies
    if not copies or component_format(plan.precision, Component.ROUTED_EXPERTS) == "mxfp4":
        return 0.0
    hidden = plan.architecture.hidden_size
    widest = 0.0
    for group in plan.architecture.layer_groups:
        feed = group.feed_forward
        if feed is not None and feed.experts:
            width = feed.expert_intermediate_size / (1 if plan.parallelism.ep > 1 else plan.parallelism.tp)
            widest = max(widest, feed.experts_per_token * (max(2 * width, hidden) + width))
    return copies * batched_tokens_of(plan) * widest * 2.0


def activation_bytes(plan: MemoryPlan, *, has_head: bool, width: float | None = None) -> float:
    """Peak of activations of a rank in bytes.

    max(T·2·(3f + 3d) + c0, κ·S·V·4) + expert workspace; a stage without the head: T·2·(3f + 3d) + c0 + stage constant +
    expert workspace. The logits of the sampler's dry run are fp32 and not split over tp.
    Models with states: T·2·(2f + 4d) + c1 + κ·S·V·4 + expert workspace.

    Source: vLLM start-up logs (docs/model.md, memory); of models with states vLLM issue 52872 (peaks at four sizes of a
    pass, on one line), pull request 30515 and the logs of a server with 1 and with 16 sequences.
    """
    policy, architecture = plan.policy, plan.architecture
    if not policy.activation_mlp_copies and not policy.logits_copies:
        return float(policy.activation_constant_bytes)
    f = mlp_width(architecture, plan.parallelism.tp) if width is None else width
    if adds_up(plan):
        per_token = policy.hybrid_mlp_copies * f + policy.hybrid_hidden_copies * architecture.hidden_size
        passing = batched_tokens_of(plan) * 2.0 * per_token + policy.hybrid_activation_bytes
        sampled = _logits_bytes(plan) if has_head else float(policy.stage_activation_bytes)
        return passing + sampled + expert_workspace_bytes(plan)
    per_token = policy.activation_mlp_copies * f + policy.activation_hidden_copies * architecture.hidden_size
    passing = batched_tokens_of(plan) * 2.0 * per_token + policy.activation_constant_bytes
    workspace = expert_workspace_bytes(plan)
    if not has_head:
        return passing + policy.stage_activation_bytes + workspace
    return max(passing, _logits_bytes(plan)) + workspace


def adds_up(plan: MemoryPlan) -> bool:
    """Whether the peak is the sum of its parts: that of models with states, where the engine's logs say so."""
    states = any(group.state is not None for group in plan.architecture.layer_groups)
    return bool(plan.policy.hybrid_activation_bytes) and states


def _logits_bytes(plan: MemoryPlan) -> float:
    """Logits of the sampler's dry run: κ·S·V·4."""
    return plan.policy.logits_copies * sequences_limit_of(plan) * plan.architecture.vocab_size * 4.0
