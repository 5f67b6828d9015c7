"""Time that ranks spend exchanging activations: tensor, pipeline and attention-data parallel."""

from dataclasses import dataclass

from estimator.constants.kernels import KernelConstants
from estimator.engine.forward_pass.kernels import link_row
from estimator.engine.forward_pass.traffic import RankLayout
from estimator.engine.specs import Gpu

_ACTIVATION_BYTES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Seconds of exchange in one forward pass: fixed, per token of a rank, and per token of all ranks."""

    fixed_s: float
    token_s: float
    all_rank_token_s: float
    own_link: bool


def exchange(layout: RankLayout, gpu: Gpu, constants: KernelConstants, latency_scale: float) -> Exchange:
    """Exchange of one forward pass; nothing on a single GPU.

    Tensor parallel: an all-reduce per attention and per feed-forward, `latency + 2(tp−1)/tp · tokens · hidden · 2 B /
    bus`. Attention-data parallel: two exchanges per expert layer. Pipeline: a hop between stages.

    Raises:
        MissingFigureError: the GPU's link is not one of the tables'.

    Source: docs/model.md, exchange.

    Equation: docs/model.md, eq. (19).
    """
    parallel = layout.parallelism
    if parallel.gpus == 1:
        return Exchange(fixed_s=0.0, token_s=0.0, all_rank_token_s=0.0, own_link=True)
    link = link_row(gpu, parallel.tp, constants)
    operators = constants.operators
    token_bytes = layout.hidden_size * _ACTIVATION_BYTES
    fixed = token = spread = 0.0
    if parallel.tp > 1:
        fixed += layout.reduces * link.latency_s * latency_scale
        token += layout.reduces * 2.0 * (parallel.tp - 1) / parallel.tp * token_bytes / link.bus_bytes_per_s
    if parallel.dp > 1:
        fixed += 2.0 * layout.expert_layers * operators.attention_dp_exchange_s
        spread += 2.0 * layout.expert_layers * token_bytes / link.bus_bytes_per_s
    if parallel.pp > 1:
        fixed += (parallel.pp - 1) * operators.pipeline_hop_s
        token += (parallel.pp - 1) * token_bytes / link.bus_bytes_per_s
    return Exchange(fixed_s=fixed, token_s=token, all_rank_token_s=spread, own_link=link.own)
