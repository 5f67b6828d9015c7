"""Which kind each layer is: what configs call them in lists, and the rules of families for files without a list."""

from collections.abc import Callable, Mapping

from estimator.engine.reading.decoder import Kinds
from estimator.engine.reading.fields import MAX_LAYERS, Fields
from estimator.engine.reading.shape import check_flags, listed_types

# What configs call the kinds of layers. `hybrid` layers of Inkling and Zaya attend and keep short convolutions.
WORDS: Mapping[str, str] = {
    "full_attention": "full",
    "attention": "full",
    "global_attention": "full",
    "indexed_attention": "full",
    "hybrid": "full",
    "sliding_attention": "window",
    "sliding_window_attention": "window",
    "local_attention": "window",
    "hybrid_sliding": "window",
    "chunked_attention": "chunk",
    "linear_attention": "state",
    "mamba": "state",
    "conv": "state",
    "recurrent": "state",
}
Rule = Callable[[int, int], str]
"""The kind of a layer by its number, from 0, among so many."""


def listed(rule: Rule | Kinds, *, names: tuple[str, ...] = ("layer_types", "layers_block_type")) -> Kinds:
    """The kinds that the config lists, else those of a rule.

    Args:
        rule: the kind of a layer by its number among so many, or of all layers by the config (`by_config`).
        names: the keys of the list.
    """

    def kinds(fields: Fields, layers: int) -> list[str]:
        types = listed_types(fields, layers, *names)
        if types is None:
            return list(rule(fields, layers)) if isinstance(rule, ByConfig) else _each(rule, layers)
        found = []
        for entry in types:
            kind = WORDS.get(entry) if isinstance(entry, str) else None
            if kind is None:
                raise fields.error(names[0], f"may hold {', '.join(WORDS)}; not {str(entry)[:40]!r}")
            found.append(kind)
        return found

    return kinds


def _each(rule: Callable[..., str] | Kinds, layers: int) -> list[str]:
    return [str(rule(layer, layers)) for layer in range(layers)]  # type: ignore[arg-type]


class ByConfig:
    """A rule that reads the config."""

    __slots__ = ("kinds",)

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds

    def __call__(self, fields: Fields, layers: int) -> list[str]:
        """The kind of each layer."""
        return list(self.kinds(fields, layers))


def always(kind: str) -> Rule:
    """Every layer of one kind."""
    return lambda layer, layers: kind


def every(kind: str) -> Kinds:
    """Every layer of one kind, whatever lists the config has."""
    return lambda fields, layers: [kind] * layers


def interval(*names: str, default: int, others: str = "state") -> ByConfig:
    """Every n-th layer full, the others of another kind; n is a key of the config."""

    def kinds(fields: Fields, layers: int) -> list[str]:
        step = fields.whole(*names, high=MAX_LAYERS, default=default) if names else default
        return ["full" if (layer + 1) % step == 0 else others for layer in range(layers)]

    return ByConfig(kinds)


def indices(name: str, kind: str, others: str, *, default: Rule, first: int = 0) -> ByConfig:
    """The layers whose numbers a key lists are of one kind, the others of another; a rule where the key is absent."""

    def kinds(fields: Fields, layers: int) -> list[str]:
        entries = fields.sequence(name)
        if entries is None:
            return _each(default, layers)
        chosen = {fields.check_whole(name, entry, 0, MAX_LAYERS) - first for entry in entries}
        return [kind if layer in chosen else others for layer in range(layers)]

    return ByConfig(kinds)


def flags(name: str, kind: str, others: str, *, default: Rule) -> ByConfig:
    """A list of 0 and 1: layers with 1 are of one kind, the others of another; a rule where the key is absent."""

    def kinds(fields: Fields, layers: int) -> list[str]:
        entries = fields.sequence(name, at_least=layers)
        if entries is None:
            return _each(default, layers)
        return [kind if flag else others for flag in check_flags(fields, name, entries)]

    return ByConfig(kinds)
