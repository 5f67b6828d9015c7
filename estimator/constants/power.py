"""Constants of the power that a GPU draws, as shares of its design power, and how far measurements lie from it."""

from dataclasses import dataclass

from estimator.constants.kernels import typed
from estimator.constants.rows import DATA_DIR, Basis, Constant, read_constants


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerConstants:
    """Shares of the design power, weights of what a GPU does, an exponent; each row of power.csv says what it is."""

    idle_share: float
    most_share: float
    active: float
    memory: float
    compute: float
    capped_exponent: float
    judged: frozenset[str] = frozenset()


_ROWS = read_constants(DATA_DIR / "power.csv")
_HALF_WIDTHS = {row.where("family", "gpu"): row for row in _ROWS if row.name == "half_width"}
POWER = typed(PowerConstants, {row.name: row for row in _ROWS if row.name != "half_width"})


def half_width_row(gpu: str, family: str | None) -> Constant:
    """The row that says how wide the band of a GPU's power is, in ln: its own, its family's, or that of all others."""
    return _HALF_WIDTHS.get(("", gpu)) or _HALF_WIDTHS.get((family or "-", "")) or _HALF_WIDTHS["", ""]


def is_measured(row: Constant) -> bool:
    """Whether runs of the GPU itself stand behind its band."""
    return row.basis is Basis.FITTED
