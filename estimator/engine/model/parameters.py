"""Parameter totals of an architecture, exact integers, by the two definitions of active that model cards use."""

from dataclasses import dataclass

from estimator.engine.model.spec import Architecture, LayerGroup, LayerParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterTotals(LayerParameters):
    """Parameters of a whole model by component; ties counted once.

    `active` counts the routed experts a token uses, embedding tables included; `active_without_input_embedding` leaves
    out what is only looked up (the input table unless the head shares it, position and per-layer tables): twice that
    is the FLOPs of a token's linear part. `text` is the language model alone, `total` with vision and audio.
    """

    total: int
    text: int
    active: int
    active_without_input_embedding: int
    embedding: int
    lm_head: int
    vision_audio: int
    mtp: int


def group_copies(group: LayerGroup) -> int:
    """How often the parameters of a group's layer exist."""
    return group.layers if group.parameter_copies is None else group.parameter_copies


def layer_parameters(group: LayerGroup) -> int:
    """All parameters of one layer of a group."""
    parts = group.parameters
    return (
        parts.attention
        + parts.state
        + parts.mlp
        + parts.routed_experts
        + parts.shared_experts
        + parts.router
        + parts.norms
        + parts.other
    )


def inactive_expert_parameters(architecture: Architecture) -> int:
    """Parameters of routed experts that a token does not use: routed · (1 - k/E), summed over layers, rounded down."""
    inactive = 0
    for group in architecture.layer_groups:
        feed_forward = group.feed_forward
        if feed_forward is None or not feed_forward.experts:
            continue
        routed = group.parameters.routed_experts * group_copies(group)
        inactive += routed * (feed_forward.experts - feed_forward.experts_per_token) // feed_forward.experts
    return inactive


def parameter_totals(architecture: Architecture) -> ParameterTotals:
    """Sum the parameters of an architecture by component.

    active = text - routed · (1 - k/E); without input embedding = active - lookup tables - (input table unless tied).
    """
    sums = dict.fromkeys(
        ("attention", "mlp", "routed_experts", "shared_experts", "router", "norms", "state", "other"), 0
    )
    for group in architecture.layer_groups:
        copies, parts = group_copies(group), group.parameters
        for name in sums:
            sums[name] += getattr(parts, name) * copies
    sums["norms"] += architecture.final_norm_parameters
    sums["other"] += architecture.other_parameters
    embedding = architecture.embedding_parameters + architecture.lookup_parameters
    text = sum(sums.values()) + embedding + architecture.lm_head_parameters
    active = architecture.active_parameters_override or text - inactive_expert_parameters(architecture)
    looked_up = architecture.lookup_parameters
    if not architecture.tied_embeddings:
        looked_up += architecture.embedding_parameters
    return ParameterTotals(
        total=text + architecture.vision_audio_parameters,
        text=text,
        active=active,
        active_without_input_embedding=active - looked_up,
        embedding=embedding,
        lm_head=architecture.lm_head_parameters,
        vision_audio=architecture.vision_audio_parameters,
        mtp=architecture.mtp_parameters,
        **sums,
    )
