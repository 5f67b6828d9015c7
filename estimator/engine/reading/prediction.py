"""Multi-token prediction layers: stored in the files, loaded only for speculative decoding."""

from dataclasses import replace

from estimator.engine.model.parameters import layer_parameters
from estimator.engine.model.spec import Architecture
from estimator.engine.reading.fields import Fields
from estimator.engine.reading.shape import MTP_LAYERS

MAX_MTP_LAYERS = 64


def with_mtp(fields: Fields, architecture: Architecture) -> Architecture:
    """The architecture with its MTP layers: each a layer like the last attending one, a 2·d·d projection, three norms.

    Drafts with experts of their own (DSpark of DeepSeek V4.1) are not such layers and are left out.

    Checked against the files: GLM-4.6 3,988,069,792 and Qwen3-Next 1,650,471,424 parameters for one layer, exact.
    """
    layers = fields.whole(*MTP_LAYERS, low=0, high=MAX_MTP_LAYERS, default=0)
    attending = [group for group in architecture.layer_groups if group.attention is not None]
    if not layers or not attending or fields.raw("dspark_n_routed_experts") is not None:
        return architecture
    order = architecture.layer_order
    groups = architecture.layer_groups
    last = next((groups[index] for index in reversed(order) if groups[index].attention is not None), attending[-1])
    hidden = architecture.hidden_size
    each = layer_parameters(last) + 2 * hidden * hidden + 3 * hidden
    return replace(architecture, mtp_layers=layers, mtp_parameters=layers * each)
