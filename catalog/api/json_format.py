"""JSON at the border: orjson both ways, never NaN or infinity."""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any

import orjson
from django.conf import settings
from django.utils.functional import Promise
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from catalog.api.problems import BodyTooLarge, problem_of
from catalog.api.strict_json import UnacceptableJsonError, read_strictly
from catalog.config_text import spelled_out


def read_json(body: bytes) -> Any:
    """The value of a JSON body, read strictly (`catalog.api.strict_json`); a config in it may hold NaN and Infinity.

    Raises:
        MalformedBody: it is no JSON.
        InvalidRequest: it holds NUL, or a key twice.
    """
    try:
        return read_strictly(spelled_out(body))
    except UnacceptableJsonError as error:
        raise problem_of(error.faults) from None


def write_json(value: Any) -> bytes:
    """The value as JSON bytes.

    Args:
        value: dicts with string keys, lists, tuples, dataclasses, dates, UUIDs, Decimals (written as strings), lazy
            texts and the JSON scalars.

    Raises:
        ValueError: a float is NaN or infinite; orjson would write null, and null means "not known".
        TypeError: a value has no JSON form, as a Decimal that is not finite or an integer of more than 64 bits.
    """
    _refuse_non_finite(value, "")
    return orjson.dumps(value, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise TypeError("A Decimal of the answer is not finite.")
        return format(value, "f")
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form.")


def _refuse_non_finite(value: object, path: str) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"The answer holds {value} at {path or '/'}.")
    elif isinstance(value, Mapping):
        for key, child in value.items():
            if isinstance(child, float | Mapping | list | tuple):
                _refuse_non_finite(child, f"{path}/{key}")
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            if isinstance(child, float | Mapping | list | tuple):
                _refuse_non_finite(child, f"{path}/{index}")


class JsonParser(BaseParser):
    """Reads `application/json` bodies with `read_json`, up to the size limit."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The value of the body."""
        limit: int = settings.AFORO_MAX_BODY_BYTES
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge
        return read_json(body)


class JsonRenderer(BaseRenderer):
    """Writes answers with `write_json`."""

    media_type = "application/json"
    format = "json"
    # JSON is UTF-8 by definition; a charset parameter has no meaning for it (RFC 8259).
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The answer as bytes; no content for no data."""
        return b"" if data is None else write_json(data)
