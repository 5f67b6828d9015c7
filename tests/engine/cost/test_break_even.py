"""The API's line against the staircase of whole replicas, by hand."""

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from estimator.engine.cost.break_even import crossing, replicas_for, staircase

D = Decimal


def test_one_replica_pays_from_its_bill_over_the_price_of_a_request():
    # 1,460 USD a month against 0.01 USD a request: 146,000 requests; the replica can do 1,000,000.
    found = crossing(api_cost_per_request=D("0.01"), replica_cost=D(1460), replica_requests=1e6)
    assert found.first_requests_per_month == pytest.approx(146_000)
    assert found.load_fraction_needed == pytest.approx(0.146)
    # Just above one full replica two cost 2,920 against 10,000: no later step makes it dearer again.
    assert found.always_from_requests_per_month == pytest.approx(146_000)


def test_a_step_that_begins_dearer_moves_the_lasting_crossing_behind_it():
    # 1,460 against 0.00155 a request: 941,935 requests. Two replicas cost 2,920 against 1,550 just above a million and
    # pay from 1,883,871 on; so do all later steps until one begins at or below the API's line: n >= 1460 / 90 = 17.
    found = crossing(api_cost_per_request=D("0.00155"), replica_cost=D(1460), replica_requests=1e6)
    assert found.first_requests_per_month == pytest.approx(941_935.5, abs=1)
    assert found.always_from_requests_per_month == pytest.approx(17 * 1460 / 0.00155)


def test_a_full_replica_dearer_than_the_api_never_pays():
    found = crossing(api_cost_per_request=D("0.001"), replica_cost=D(1460), replica_requests=1e6)
    assert found.first_requests_per_month is None
    assert found.load_fraction_needed == pytest.approx(1.46)
    assert found.reason == "a full replica costs more than the API for the same requests"


def test_the_steps_hold_whole_gpus():
    steps = staircase(
        api_cost_per_request=D("0.01"), replica_cost=D(1460), replica_requests=1000, gpus_per_replica=2, requests=2500
    )
    assert [(step.replicas, step.gpus, step.cost_per_month) for step in steps] == [
        (1, 2, 1460), (2, 4, 2920), (3, 6, 4380), (4, 8, 5840),
    ]  # fmt: skip
    assert steps[0].api_cost_at_end == 10


@given(
    api=st.decimals("0.0001", "1", places=4),
    cost=st.decimals("100", "100000", places=2),
    capacity=st.floats(1e3, 1e7),
)
@example(api=Decimal("0.0001"), cost=Decimal("971.17"), capacity=9757630.0)
def test_beyond_the_last_crossing_self_hosting_is_never_dearer(api, cost, capacity):
    found = crossing(api_cost_per_request=api, replica_cost=cost, replica_requests=capacity)
    if found.always_from_requests_per_month is None:
        return
    for factor in (1, 1.0001, 1.5, 2, 3.7):
        volume = found.always_from_requests_per_month * factor
        hosted = float(cost) * replicas_for(volume, capacity)
        assert hosted <= float(api) * volume * (1 + 1e-6) or factor == 1
    first = found.first_requests_per_month
    # The last step that begins dearer may be dearer for a few requests only: look between its begin and the crossing.
    replicas = round(found.always_from_requests_per_month / first)
    begin = (replicas - 1) * capacity
    if found.always_from_requests_per_month - begin > 1e-6 * found.always_from_requests_per_month:
        below = (begin + found.always_from_requests_per_month) / 2
        assert float(cost) * replicas_for(below, capacity) > float(api) * below
    assert float(api) * first == pytest.approx(float(cost) * replicas_for(first, capacity), rel=1e-6)
