"""Hyper-connections: a model that carries several residual streams, and the maps that mix them around each block."""

from dataclasses import dataclass, replace

from estimator.engine.model.spec import Architecture, Component, Split
from estimator.engine.reading.blocks import LayerBuilder
from estimator.engine.reading.fields import Fields

STREAM_LIMIT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The two connections of a layer (around its mixer, around its feed-forward part).

    Each mixes n residual streams by `rows(n)` weights of the n · hidden stream vector, with a bias each and `scales`
    learned scales: (2 + n) · n rows and three scales in DeepSeek V4 and GLM 5.3, 2 · n rows and two scales in Hy4.
    """

    square: bool = True
    scales: int = 3
    key: str = "hc_mult"

    def __call__(self, layer: LayerBuilder, fields: Fields, hidden: int) -> None:
        """Add both connections to a layer."""
        count = fields.whole(self.key, high=STREAM_LIMIT)
        rows = (2 + count) * count if self.square else 2 * count
        for name, component in (("attn_hc", Component.ATTENTION), ("ffn_hc", Component.MLP)):
            layer.matrix(f"{name}.fn", rows, count * hidden, component, 1, Split.REPLICATED, quantisable=False)
            layer.vector(component, rows + self.scales)


def merged_once(fields: Fields, architecture: Architecture) -> Architecture:
    """The streams are merged once before the final norm: n · n · hidden weights, n biases, one scale."""
    count = fields.whole("hc_mult", high=STREAM_LIMIT)
    own = count * count * architecture.hidden_size + count + 1
    return replace(architecture, other_parameters=architecture.other_parameters + own)
