"""Reads a body into its pydantic model; every fault of it in one `ResolutionError`."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from catalog.api.strict_json import UnacceptableJsonError, read_strictly
from catalog.config_text import spelled_out
from estimator.api.faults import issues_of
from estimator.engine.faults import ResolutionError
from estimator.resolvers.facts import Facts

Body = TypeVar("Body", bound=BaseModel)


def parse_body(
    model: type[Body], raw: bytes, facts: Facts | None = None, read_as: dict[str, str] | None = None
) -> Body:
    """The body as its model.

    The strict reader goes first: some of what it refuses, such as 1e999, pydantic lets into free-form parts. NaN
    and infinities inside a config.json are read as texts (`catalog.config_text`).

    Args:
        model: what the body is read as.
        raw: its bytes.
        facts: the catalog that slugs are checked against; not checked without.
        read_as: takes the names that were spelled otherwise, with the slug each was read as.

    Raises:
        ResolutionError: with code `malformed`, or every fault of the fields.
    """
    raw = spelled_out(raw)
    try:
        read_strictly(raw)
    except UnacceptableJsonError as error:
        raise ResolutionError(error.faults) from None
    context: dict[str, Any] = {"facts": facts, "read_as": {} if read_as is None else read_as}
    try:
        return model.model_validate_json(raw, context=context)
    except ValidationError as error:
        raise ResolutionError(issues_of(error, facts, model)) from None
