"""Host time of a pass with prompts: kernels that no graph holds are launched one by one, block by block."""

from estimator.constants.launching import LAUNCH
from estimator.engine.forward_pass.traffic import RankLayout


def launch_times_s(layout: RankLayout, launch_share: float) -> tuple[float, float]:
    """Seconds that the host needs for a pass that no graph holds, and for one captured in pieces between attentions.

    A block is one attention, state, mixture or dense feed-forward. `launch_share` is the part of the time that an
    engine's compiled code leaves; latent attention keeps all of it.

    Equation: docs/model.md, eq. (36). Source: constants of docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> [round(seconds * 1e3, 2) for seconds in launch_times_s(worked_key.layout(), 1.0)]
    [18.18, 17.31]
    """
    latent = sum(group.layers for group in layout.caches if group.latent)
    plain = sum(group.layers for group in layout.caches if not group.latent)
    dense = sum(gemm.layers for gemm in layout.gemms if gemm.part == "mlp")
    eager = (
        plain * LAUNCH.attention_block_s
        + latent * LAUNCH.latent_attention_block_s
        + layout.state_layers * LAUNCH.state_block_s
        + layout.expert_layers * LAUNCH.experts_block_s
        + dense * LAUNCH.feed_forward_block_s
    )
    captured = (plain + latent + layout.state_layers) * LAUNCH.captured_block_s
    share = 1.0 if latent else launch_share
    return eager * share, min(captured, eager * share)
