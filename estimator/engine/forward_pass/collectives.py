"""Time that ranks spend exchanging activations: tensor, pipeline and attention-data parallel."""

from dataclasses import dataclass

from estimator.constants.kernels import ExchangeRow, KernelConstants
from estimator.engine.errors import InvalidInputError
from estimator.engine.forward_pass.kernels import link_row
from estimator.engine.forward_pass.traffic import RankLayout
from estimator.engine.specs import Gpu, ServingConstants

_ACTIVATION_BYTES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Seconds of exchange in one forward pass: fixed, per token of a rank, and per token of all ranks."""

    fixed_s: float
    token_s: float
    all_rank_token_s: float
    own_link: bool


def exchange(
    layout: RankLayout, gpu: Gpu, constants: KernelConstants, serving: ServingConstants, library: str
) -> Exchange:
    """Exchange of one forward pass; nothing on a single GPU.

    Tensor parallel: an all-reduce per attention and per feed-forward, `latency + 2(tp−1)/tp · tokens · hidden · 2 B /
    bus`. Attention-data parallel: two exchanges per expert layer, of the back end that was asked for, else of the
    library. Pipeline: a hop between stages.

    Raises:
        InvalidInputError: no such back end of the exchange.
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
        fixed += layout.reduces * link.latency_s * serving.collective_latency_scale
        token += layout.reduces * 2.0 * (parallel.tp - 1) / parallel.tp * token_bytes / link.bus_bytes_per_s
    if parallel.dp > 1:
        one = exchange_row(library, serving.moe_a2a_backend, constants)
        fixed += 2.0 * layout.expert_layers * one.fixed_s
        spread += 2.0 * layout.expert_layers * (token_bytes / link.bus_bytes_per_s + one.token_s)
    if parallel.pp > 1:
        fixed += (parallel.pp - 1) * operators.pipeline_hop_s
        token += (parallel.pp - 1) * token_bytes / link.bus_bytes_per_s
    return Exchange(fixed_s=fixed, token_s=token, all_rank_token_s=spread, own_link=link.own)


def exchange_row(library: str, back_end: str, constants: KernelConstants) -> ExchangeRow:
    """The exchange of a back end, or the library's own where none is named.

    Raises:
        InvalidInputError: no such back end.
    """
    row = constants.exchange.get((library, back_end)) or constants.exchange.get(("", back_end))
    if row is None:
        known = sorted(name for _, name in constants.exchange if name)
        raise InvalidInputError(f"moe_a2a_backend must be one of {', '.join(known)}", field="moe_a2a_backend")
    return row
