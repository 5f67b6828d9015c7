"""The examples in docstrings outside the engine say what the code does (those of the engine: tests/engine)."""

import doctest
import importlib

import pytest

from tests.live import ROOT

PACKAGES = ("aforo", "catalog", "config", "estimator", "manifests", "pages", "receipts", "reports")
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8") and not path.is_relative_to(ROOT / "estimator" / "engine")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(name):
    found = doctest.testmod(importlib.import_module(name), report=False)
    assert (found.failed, found.attempted > 0) == (0, True)
