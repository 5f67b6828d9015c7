"""The public files that stand beside the tests."""

import csv
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "fixtures" / "receipts"


def text_of(name: str) -> str:
    """A file's text."""
    return (FOLDER / name).read_text(encoding="utf-8")


def sources() -> list[dict[str, str]]:
    """Where each file is from."""
    with (FOLDER / "sources.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
