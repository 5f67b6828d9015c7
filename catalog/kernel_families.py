"""Which family of measured kernels an accelerator belongs to, and which is nearest when it has none of its own.

Source: the tables `gpu_family` and `nearest_family` of the calibration (kernels of aiconfigurator-core 0.12 refitted,
2026-11). The exact families are those with measured kernels; the nearest ones are judgement, and say so.
"""

from dataclasses import dataclass

EXACT_FAMILIES = frozenset(
    {"ampere", "ampere_g", "ada", "hopper", "blackwell", "ultra", "rtxbw", "cdna3", "rdna3", "apple"}
)

NEAREST_FAMILY = {
    "volta": "ampere_g",
    "turing": "ampere_g",
    "cdna2": "cdna3",
    "cdna4": "cdna3",
    "gb10": "rtxbw",
}

_BY_CAPABILITY = {
    "7.0": "volta",
    "7.5": "turing",
    "8.0": "ampere",
    "8.6": "ampere_g",
    "8.9": "ada",
    "9.0": "hopper",
    "10.0": "blackwell",
    "10.3": "ultra",
    "12.0": "rtxbw",
    "12.1": "gb10",
    "gfx90a": "cdna2",
    "gfx942": "cdna3",
    "gfx950": "cdna4",
}


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
        `used` None means that no measured kernels stand near: a ceiling can be given, an expectation cannot.
    """
    capability = compute_capability.strip().lower()
    own = _BY_CAPABILITY.get(capability)
    if own is None and capability.startswith("gfx11"):
        own = "rdna3"
    if own is None and vendor == "Apple":
        own = "apple"
    if own is None:
        own = architecture.strip().lower().replace(" ", "_") or "unknown"
    if own in EXACT_FAMILIES:
        return KernelFamily(own=own, used=own, basis="calibrated")
    nearest = NEAREST_FAMILY.get(own)
    return KernelFamily(own=own, used=nearest, basis="nearest_family" if nearest else None)
