"""Makes the table of `estimator/engine/serving/queue_table.py`: waits of a single server with equal service times.

Run by hand (`python -m tests.engine.serving.make_queue_table`): simulates Lindley's recursion with Gamma gaps between
arrivals, 2-6·10⁷ customers a cell (about 1 % noise at 90 % load). Prints the table in units of the service time.
"""

import numpy as np

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95)
VARIATIONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
PERCENTILES = (50, 90, 95, 99)


def simulate_waits(*, load: float, variation: float, customers: int, seed: int) -> np.ndarray:
    """Waits before service of customers in order, in units of the service time: `U − min U` of the walk `1 − gap`."""
    rng = np.random.default_rng(seed)
    shape = 1.0 / variation**2
    waits = np.empty(customers)
    level = 0.0
    for start in range(0, customers, 1_000_000):
        count = min(1_000_000, customers - start)
        steps = 1.0 - rng.gamma(shape, 1.0 / (load * shape), count)
        walk = level + np.cumsum(steps)
        lows = np.minimum.accumulate(np.minimum(walk, 0.0))
        waits[start : start + count] = walk - lows
        level = waits[start + count - 1]
    return waits


def main() -> None:
    for variation in VARIATIONS:
        for load in LOADS:
            customers = 20_000_000 if load <= 0.8 else 60_000_000
            waits = simulate_waits(load=load, variation=variation, customers=customers, seed=int(load * 1000))
            cell = [waits.mean(), *np.percentile(waits, PERCENTILES)]
            print(variation, load, " ".join(f"{value:.5g}" for value in cell), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
