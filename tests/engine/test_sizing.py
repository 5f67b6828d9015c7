"""Whole replicas in whole nodes, and what binds a replica."""

import numpy as np
import pytest

from estimator.engine.errors import InvalidInputError
from estimator.engine.sizing import Constraint, fleet, largest_load, replicas_for, share_within


def test_p02_replicas_are_not_gpus():
    # 40 H200 at TP8 are 5 replicas of 8; at 13 users each, 32 users take 3 replicas.
    assert replicas_for(32, 13) == 3
    found = fleet(3, 8, 8)
    assert (found.replicas, found.gpus_per_replica, found.gpus, found.nodes) == (3, 8, 24, 3)
    assert fleet(5, 8, 8).gpus == 40


def test_p03_requests_that_stall_are_not_good():
    # Time per token of four requests, stalls included, against a target of 11 ms.
    assert share_within([10, 18.5, 18.5, 27], 11) == 0.25
    assert share_within([10, 10, 10, 10], 11) == 1


def test_p05_a_trace_takes_so_many_replicas_at_each_moment():
    trace = [2.0, 9.9, 10.0, 10.1, 35.0]
    assert [replicas_for(rate, 10.0) for rate in trace] == [1, 1, 1, 2, 4]


@pytest.mark.parametrize(
    ("replicas", "size", "node", "nodes"), [(3, 3, 8, 2), (4, 4, 8, 2), (5, 4, 8, 3), (2, 16, 8, 4), (1, 1, 8, 1)]
)
def test_replicas_do_not_straddle_nodes(replicas, size, node, nodes):
    assert fleet(replicas, size, node).nodes == nodes


LOADS = np.array([1.0, 2.0, 4.0, 8.0])
RATES = np.array([1.0, 1.8, 3.0, 4.0])
E2E = np.array([1.0, 1.1, 1.3, 2.0])


def test_the_first_missed_target_binds():
    times = {
        Constraint.TTFT: (np.array([0.1, 0.2, 0.4, 0.9]), 1.0),
        Constraint.TPOT: (np.array([0.01, 0.02, 0.03, 0.06]), 0.05),
    }
    found = largest_load(LOADS, RATES, times, E2E, None)
    assert (found.concurrency, found.requests_per_s, found.binding) == (4, 3.0, Constraint.TPOT)


def test_without_a_missed_target_memory_binds():
    found = largest_load(LOADS, RATES, {}, E2E, 9.0)
    assert (found.concurrency, found.binding) == (8, Constraint.MEMORY)
    assert found.users == pytest.approx(4.0 * 11.0)


def test_a_target_no_load_meets_leaves_no_capacity():
    assert largest_load(LOADS, RATES, {Constraint.TTFT: (np.array([2.0, 2, 2, 2]), 1.0)}, E2E, None) is None
    with pytest.raises(InvalidInputError):
        replicas_for(1, 0)
