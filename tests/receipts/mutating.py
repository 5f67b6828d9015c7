"""Public files with random changes: what people and broken programs make of them."""

import json
import random
from typing import Any

from tests.receipts.files import sources, text_of

_VALUES: list[Any] = [
    None, True, False, "", "abc", -1, 0, 1, 1e308, -1e308, 1e-308, float("nan"), float("inf"), [], {}, "1e400", "NaN",
    2**70, "‮x", "\x00", [[]], {"a": {"b": {}}}, "1,000", -0.0,
]  # fmt: skip


def mutated(seed: int) -> str:
    """A text made from a public file by one to four changes; the same seed makes the same text."""
    rng = random.Random(seed)
    text = text_of(rng.choice([row["file"] for row in sources()]))
    for _ in range(rng.randint(1, 4)):
        text = _structure(text, rng) if text.lstrip()[:1] in "{[" and rng.random() < 0.7 else _bytes(text, rng)
    return text


def _structure(text: str, rng: random.Random) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _bytes(text, rng)
    places = list(_places(value))
    if not places:
        return text
    holder, key = rng.choice(places)
    kind = rng.randrange(4)
    if kind == 0:
        holder[key] = rng.choice(_VALUES)
    elif kind == 1 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = holder[key] * rng.choice([-1, 0, 1e-3, 1e3, 0.5, 2, 1e30])
    elif kind == 2 and isinstance(holder, dict):
        del holder[key]
    else:
        other, name = rng.choice(places)
        holder[key] = other[name] if not isinstance(other[name], dict | list) else rng.choice(_VALUES)
    return json.dumps(value)


def _places(value: Any) -> Any:
    if isinstance(value, dict):
        for key in value:
            yield value, key
            yield from _places(value[key])
    elif isinstance(value, list):
        for position in range(min(len(value), 20)):
            yield value, position
            yield from _places(value[position])


def _bytes(text: str, rng: random.Random) -> str:
    at = rng.randrange(max(len(text), 1))
    lines = text.splitlines(keepends=True)
    kind = rng.randrange(6)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + rng.choice(["\x00", "-", "9", '"', "{", ",", "é", "\n", "e9", " ", "|"]) + text[at:]
    if kind == 2:
        return text[:at] + text[at + rng.randint(1, 40) :]
    if kind == 3 and lines:
        line = rng.randrange(len(lines))
        return "".join(lines[:line] + lines[line + 1 :])
    if kind == 4 and lines:
        line = rng.randrange(len(lines))
        return "".join([*lines[: line + 1], lines[line], *lines[line + 1 :]])
    digits = [place for place, sign in enumerate(text) if sign.isdigit()]
    if not digits:
        return text
    place = rng.choice(digits)
    return text[:place] + rng.choice("0123456789.-") + text[place + 1 :]
