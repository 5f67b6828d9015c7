"""Which family of measured kernels an accelerator belongs to, and which is nearest when it has none of its own."""

from dataclasses import dataclass

from estimator.constants.families import FAMILIES, family_of
from estimator.constants.kernels import shipped
from estimator.engine.forward_pass.kernels import is_judged


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFamily:
    """The accelerator's own family, the family whose kernels stand for it, and on what basis."""

    own: str
    used: str | None
    basis: str | None


def kernel_family(vendor: str, compute_capability: str, architecture: str) -> KernelFamily:
    """The kernel family of an accelerator.

    Args:
        vendor: maker, as in the catalog.
        compute_capability: NVIDIA's "8.9", AMD's "gfx942", or "" and "-" where the maker has no such thing.
        architecture: the maker's name of the architecture, the family of last resort.

    Returns:
        Its own family, and in `used` the one whose kernels stand for it: None where nothing is near, so that a ceiling
        can be given and no expectation. `basis` is what a throughput answer on it says of its 16-bit kernels:
        calibrated only where they are its own and were measured.
    """
    known = family_of(vendor, compute_capability)
    if known is None:
        return KernelFamily(own=architecture.strip().lower().replace(" ", "_") or "unknown", used=None, basis=None)
    used = FAMILIES[known].kernels
    is_own = used == known and not is_judged(used, shipped())
    return KernelFamily(own=known, used=used, basis="calibrated" if is_own else "nearest_family")
