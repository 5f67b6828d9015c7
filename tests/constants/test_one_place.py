"""A constant stands in a row or under a name: no bare figure in a formula, no family of GPUs outside its list."""

import ast
import re
from pathlib import Path

import pytest

from estimator.constants.families import FAMILIES

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "estimator" / "engine"
# Rooms whose formulas hold no bare figure. Left out: readers of models, fits and tokens, which hold none of the
# estimates' constants; the simulated table of queues, which is data; the GPU of worked examples.
ROOMS = ("forward_pass", "serving", "speed", "speculation", "cost", "prompt_cache", "memory", "power")
LEFT_OUT = ("queue_table.py", "worked_key.py")
MEANINGS = {
    0.0: "none",
    0.5: "half: the mean of what grows evenly, the middle",
    1.0: "one, all",
    2.0: "a product is a multiplication and an addition; two bytes of 16 bits; two sides",
    4.0: "query times key and weights times value, each a multiplication and an addition; four bytes of 32 bits",
    1e-6: "unit: micro",
    1e6: "unit: mega",
    1e9: "unit: giga",
    100.0: "unit: percent",
    1e-9: "rounding",
    1e-12: "rounding",
    1e-300: "no division by 0",
    1e12: "more than any: keeps infinity out",
}


def sources(*rooms):
    return [path for room in rooms for path in sorted((ENGINE / room).rglob("*.py")) if path.name not in LEFT_OUT]


def bare_figures(text):
    """(line, figure) of floats in functions and classes; module-level names with a comment above are names."""
    tree, lines = ast.parse(text), text.splitlines()
    named = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and "#" in lines[node.lineno - 2] + lines[node.lineno - 1]:
            named |= {id(each) for each in ast.walk(node)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, float)
        if node.value not in MEANINGS and id(node) not in named
    ]


@pytest.mark.parametrize("path", sources(*ROOMS), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_formula_holds_a_bare_figure(path):
    assert bare_figures(path.read_text(encoding="utf-8")) == [], "give it a row in estimator/constants/data or a name"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(x):\n    return 0.98 * x\n", [(2, 0.98)]),
        ("class A:\n    share: float = 0.7\n", [(2, 0.7)]),
        ("def f(x, share=0.35):\n    return x\n", [(1, 0.35)]),
        ("_SHARE = 0.7\n", [(1, 0.7)]),
        ("# Why it is 0.7.\n_SHARE = 0.7\n", []),
        ("def f(x):\n    return 2.0 * x / 1e9\n", []),
    ],
)
def test_a_bare_figure_is_found(text, found):
    assert bare_figures(text) == found


def test_families_of_gpus_are_named_in_one_place():
    words = {name for name in FAMILIES if name != "apple"}
    found = {}
    for folder in ("estimator", "catalog", "reports", "config"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            said = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)} & words
            if said:
                found[str(path.relative_to(ROOT))] = sorted(said)
    # The worked examples state a family as a client does; the policy's default is vLLM's own exception.
    assert found == {
        "estimator/engine/forward_pass/worked_key.py": ["hopper"],
        "estimator/engine/memory/policy.py": ["ampere"],
        "reports/api/examples.py": ["hopper"],
    }


def test_nothing_cites_a_document_that_is_not_in_the_repository():
    cited = re.compile(r"\b0\d-(?:engine|api|catalog|reports|product|architectures|architecture|examples|prompt)\b")
    cited = re.compile(rf"{cited.pattern}|\bdesign 0\d\b|\bseed (?:document )?0\d\d\b|shared/design")
    found = []
    for pattern in ("*.py", "*.md", "*.yaml", "*.json", "*.csv", "*.html"):
        for folder in ("config", "catalog", "estimator", "reports", "docs", "tests"):
            for path in (ROOT / folder).rglob(pattern):
                if path != Path(__file__) and cited.search(path.read_text(encoding="utf-8")):
                    found.append(str(path.relative_to(ROOT)))
    assert found == []
