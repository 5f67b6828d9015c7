"""What the documentation says about settings is what the code reads."""

import re

from tests.live import ROOT

READ = re.compile(r"""(?:env\.\w+|environ(?:ment)?\.get|environ)\s*[\[(]\s*"((?:AFORO_|DATABASE_URL)\w*)""")


def names_read() -> set[str]:
    files = [*ROOT.glob("config/**/*.py"), *ROOT.glob("tests/*.py")]
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
