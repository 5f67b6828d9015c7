"""The text of a config.json as Python and Hugging Face write it: NaN and Infinity are no JSON, yet files hold them."""

import json
import re
from collections.abc import Iterator
from typing import Any

CONFIG_KEY = "config"
_WORDS = (b"NaN", b"Infinity")
# A text, skipped as it is, or one of the three words outside of texts.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b')


def spelled_out(raw: bytes, *, everywhere: bool = False) -> bytes:
    """A JSON text where NaN and infinities that a config.json may hold are texts, as `"Infinity"`.

    Mamba files hold them (`"time_step_limit": [0.0, Infinity]`). No figure is read from such a place, and a reader that
    needs one refuses the text by name.

    Args:
        raw: the text.
        everywhere: the whole text is a config; else only what lies below a key `config` may hold such words.

    Returns:
        The text with those words in quotation marks; the text itself where there are none, where one stands outside of
        a config, or where it cannot be read at all.
    """
    if not any(word in raw for word in _WORDS):
        return raw
    try:
        tree = json.loads(raw, parse_constant=_Word)
    except (ValueError, RecursionError):
        return raw
    if not everywhere and any(_outside(tree)):
        return raw
    return _TOKEN.sub(lambda found: found[0] if found[0].startswith(b'"') else b'"' + found[0] + b'"', raw)


class _Word(str):
    """One of the three words, as the parser met it."""

    __slots__ = ()


def _outside(tree: Any) -> Iterator[_Word]:
    """The words that stand outside of a config."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, _Word):
            yield node
        elif isinstance(node, dict):
            pending.extend(value for key, value in node.items() if key != CONFIG_KEY)
        elif isinstance(node, list):
            pending.extend(node)
