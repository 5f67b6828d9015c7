"""A small robust least-squares fit with priors: few constants, residuals in logs, outliers that do not pull."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STEP = 1e-3
_LARGEST_MOVE = 0.5
_TRIES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Where the fit ended: the shifts, residuals there, their derivative by each shift, and the cost."""

    shifts: Floats
    residuals: Floats
    jacobian: Floats
    cost: float


def robust_fit(
    residuals: Callable[[Floats], Floats],
    *,
    sigmas: Floats,
    weights: Floats | None = None,
    scale: float = 0.1,
    rounds: int = 10,
    start: Floats | None = None,
) -> Fit:
    """Shifts that make the residuals small without leaving the priors.

    Minimises `Σ 2·w·(sqrt(1 + (r/scale)²) − 1) + ½·Σ (shift/sigma)²` (soft L1) by damped Gauss-Newton steps with a
    forward-difference derivative.

    Args:
        residuals: from shifts, shape (p,), to residuals, shape (n,).
        sigmas: width of the prior of each shift around 0, above 0.
        weights: weight of each residual; 1 when not given.
        scale: residual above which an error counts linearly.
        rounds: most Gauss-Newton steps.
        start: shifts to start from; 0 when not given.
    """
    shifts = np.zeros(len(sigmas)) if start is None else start.astype(float)
    now = residuals(shifts)
    heavy = np.ones(len(now)) if weights is None else weights
    cost = _cost(now, heavy, scale, shifts, sigmas)
    damping = 1e-2
    jacobian = _jacobian(residuals, shifts, now)
    for _ in range(rounds):
        pull = heavy / scale**2 / np.sqrt(1.0 + (now / scale) ** 2)
        curvature = 2.0 * (jacobian.T * pull) @ jacobian + np.diag(1.0 / sigmas**2)
        slope = 2.0 * jacobian.T @ (pull * now) + shifts / sigmas**2
        for _ in range(_TRIES):
            move = -np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), slope)
            trial = shifts + np.clip(move, -_LARGEST_MOVE, _LARGEST_MOVE)
            there = residuals(trial)
            cheaper = _cost(there, heavy, scale, trial, sigmas)
            if cheaper < cost:
                break
            damping *= 5.0
        else:
            break
        gain, cost, shifts, now = cost - cheaper, cheaper, trial, there
        damping = max(damping / 5.0, 1e-5)
        jacobian = _jacobian(residuals, shifts, now)
        if gain < 1e-6 * max(cost, 1e-12):
            break
    return Fit(shifts=shifts, residuals=now, jacobian=jacobian, cost=cost)


def without(
    fit: Fit, kept: npt.NDArray[np.bool_], *, sigmas: Floats, weights: Floats | None = None, scale: float = 0.1
) -> Floats:
    """Residuals of the rows not kept, by the fit that the kept rows alone would have given.

    The model is taken as linear around the full fit, `r + J·d`; the kept rows are refitted with the same priors and
    loss. Cheap, and close as long as no group of rows moves a constant far.
    """
    jacobian, start = fit.jacobian, fit.residuals
    heavy = np.ones(len(start)) if weights is None else weights

    def linear(shifts: Floats) -> Floats:
        return (start + jacobian @ (shifts - fit.shifts))[kept]

    again = robust_fit(linear, sigmas=sigmas, weights=heavy[kept], scale=scale, start=fit.shifts)
    left: Floats = (start + jacobian @ (again.shifts - fit.shifts))[~kept]
    return left


def _cost(residuals: Floats, weights: Floats, scale: float, shifts: Floats, sigmas: Floats) -> float:
    loss = 2.0 * np.sum(weights * (np.sqrt(1.0 + (residuals / scale) ** 2) - 1.0))
    return float(loss + 0.5 * np.sum((shifts / sigmas) ** 2))


def _jacobian(residuals: Callable[[Floats], Floats], shifts: Floats, now: Floats) -> Floats:
    columns = np.empty((len(now), len(shifts)))
    for at in range(len(shifts)):
        moved = shifts.copy()
        moved[at] += _STEP
        columns[:, at] = (residuals(moved) - now) / _STEP
    return columns
