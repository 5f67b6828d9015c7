"""Typed, bounded access to the keys of a config.json: aliases, class defaults and clean refusals that name the key."""

from collections.abc import Mapping, Sequence
from typing import Any

from estimator.engine.errors import InvalidInputError, MissingFigureError

# Bounds far above any real model; they keep products inside exact integers and refuse hostile values.
MAX_LAYERS = 4_096
MAX_WIDTH = 4_194_304
MAX_VOCABULARY = 268_435_456
MAX_TOKENS = 1_099_511_627_776
MAX_COUNT = 1_048_576

_ABSENT = object()


class Fields:
    """One mapping of a config with the defaults of its class; every accessor takes the aliases of a key in order."""

    __slots__ = ("config", "defaulted", "defaults", "path")

    def __init__(self, config: Mapping[str, Any], defaults: Mapping[str, Any], path: str = "config") -> None:
        self.config = config
        self.defaults = defaults
        self.path = path
        self.defaulted: list[str] = []

    def over(self, own: Mapping[str, Any]) -> "Fields":
        """The same fields with some keys replaced; what is taken from the class defaults is told in one list."""
        if not own:
            return self
        found = Fields({**self.config, **own}, self.defaults, self.path)
        found.defaulted = self.defaulted
        return found

    def raw(self, *names: str) -> Any:
        """The value of the first alias present in the file, else of the class defaults, else None.

        A key that is present with null reads as None and hides the class default, as it does in the reference classes.
        """
        config = self.config
        found = _ABSENT
        for name in names:
            value = config.get(name, _ABSENT)
            if value is not None and value is not _ABSENT:
                return value
            if value is None:
                found = None
        if found is None:
            return None
        for name in names:
            value = self.defaults.get(name)
            if value is not None:
                self.defaulted.append(name)
                return value
        return None

    def error(self, name: str, problem: str) -> InvalidInputError:
        """The refusal of a key's value, naming the key."""
        return InvalidInputError(f"{name} {problem}", field=f"{self.path}.{name}")

    def missing(self, name: str) -> MissingFigureError:
        """The refusal of a config that lacks a key no class default covers."""
        return MissingFigureError(f"{name} is missing and has no class default", field=f"{self.path}.{name}")

    def whole(self, *names: str, low: int = 1, high: int = MAX_WIDTH, default: int | None = None) -> int:
        """A whole number within [low, high]; `default` when absent; refused when neither is there."""
        value = self.raw(*names)
        if value is None:
            if default is None:
                raise self.missing(names[0])
            return default
        return self.check_whole(names[0], value, low, high)

    def optional_whole(self, *names: str, low: int = 1, high: int = MAX_WIDTH) -> int | None:
        """A whole number within [low, high], or None when absent or null."""
        value = self.raw(*names)
        return None if value is None else self.check_whole(names[0], value, low, high)

    def check_whole(self, name: str, value: Any, low: int, high: int) -> int:
        """`value` as an integer within [low, high]; integral floats pass, booleans and text do not."""
        if type(value) is not int:
            if type(value) is not float or not value.is_integer():
                raise self.error(name, f"must be a whole number, not {_shown(value)}")
            value = int(value)
        if not low <= value <= high:
            raise self.error(name, f"must be between {low} and {high}, not {_shown(value)}")
        return int(value)

    def number(self, *names: str, low: float, high: float, default: float) -> float:
        """A finite number within [low, high]."""
        value = self.raw(*names)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(names[0], f"must be a number, not {_shown(value)}")
        if not low <= value <= high:
            raise self.error(names[0], f"must be between {low} and {high}, not {_shown(value)}")
        return float(value)

    def flag(self, *names: str, default: bool = False) -> bool:
        """A boolean (0 and 1 pass)."""
        value = self.raw(*names)
        if value is None:
            return default
        if value is True or value is False or (type(value) is int and value in (0, 1)):
            return bool(value)
        raise self.error(names[0], f"must be true or false, not {_shown(value)}")

    def text(self, *names: str) -> str | None:
        """A text of at most 20,000 characters, or None."""
        value = self.raw(*names)
        if value is None:
            return None
        if not isinstance(value, str) or len(value) > 20_000:
            raise self.error(names[0], f"must be a text, not {_shown(value)}")
        return value

    def sequence(self, *names: str, length: int | None = None, at_least: int | None = None) -> Sequence[Any] | None:
        """A list; with `length` exactly that long, with `at_least` cut to that many entries (MTP entries follow)."""
        value = self.raw(*names)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise self.error(names[0], f"must be a list, not {_shown(value)}")
        if len(value) > 16 * MAX_LAYERS:
            raise self.error(names[0], f"has {len(value)} entries, more than any model has layers")
        if length is not None and len(value) != length:
            raise self.error(names[0], f"has {len(value)} entries for {length} layers")
        if at_least is not None:
            if len(value) < at_least:
                raise self.error(names[0], f"has {len(value)} entries for {at_least} layers")
            return value[:at_least]
        return value

    def per_layer(self, *names: str, layers: int, low: int = 0, high: int = MAX_WIDTH) -> list[int]:
        """A whole number for each layer: one value for all, or a list with one entry a layer."""
        value = self.raw(*names)
        if value is None:
            raise self.missing(names[0])
        if not isinstance(value, list | tuple):
            return [self.check_whole(names[0], value, low, high)] * layers
        entries = self.sequence(*names, at_least=layers) or ()
        return [self.check_whole(names[0], entry, low, high) for entry in entries]

    def sub(self, name: str, defaults: Mapping[str, Any] | None = None) -> "Fields | None":
        """A nested mapping as fields of its own, or None when absent or null."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(name, f"must be an object, not {_shown(value)}")
        return Fields(value, defaults or {}, f"{self.path}.{name}")


def _shown(value: Any) -> str:
    """A short, safe rendering of a refused value."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and abs(value) > 10**24:
        return "a huge number"
    return repr(value)[:60]
