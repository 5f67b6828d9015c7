"""Answers held against the published schema, docs/openapi.yaml."""

from functools import cache
from typing import Any

import jsonschema_rs
import yaml

from tests.live import ROOT


@cache
def published() -> dict[str, Any]:
    """The schema as it is published."""
    return yaml.load((ROOT / "docs/openapi.yaml").read_text(), yaml.CSafeLoader)


@cache
def validator(component: str) -> Any:
    """A compiled validator of a component of the schema; made once, some milliseconds."""
    return jsonschema_rs.validator_for(
        {"$ref": f"#/components/schemas/{component}", "components": published()["components"]}
    )


def faults(component: str, answer: Any) -> list[str]:
    """What of an answer is not as the component says, with its place."""
    return [f"{error.instance_path}: {error.message}" for error in validator(component).iter_errors(answer)]
