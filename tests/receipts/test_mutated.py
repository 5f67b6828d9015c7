"""Changed files are refused with a reason or read; nothing breaks, and what is accepted holds together."""

import math

import pytest

from receipts.checks import faults_of
from receipts.reading.receipt import ReadError
from receipts.reading.recognise import read_receipt
from tests.receipts.mutating import mutated


def hold(seed: int) -> str:
    """Reads a changed file and asks of what is accepted what any run must have."""
    try:
        receipt = read_receipt(mutated(seed))
    except ReadError as refused:
        return "unread" if refused.detail else "no reason"
    if faults_of(receipt):
        return "refused"
    assert all(math.isfinite(one) for one in receipt.settings.values() if isinstance(one, float))
    for run in receipt.runs:
        for figure in run.figures:
            assert math.isfinite(figure.value)
            assert figure.value >= 0.0
        for name in type(run.load).__slots__:
            value = getattr(run.load, name)
            assert value is None or 0.0 <= value < math.inf
        done, time, rate = run.load.requests, run.load.duration_s, run.figure("requests_per_s", "mean")
        if done and time and rate:
            assert rate.value * time == pytest.approx(done, rel=0.05 + 2.0 / done + 1e-6)
        first, last = run.figure("ttft_s", "mean"), run.figure("e2e_s", "mean")
        if first and last:
            assert first.value <= last.value * (1 + 1e-5)
    return "accepted"


def test_changed_files_are_read_or_refused_and_never_break():
    outcomes = [hold(seed) for seed in range(400)]
    assert {"unread", "refused", "accepted"} == set(outcomes)


@pytest.mark.long
def test_five_thousand_changed_files_are_read_or_refused_and_never_break():
    for seed in range(400, 5_400):
        hold(seed)
