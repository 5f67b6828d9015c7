"""CPU time of a call, undisturbed: other tests' garbage and a busy machine are not what a limit is about."""

import time
from collections.abc import Callable


def least_cpu_s(call: Callable[[], object], *, times: int = 3, loops: int = 1) -> float:
    """Least CPU seconds of one call over several tries; where it takes microseconds, a try is the mean of `loops`."""
    least = float("inf")
    for _ in range(times):
        start = time.process_time()
        for _ in range(loops):
            call()
        least = min(least, (time.process_time() - start) / loops)
    return least
