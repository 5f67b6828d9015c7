"""Worked examples of the catalog's resources: files that the API schema shows and a test holds to be true."""

import functools
from pathlib import Path
from typing import Any

import orjson

EXAMPLES_DIR = Path(__file__).parent / "worked_examples"


@functools.cache
def example(name: str) -> Any | None:
    """The example `name`, or None where there is none."""
    path = EXAMPLES_DIR / f"{name}.json"
    return orjson.loads(path.read_bytes()) if path.exists() else None
