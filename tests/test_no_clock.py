"""No test's outcome hangs on how quick the machine is: time is measured in tests/bench alone, as ratios."""

import re

import pytest

from tests.live import HANGS_AFTER_S, ROOT

MEASURING = re.compile(r"perf_counter|process_time|thread_time|time\.time\(\)|timeit")
# A wait that tells a hang from a busy machine says so by this name.
DEADLINE = re.compile(
    r"monotonic\(\) \+ (?!HANGS_AFTER_S|within_s)|\b(?:connect_)?timeout=[\d.]+[,)]|\bwithin_s=[\d.]+[,)]"
)
ELSEWHERE = ("bench", "chaos")
FILES = [
    path
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if path.relative_to(ROOT / "tests").parts[0] not in ELSEWHERE and path.name != "test_no_clock.py"
]


@pytest.mark.parametrize("pattern", [MEASURING, DEADLINE], ids=["measures", "short deadline"])
def test_no_test_outside_the_bench_measures_time_or_waits_for_less_than_a_hang(pattern):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in FILES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []
    assert HANGS_AFTER_S >= 240
