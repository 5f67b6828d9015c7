"""What the documentation says about settings is what the code reads."""

import re

import pytest

from tests.live import ROOT

READ = re.compile(r"""(?:env\.\w+|\binteger|environ(?:ment)?\.get|environ)\s*[\[(]\s*"((?:AFORO_|DATABASE_URL)\w*)""")


def names_read() -> set[str]:
    files = [*ROOT.glob("config/**/*.py"), *ROOT.glob("aforo/*.py"), *ROOT.glob("tests/*.py")]
    return {name for file in files for name in READ.findall(file.read_text())}


def test_every_variable_is_in_the_documentation_and_nothing_else():
    documented = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "configuration.md").read_text(), re.M))
    assert documented == names_read()


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    pages = [
        page.name for page in (ROOT / "docs").glob("*") if page.suffix in {".md", ".yaml"} and page.name != "README.md"
    ]
    assert [page for page in pages if f"({page})" not in index] == []
    decisions = (ROOT / "docs" / "adr" / "README.md").read_text()
    assert [p.name for p in (ROOT / "docs" / "adr").glob("0*.md") if f"({p.name})" not in decisions] == []


def test_every_make_target_of_the_documentation_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    text = "".join((ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md"))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets
    assert {"install", "run", "test", "lint", "validate", "bench", "schema", "long"} <= targets


def measured(section: str, group: str, column: str) -> str:
    """A figure of the generated accuracy table."""
    part = (ROOT / "docs" / "accuracy.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
    return dict(zip(rows[0], next(row for row in rows if row[0] == group), strict=True))[column]


CORE, NO_MODEL, NO_GPU = (
    "Core rows by metric",
    "Core rows with their model left out of the fit",
    "Core rows with their GPU left out of the fit",
)
AMD = "static batch (AMD, software of mid-2024)"
LLAMA, PROMPTS = "single stream (llama.cpp)", "prefill tokens/s (llama.cpp)"


@pytest.mark.parametrize(
    ("sentence", "figures"),
    [
        (
            "{} % median: vLLM {}, SGLang {}, TensorRT-LLM {};",
            [(CORE, "TTFT")]
            + [("By engine", f"TTFT: {engine}") for engine in ("vllm-0.19", "sglang-0.5", "tensorrt-llm-1")],
        ),
        ("**vLLM** (13.9 → {} %;", [("By engine", "TTFT: vllm-0.19")]),
        ("Decode 7.1 → {} % (model left out {}, GPU {})", [(CORE, LLAMA), (NO_MODEL, LLAMA), (NO_GPU, LLAMA)]),
        ("prefill 13.1 → {} %", [(CORE, PROMPTS)]),
        ("model left out {}, GPU left out {})", [(NO_MODEL, PROMPTS), (NO_GPU, PROMPTS)]),
        ("Maximum throughput 6.2 → {} %", [(CORE, "max throughput")]),
        ("Static batch 7.0 → {} % (model left out {})", [(CORE, "static batch"), (NO_MODEL, "static batch")]),
        ("20.1 → {} % (model left out {})", [(CORE, AMD), (NO_MODEL, AMD)]),
    ],
)
def test_medians_told_in_the_calibration_are_those_of_the_table(sentence, figures):
    told = sentence.format(*(measured(section, group, "median %") for section, group in figures))
    assert told in (ROOT / "docs" / "accuracy-calibration.md").read_text()


def test_every_link_between_pages_leads_somewhere():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    links = [(page, to) for page in pages for to in re.findall(r"\]\(([^)#\s]+)", page.read_text()) if ":" not in to]
    assert len(links) > 40
    assert [(page.name, to) for page, to in links if not (page.parent / to).exists()] == []
