"""Worked examples: a request and its documented answer, kept as a file, shown in the schema, executed by a test."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

EXAMPLES_DIR = Path(__file__).parent / "worked_examples"
VOLATILE = ("estimator_version", "catalog_revision")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedExample:
    """One example of an endpoint: `name` is the file in `worked_examples/<slug>/`, `summary` its title in the schema.

    The file holds the answer; `manage.py write_api_examples` writes it, and a person reads the figures before they are
    committed. `explain` asks for the working.
    """

    name: str
    summary: str
    body: dict[str, Any]
    explain: bool = False

    def answer(self, slug: str) -> dict[str, Any]:
        """The documented answer of the example.

        Raises:
            FileNotFoundError: it was not written yet.
        """
        return _read(example_path(slug, self.name))


def example_path(slug: str, name: str) -> Path:
    """The file of an example's answer."""
    return EXAMPLES_DIR / slug / f"{name}.json"


@functools.cache
def _read(path: Path) -> dict[str, Any]:
    answer: dict[str, Any] = orjson.loads(path.read_bytes())
    return answer
