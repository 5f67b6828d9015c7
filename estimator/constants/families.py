"""The families of GPUs: how one is known, whose kernels stand for it, and what was measured on it.

The one list of families; the catalog and the engine read it.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType

from estimator.constants.rows import DATA_DIR, Basis, ConstantsFileError

_COLUMNS = (
    "family", "vendor", "compute_capabilities", "kernels", "fallback", "latent_fallback", "card_fallback",
    "llama_cpp", "llama_cpp_basis", "bands", "shares_host_memory", "source", "date",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One family.

    `kernels` is the family whose kernel rows stand for it, itself or the nearest. `fallback` orders the families whose
    rows stand in where a family has no kernel of a format; `latent_fallback` the same for latent attention,
    `card_fallback` for the 16-bit products of cards that llama.cpp runs on.
    `llama_cpp` names the back end of llama.cpp, with the basis of its constants here. `bands` names the class of the
    error bands of a static batch, empty for the model's own class. `shares_host_memory`: host and GPU have one memory.
    """

    name: str
    vendor: str
    compute_capabilities: tuple[str, ...]
    kernels: str
    fallback: int | None
    latent_fallback: int | None
    card_fallback: int | None
    llama_cpp: str
    llama_cpp_basis: Basis
    bands: str
    shares_host_memory: bool
    source: str
    date: str


def _read() -> Mapping[str, Family]:
    path = DATA_DIR / "families.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream, strict=True)
        if tuple(reader.fieldnames or ()) != _COLUMNS:
            raise ConstantsFileError(f"{path.name}: the columns must be {', '.join(_COLUMNS)}")
        families = {row["family"]: _family(row) for row in reader}
    strange = sorted({family.kernels for family in families.values()} - set(families))
    if strange:
        raise ConstantsFileError(f"{path.name}, kernels: no such family: {strange[0]}")
    return MappingProxyType(families)


def _family(row: Mapping[str, str]) -> Family:
    return Family(
        name=row["family"],
        vendor=row["vendor"],
        compute_capabilities=tuple(row["compute_capabilities"].split()),
        kernels=row["kernels"],
        fallback=_place(row["fallback"]),
        latent_fallback=_place(row["latent_fallback"]),
        card_fallback=_place(row["card_fallback"]),
        llama_cpp=row["llama_cpp"],
        llama_cpp_basis=Basis(row["llama_cpp_basis"]),
        bands=row["bands"],
        shares_host_memory=row["shares_host_memory"] == "yes",
        source=row["source"],
        date=row["date"],
    )


def _place(cell: str) -> int | None:
    return int(cell) if cell else None


FAMILIES = _read()
# Kernels that AMD's GPUs had in engines of mid-2024, under the name of the family and this.
OF_2024 = "_2024"
FALLBACKS = tuple(f.name for f in sorted((f for f in FAMILIES.values() if f.fallback), key=lambda f: f.fallback or 0))
LATENT_FALLBACK = next(f.name for f in FAMILIES.values() if f.latent_fallback)
CARD_FALLBACK = next(f.name for f in FAMILIES.values() if f.card_fallback)


def family_of(vendor: str, compute_capability: str) -> str | None:
    """The family of an accelerator, or None where none is known.

    Args:
        vendor: maker, as in the catalog.
        compute_capability: NVIDIA's "8.9", AMD's "gfx942", or "" and "-" where the maker has no such thing.
    """
    capability = compute_capability.strip().lower()
    for family in FAMILIES.values():
        if any(fnmatchcase(capability, pattern) for pattern in family.compute_capabilities):
            return family.name
    alone = (f.name for f in FAMILIES.values() if f.vendor == vendor and not f.compute_capabilities)
    return next((name for name in alone if not name.endswith(OF_2024)), None)
