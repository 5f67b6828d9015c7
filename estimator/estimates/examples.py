"""Worked examples: a request and its documented answer, kept in the room, shown in the schema, executed by a test."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

ROOMS = Path(__file__).parent
VOLATILE = ("estimator_version", "catalog_revision")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedExample:
    """One example of an estimate: `name` is the file of its answer, `summary` its title in the schema.

    The request is an entry of `<room>/examples/requests.yaml`, the answer `<room>/examples/<name>.json`, which
    `manage.py write_api_examples` writes; a person reads the figures before they are committed. `explain` asks for the
    working.
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
        answer: dict[str, Any] = orjson.loads(example_path(slug, self.name).read_bytes())
        return answer


def example_path(slug: str, name: str) -> Path:
    """The file of an example's answer."""
    return _folder(slug) / f"{name}.json"


@functools.cache
def worked_examples(slug: str) -> tuple[WorkedExample, ...]:
    """The examples of an estimate, in the order of its file; none without a file."""
    requests = _folder(slug) / "requests.yaml"
    entries = yaml.safe_load(requests.read_text()) if requests.exists() else ()
    return tuple(WorkedExample(**entry) for entry in entries)


def _folder(slug: str) -> Path:
    return ROOMS / slug.replace("-", "_") / "examples"
