"""What the Makefile starts is there."""

import importlib
import re

import pytest

from tests.live import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
OWN = sorted(
    name for name in set(re.findall(r"\$\(PYTHON\) -m ([\w.]+)", MAKEFILE)) if (ROOT / name.split(".")[0]).is_dir()
)


@pytest.mark.parametrize("program", OWN)
def test_every_program_of_ours_that_make_starts_can_be_imported(program):
    module = importlib.import_module(program)
    if hasattr(module, "__path__"):
        module = importlib.import_module(f"{program}.__main__")
    assert callable(module.main)


def test_every_target_that_is_called_phony_or_listed_by_help_exists():
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
    phony = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.M).group(1).split())
    listed = set(re.findall(r'echo "make ([a-z-]+)', MAKEFILE))
    assert {"tests.bench.bills", "tests.chaos.campaign", "config.supervisor"} <= set(OWN)
    assert phony == targets
    assert listed <= targets
