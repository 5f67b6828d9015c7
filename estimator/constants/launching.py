"""Constants of how a pass with prompts is launched, block by block, and of what a request waits for."""

from dataclasses import dataclass

from estimator.constants.kernels import constants_of, typed


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchConstants:
    """Host time of blocks that no graph holds, and shares of waits; each row of launch.csv says what it is."""

    attention_block_s: float
    latent_attention_block_s: float
    state_block_s: float
    experts_block_s: float
    feed_forward_block_s: float
    captured_block_s: float
    step_met_share: float
    least_stolen_share: float
    default_launch_kernel_scale: float
    benchmark_client_s: float
    judged: frozenset[str] = frozenset()


LAUNCH = typed(LaunchConstants, constants_of("launch.csv"))
