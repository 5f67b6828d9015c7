"""How far errors of one setting go together: what a calibration from a few runs may conclude."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from estimator.constants.kernels import constants_of, typed
from estimator.constants.rows import DATA_DIR, read_constants

_FILE = "calibration.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPrior:
    """Spreads of ln(measured / said), the distances in ln(load) over which they are shared, and the doubt allowed."""

    common_spread: float
    local_spread: float
    reach_concurrency: float
    reach_input: float
    reach_output: float
    noise: float
    caution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRules:
    """The largest error in ln that counts, and the runs that a calibration needs."""

    largest_error: float
    least_runs: float
    judged: frozenset[str] = frozenset()


def _priors() -> Mapping[str, ErrorPrior]:
    values: dict[str, dict[str, float]] = {}
    for row in read_constants(DATA_DIR / _FILE):
        if "metric" in row.scope:
            values.setdefault(row.scope["metric"], {})[row.name] = row.value
    return MappingProxyType({metric: ErrorPrior(**each) for metric, each in values.items()})


ERROR_PRIORS = _priors()
CALIBRATION_RULES = typed(CalibrationRules, {name: row for name, row in constants_of(_FILE).items() if not row.scope})
