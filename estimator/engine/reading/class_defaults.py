"""What a config.json means where it is silent: the defaults of each model_type's class.

Source: the declared defaults of the configuration classes of transformers 5.24.0, read 2026-11-29 and 30, cut to the
keys the reader uses (a default of null or false is left out, but for the tie flag); types that transformers does not
know (remote code) are written from the families' published configs. One line for each type in `class_defaults.txt`:
`type key=value …`, continued by indented lines.
"""

from collections.abc import Mapping
from pathlib import Path

_TABLE = Path(__file__).with_name("class_defaults.txt")


def _value(text: str) -> int | float | bool | str:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _parse(text: str) -> dict[str, dict[str, int | float | bool | str]]:
    table: dict[str, dict[str, int | float | bool | str]] = {}
    current: dict[str, int | float | bool | str] = {}
    for line in text.strip().splitlines():
        words = line.split()
        if not line.startswith(" "):
            current = table.setdefault(words.pop(0), {})
        for word in words:
            key, _, value = word.partition("=")
            current[key] = _value(value)
    return table


CLASS_DEFAULTS = _parse(_TABLE.read_text(encoding="utf-8"))
_NONE: Mapping[str, int | float | bool | str] = {}


def class_defaults(model_type: str, rule_type: str) -> Mapping[str, int | float | bool | str]:
    """The class defaults of a model_type, or of the type whose rule reads it; empty when there are none."""
    found = CLASS_DEFAULTS.get(model_type)
    return found if found is not None else CLASS_DEFAULTS.get(rule_type, _NONE)
