"""How one format stores a weight matrix."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightCoding:
    """How one format stores a matrix of r rows (outputs) by c columns (inputs).

    bits = element·r·c + row·r + column·c + block·⌈r/128⌉·⌈c/128⌉ + tensor, the scales of groups along a row being part
    of `element_bits`. `whole_model` marks file types that mix tensor types (`gguf_mixes` has their rules):
    their bits are the average of an 8B model's whole file, for models known by their totals.
    """

    element_bits: Fraction
    row_bits: int = 0
    column_bits: int = 0
    block_bits: int = 0
    tensor_bits: int = 0
    nominal_bits: Fraction | None = None
    whole_model: bool = False
    evidence: str = ""

    @property
    def plain_bits(self) -> Fraction:
        """Bits of the element alone, as the source documents count (4 for int4)."""
        return self.element_bits if self.nominal_bits is None else self.nominal_bits
