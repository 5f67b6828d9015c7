"""docs/constants.md."""

from pathlib import Path

from django.conf import settings

from estimator.constants.page import document
from estimator.constants.rows import all_constants


def test_the_page_is_the_one_that_the_rows_give():
    text = (Path(settings.BASE_DIR) / "docs" / "constants.md").read_text(encoding="utf-8")
    assert text == document(), "run manage.py write_constants_doc"


def test_the_page_holds_every_constant_with_its_evidence():
    lines = [line for line in document().splitlines() if line.startswith("|")]
    for row in all_constants():
        wanted = (f"| {row.name} | {row.value:.12g} | {row.unit} |", f"| {row.basis} |", f"{row.source} ({row.date}) |")
        assert any(all(part in line for part in wanted) for line in lines), row
