"""Host time of a pass that no graph holds: its kernels are launched one by one, block by block."""

from typing import Any

import numpy as np

from estimator.constants.launching import LAUNCH
from estimator.engine.elementwise import any_of, choose
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


def beside_launch_s(gpu_s: Any, launch_s: Any) -> Any:
    """Seconds of a pass whose kernels the host launches while earlier ones run, `(gpu⁴ + launch⁴)^¼`.

    Equation: docs/model.md, eq. (36). Source: passes of Kimi-K2.5, DeepSeek-R1 and MiniMax-M2.5 at both sides.

    >>> round(float(beside_launch_s(0.040, 0.040)), 4), round(float(beside_launch_s(0.100, 0.040)), 4)
    (0.0476, 0.1006)
    """
    gpu, launch = gpu_s * gpu_s, launch_s * launch_s
    return np.sqrt(np.sqrt(gpu * gpu + launch * launch))


def eager_s(gpu_s: Any, launch_s: Any) -> Any:
    """Seconds of a decode pass: the GPU's where a graph holds it, whose `launch_s` is 0, else as a pass with prompts.

    Equation: docs/model.md, eq. (36). Source: decode steps with and without graphs of vLLM on A800 and H100.

    >>> eager_s(0.006, 0.0), round(float(eager_s(0.006, 0.018)), 4)
    (0.006, 0.0181)
    """
    if not any_of(launch_s):
        return gpu_s
    return choose(launch_s > 0.0, beside_launch_s(gpu_s, launch_s), gpu_s)
