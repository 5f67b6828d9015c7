"""The robust fit on problems whose answer is known."""

import numpy as np
import pytest

from estimator.engine.calibration.least_squares import robust_fit, without

X = np.linspace(0.0, 1.0, 40)


def line(measured):
    return lambda shifts: shifts[0] + shifts[1] * X - measured


def test_a_straight_line_is_found_where_priors_are_wide():
    fit = robust_fit(line(0.3 + 0.2 * X), sigmas=np.array([100.0, 100.0]))
    assert fit.shifts == pytest.approx([0.3, 0.2], abs=1e-5)


def test_outliers_hardly_move_the_fit():
    measured = 0.3 + 0.2 * X
    measured[5] += 50.0
    fit = robust_fit(line(measured), sigmas=np.array([100.0, 100.0]))
    assert fit.shifts == pytest.approx([0.3, 0.2], abs=0.02)


def test_a_narrow_prior_keeps_the_constant_at_its_start():
    fit = robust_fit(line(0.3 + 0.2 * X), sigmas=np.array([1e-6, 100.0]))
    assert abs(fit.shifts[0]) < 1e-6
    assert fit.shifts[1] > 0.3


def test_the_gaussian_centre_of_one_constant_is_the_ridge_solution():
    # Small residuals are quadratic: minimise n·(t − m)²/s² + t²/(2·p²), so t = m·2n/s² / (2n/s² + 1/p²).
    n, m, s, p = 40, 0.001, 0.1, 0.02
    fit = robust_fit(lambda shifts: np.full(n, shifts[0] - m), sigmas=np.array([p]), scale=s)
    assert fit.shifts[0] == pytest.approx(m * (2 * n / s**2) / (2 * n / s**2 + 1 / p**2), rel=1e-3)


def test_rows_left_out_are_predicted_by_the_others_alone():
    measured = 0.3 + 0.2 * X
    measured[:10] += 0.05
    sigmas = np.array([100.0, 100.0])
    kept = np.arange(40) >= 10
    fit = robust_fit(line(measured), sigmas=sigmas)
    alone = robust_fit(lambda shifts: line(measured)(shifts)[kept], sigmas=sigmas)
    expected = line(measured)(alone.shifts)[~kept]
    assert without(fit, kept, sigmas=sigmas) == pytest.approx(expected, abs=1e-3)
