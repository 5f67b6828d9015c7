"""Errors of a few runs carried to other loads of the same setting, no further than such errors go together.

The errors ln(measured / said) of one setting are taken as Gaussian with the covariance `common² + local² · exp(−½ d²)`
between two loads at the distance d in ln(concurrency, prompt, answer), and noise of each run. What is expected at a
load given the runs is the correction there: it shrinks towards none where runs are few, contradict each other or
lie far.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimator.constants.calibration import CALIBRATION_RULES, ERROR_PRIORS, ErrorPrior
from estimator.engine.errors import InvalidInputError

Floats = npt.NDArray[np.float64]
METRICS = ("tpot_s", "ttft_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunError:
    """One run of a setting: its load (tokens, requests in flight) and ln(measured / said) of a figure."""

    input_tokens: float
    output_tokens: float
    concurrency: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """Mean error of runs left out of the fit, before and after the correction, as fractions; how many they were."""

    runs: int
    before: float
    after: float

    @property
    def better(self) -> bool:
        """Whether the runs left out say that the correction helps."""
        return self.after < self.before


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricCorrection:
    """The correction of one figure: places of the runs in ln(load), and the weights of their errors."""

    prior: ErrorPrior
    places: Floats
    weights: Floats
    inverse: Floats

    def factor(self, input_tokens: npt.ArrayLike, output_tokens: npt.ArrayLike, concurrency: npt.ArrayLike) -> Floats:
        """What the said figure is multiplied by at each load.

        Without unit. Equation: docs/model.md, eq. (79). Source: docs/receipts.md.
        """
        loads = np.broadcast_arrays(*(np.asarray(one, float) for one in (concurrency, input_tokens, output_tokens)))
        places = np.log(np.maximum(np.stack(loads, axis=-1), 1.0))
        shared = _shared(places.reshape(-1, 3), self.places, self.prior)
        shift = shared @ self.weights
        if self.prior.caution:
            own = self.prior.common_spread**2 + self.prior.local_spread**2 + self.prior.noise**2
            variance = own - np.einsum("ij,jk,ik->i", shared, self.inverse, shared)
            doubt = self.prior.caution**2 * variance / np.maximum(shift**2, np.finfo(float).tiny)
            shift = shift * np.maximum(0.0, 1.0 - doubt)
        found: Floats = np.exp(shift).reshape(places.shape[:-1])
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correction:
    """Corrections of a setting by figure; a figure without one stays as said."""

    by_metric: dict[str, MetricCorrection]

    def factor(self, metric: str, load: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]) -> Floats | float:
        """The factor of a figure at loads of (prompt, answer, requests in flight); 1 where there is none.

        Without unit. Equation: docs/model.md, eq. (79). Source: docs/receipts.md.
        """
        found = self.by_metric.get(metric)
        return 1.0 if found is None else found.factor(*load)


def correct(metric: str, runs: Sequence[RunError]) -> MetricCorrection:
    """The correction that runs of one setting ask for.

    Without unit: measured over said. Equation: docs/model.md, eq. (79). Source: docs/receipts.md.

    >>> run = RunError(input_tokens=1000, output_tokens=200, concurrency=8, error=0.2)
    >>> found = correct("tpot_s", [run, run, run])
    >>> 1.15 < float(found.factor(1000, 200, 8)) < 1.22 and float(found.factor(1e6, 2e5, 8000)) < 1.1
    True

    Raises:
        InvalidInputError: no run, or an error that is no number.
    """
    if not runs or not all(np.isfinite(run.error) for run in runs):
        raise InvalidInputError("give runs with errors that are numbers", field="measurements")
    prior = ERROR_PRIORS[metric]
    loads = np.array([[run.concurrency, run.input_tokens, run.output_tokens] for run in runs], float)
    places = np.log(np.maximum(loads, 1.0))
    largest = CALIBRATION_RULES.largest_error
    errors = np.clip([run.error for run in runs], -largest, largest)
    covariance = _shared(places, places, prior) + prior.noise**2 * np.eye(len(runs))
    inverse: Floats = np.linalg.inv(covariance).astype(float)
    return MetricCorrection(prior=prior, places=places, weights=inverse @ errors, inverse=inverse)


def gain(metric: str, runs: Sequence[RunError], left_out: Sequence[RunError] = ()) -> Gain:
    """What the correction does to runs that it was not made of: those left out, else each run by the others.

    As fractions of the measured figure. Equation: docs/model.md, eq. (79). Source: docs/receipts.md.

    >>> run = RunError(input_tokens=1000, output_tokens=200, concurrency=8, error=0.2)
    >>> found = gain("tpot_s", [run, run, run])
    >>> found.runs, found.better
    (3, True)
    """
    if left_out:
        pairs = [(runs, one) for one in left_out]
    else:
        pairs = [([*runs[:at], *runs[at + 1 :]], one) for at, one in enumerate(runs) if len(runs) > 1]
    if not pairs:
        return Gain(runs=0, before=0.0, after=0.0)
    before, after = [], []
    for others, one in pairs:
        factor = correct(metric, others).factor(one.input_tokens, one.output_tokens, one.concurrency)
        before.append(abs(np.expm1(-one.error)))
        after.append(abs(np.expm1(np.log(float(factor)) - one.error)))
    return Gain(runs=len(pairs), before=float(np.mean(before)), after=float(np.mean(after)))


def _shared(one: Floats, other: Floats, prior: ErrorPrior) -> Floats:
    """Covariance of the errors of two sets of loads, without the noise of a run."""
    reach = np.array([prior.reach_concurrency, prior.reach_input, prior.reach_output])
    distance = np.sum(((one[:, None, :] - other[None, :, :]) / reach) ** 2, axis=-1)
    shared: Floats = prior.common_spread**2 + prior.local_spread**2 * np.exp(-0.5 * distance)
    return shared
