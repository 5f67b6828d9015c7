"""The queueing approximation against a discrete-event simulation of the same queue."""

import heapq

import numpy as np
import pytest

from estimator.engine.serving.queueing import share_within, slot_wait_s, wait_in_services
from tests.engine.serving.make_queue_table import simulate_waits


def simulated(load, variation):
    """Waits of 600,000 customers by an event list, in units of the service time."""
    rng = np.random.default_rng(int(load * 100 + variation))
    shape = 1.0 / variation**2
    arrivals = np.cumsum(rng.gamma(shape, 1.0 / (load * shape), 600_000))
    events = [(time, 0, place) for place, time in enumerate(arrivals[:1])]
    waits, queue, free, arrived = [], [], True, 1
    while events:
        now, kind, _ = heapq.heappop(events)
        if kind == 0:
            queue.append(now)
            if arrived < len(arrivals):
                heapq.heappush(events, (arrivals[arrived], 0, arrived))
                arrived += 1
        else:
            free = True
        if free and queue:
            waits.append(now - queue.pop(0))
            free = False
            heapq.heappush(events, (now + 1.0, 1, 0))
    return np.array(waits)


@pytest.mark.parametrize("load", [0.35, 0.65, 0.8])
@pytest.mark.parametrize("variation", [1.0, 3.0])
def test_first_token_times_are_within_10_percent_of_a_simulated_queue(load, variation):
    first = 1.0  # one prompt alone takes one service time, the wait comes on top
    waits = simulate_waits(load=load, variation=variation, customers=4_000_000, seed=99)
    expected = wait_in_services(load, variation)
    measured = [waits.mean(), *np.percentile(waits, (50, 90, 95, 99))]
    for ours, theirs in zip(expected, measured, strict=True):
        assert first + ours == pytest.approx(first + theirs, rel=0.10)


def test_the_walk_and_the_event_list_simulate_the_same_queue():
    events = simulated(0.6, 1.0)
    walk = simulate_waits(load=0.6, variation=1.0, customers=600_000, seed=1)
    assert events.mean() == pytest.approx(walk.mean(), rel=0.03)
    assert np.percentile(events, 95) == pytest.approx(np.percentile(walk, 95), rel=0.05)


def test_poisson_waits_have_the_known_mean():
    for load in (0.15, 0.5, 0.77, 0.9):
        assert wait_in_services(load, 1.0)[0] == pytest.approx(load / (2 * (1 - load)), rel=0.03)


def test_an_empty_server_makes_nobody_wait_and_a_full_one_for_ever():
    assert wait_in_services(0.0, 3.0).max() == 0.0
    assert np.isinf(wait_in_services(1.0, 1.0)).all()


def test_waits_grow_with_load_and_with_burstiness():
    loads = np.linspace(0.0, 0.99, 100)
    waits = wait_in_services(loads, 1.0)
    assert (np.diff(waits, axis=0) >= -1e-12).all()
    assert (wait_in_services(0.7, np.array([0.0, 0.5, 1.0, 1.7, 3.0, 4.0]))[:, 0] >= 0).all()
    assert (np.diff(wait_in_services(0.7, np.array([0.0, 0.5, 1.0, 1.7, 3.0, 4.0]))[:, 0]) > 0).all()


def test_many_places_half_used_make_nobody_wait():
    assert slot_wait_s(load=0.5, servers=100, service_s=10.0, variation=1.0)[0] < 1e-3


def test_the_wait_for_a_place_alone_is_to_the_last_bit_that_of_a_column():
    # One row of a sweep says what many say: a number raised to a power by itself may differ from a column.
    rng = np.random.default_rng(2)
    loads, servers = rng.uniform(0.0, 1.0, 500), rng.integers(1, 600, 500).astype(float)
    column = slot_wait_s(load=loads, servers=servers, service_s=5.0, variation=1.0)
    alone = [
        slot_wait_s(load=load, servers=places, service_s=5.0, variation=1.0)
        for load, places in zip(loads, servers, strict=True)
    ]
    np.testing.assert_array_equal(alone, column)


def test_the_share_within_a_target_follows_the_percentiles():
    waits = np.array([1.0, 0.5, 2.0, 3.0, 5.0])
    targets = np.array([0.5, 1.0, 1.5, 3.0, 4.0, 6.0])
    shares = share_within(targets, waits, 1.0)
    assert shares[0] == 0.0
    assert shares[2] == pytest.approx(0.5)
    assert shares[3] == pytest.approx(0.9)
    assert shares[4] == pytest.approx(0.95)
    assert shares[5] == pytest.approx(0.99)
