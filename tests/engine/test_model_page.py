"""Docstrings of physics functions: unit, equation of docs/model.md, source, and an example that runs."""

import ast
import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from estimator import engine

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "model.md"
# Rooms of physics. Those of the rewrite of memory follow with it.
ROOMS = ("forward_pass", "serving", "speed", "speculation", "cost", "prompt_cache", "power")
NUMBERS = {"Any", "float", "int", "Floats", "Figures", "Number", "Decimal"}
UNIT = re.compile(
    r"\b(FLOPs?|FLOP/\w+|[Ss]econds?|[Bb]ytes?|[Tt]okens?|[Ss]equences?|[Rr]equests?|[Rr]eplicas?|[Pp]ositions?|[Tt]urns"
    r"|[Ss]hare|[Pp]robability|[Cc]ost|[Aa]mount|elements|currency|figure|Unit|Without unit)\b"
)
CITED = re.compile(r"\beq\. \((\d+)\)")
MODULES = sorted(found.name for found in pkgutil.walk_packages(engine.__path__, "estimator.engine."))


def physics_functions():
    """Public functions of the rooms that return a number or an array of numbers."""
    for room in ROOMS:
        for path in sorted((ROOT / "estimator" / "engine" / room).glob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.returns:
                    words = set(re.findall(r"\w+", ast.unparse(node.returns)))
                    if words & NUMBERS and not words & {"dict", "str"}:
                        yield pytest.param(ast.get_docstring(node) or "", id=f"{room}/{path.stem}.{node.name}")


@pytest.mark.parametrize("text", physics_functions())
def test_a_physics_function_says_unit_equation_source_and_example(text):
    assert UNIT.search(text), "its unit is missing"
    assert CITED.search(text), "its equation of docs/model.md is missing: eq. (n)"
    assert re.search(r"\bSource:\s", text), "its source is missing"
    assert ">>> " in text, "its example is missing"


def test_every_equation_that_is_cited_exists_and_every_equation_is_cited():
    page = PAGE.read_text(encoding="utf-8")
    numbers = re.findall(r"^- \((\d+)\) ", page, re.MULTILINE)
    assert len(numbers) == len(set(numbers))
    cited = {
        number
        for path in (ROOT / "estimator" / "engine").rglob("*.py")
        for number in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert cited - set(numbers) == set()
    assert set(numbers) - cited == set()


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(name):
    found = doctest.testmod(importlib.import_module(name), report=False)
    assert found.failed == 0


def test_the_examples_of_the_page_run():
    found = doctest.testfile(str(PAGE), module_relative=False, report=False, encoding="utf-8")
    assert (found.failed, found.attempted > 5) == (0, True)
