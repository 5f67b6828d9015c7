"""Last touches to the API schema, after drf-spectacular has made it (docs/openapi.yaml)."""

from typing import Any

Schema = dict[str, Any]


def one_name_each(result: Schema, **_made: Any) -> Schema:
    """Gives each component its own name as title: makers of clients name their classes after titles."""
    for name, component in result["components"]["schemas"].items():
        if "title" in component:
            component["title"] = name
    return result


def empty_addresses(result: Schema, **_made: Any) -> Schema:
    """Lets an empty text stand where an address may be left out.

    drf-spectacular says "one of: an address, or an empty text". Formats are notes in JSON Schema, so an empty text
    is both, and one of both is refused.
    """
    for component in result["components"]["schemas"].values():
        for described in component.get("properties", {}).values():
            if any(choice.get("maxLength") == 0 for choice in described.get("oneOf", [])):
                described["anyOf"] = described.pop("oneOf")
    return result
