"""The fault campaign as tests: ten reports where CI runs, a hundred in `make long` and `make chaos`."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.campaign import run


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: a unix socket's may have 107 characters; open to user postgres.

    Not one of pytest's: every pytest that starts on the machine closes the folder above those to all but its owner.
    """
    with tempfile.TemporaryDirectory(prefix="aforo-chaos-", ignore_cleanup_errors=True) as found:
        Path(found).chmod(0o755)
        yield Path(found)


@pytest.mark.services
@pytest.mark.timeout(1500)
def test_ten_reports_survive_every_fault(folder):
    assert not any(run("services", 10, 1.0, folder).values())


@pytest.mark.long
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("stack", ["services", "embedded"])
def test_a_hundred_reports_survive_every_fault(folder, stack):
    assert not any(run(stack, 100, 3.0, folder).values())
