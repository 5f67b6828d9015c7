"""CPU time of a piece of work, and its ratio to another's in the same run; only ratios are held to a limit."""

import time
from collections.abc import Callable


def least_cpu_s(*works: Callable[[], object], times: int = 60, loops: int = 5) -> tuple[float, ...]:
    """Least CPU seconds of one call of each work over `times` rounds of `loops` calls, after one that warms up.

    The works take turns, so that a busy machine or a processor that changes its clock meets all of them. Rounds are
    short: in a long one a busy machine always comes between, and what it leaves in the processor's caches is timed too.
    """
    least = [float("inf")] * len(works)
    for _ in range(times):
        for place, work in enumerate(works):
            work()
            start = time.thread_time()
            for _ in range(loops):
                work()
            least[place] = min(least[place], (time.thread_time() - start) / loops)
    return tuple(least)


def yardstick() -> int:
    """A fixed amount of pure Python: sums and dict look-ups, about 0.1 ms."""
    table = {index: index * 3 for index in range(200)}
    return sum(table[index % 200] + index for index in range(2000))
