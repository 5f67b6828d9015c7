"""Lists of modules in quantised checkpoints: plain names, wildcards and bounded regular expressions."""

import re
from collections.abc import Sequence

MAX_WILDCARDS = 2_000
MAX_PATTERN_CHARACTERS = 400
# What a pattern may hold beside plain text: nothing that can run away.
_SAFE_REGEX = re.compile(r"^[\w.\-*+\\()|\[\]?^$,:]*$")
_LAYER_NUMBER = re.compile(r"\.\d+(\.|\*|$)")
_WRAPPERS = ("model.language_model.", "language_model.model.", "language_model.", "model.", "backbone.")
_TOPS = ("model.", "model.language_model.", "language_model.model.", "backbone.", "")
MOST_REPEATS = 3


class ModulePatterns:
    """Tells whether a list names a module (path below the model, such as `layers.3.mlp.up_proj`).

    Plain names match exactly, as a prefix of the path, or (without a layer number) as one of its parts; `*` stands for
    anything; `re:` patterns match from the start of the module's full name, as the tools that write them do. Those that
    could run away (a repeated group, more than three repeats inside) are left in `unread`.
    """

    __slots__ = ("anchored", "bodies", "compiled", "exact", "names_layers", "parts", "size", "unread")

    def __init__(self, patterns: Sequence[str]) -> None:
        self.exact: set[str] = set()
        self.parts: set[str] = set()
        self.unread: list[str] = []
        self.bodies: list[str] = []
        self.anchored: list[str] = []
        self.names_layers = any(_LAYER_NUMBER.search(pattern) or r"\d" in pattern for pattern in patterns)
        for pattern in patterns:
            self._add(pattern)
        self.size = len(self.bodies) + len(_TOPS) * len(self.anchored)
        self.compiled: tuple[re.Pattern[str] | None, re.Pattern[str] | None] | None = None

    def _add(self, pattern: str) -> None:
        if pattern.startswith("re:"):
            body = pattern[3:].removeprefix("^")
            free = body.startswith(".*")
            body = body.removeprefix(".*").removesuffix(".*")
            if not _is_safe(body):
                self.unread.append(pattern)
            elif free:
                self.bodies.append(body)
            else:
                self.anchored.append(body)
            if any(part.isdigit() for part in re.split(r"\D", body)):
                self.names_layers = True
            return
        wild = _wildcard(pattern)
        if wild is not None:
            self.bodies.append(wild)
            return
        plain = _strip(pattern)
        self.exact.add(plain)
        if not _LAYER_NUMBER.search(pattern):
            self.parts.add(plain)

    def __call__(self, path: str) -> bool:
        """Whether the list names the module of this path."""
        other = path.replace(".self_attn.", ".attn.").replace(".mlp.", ".ffn.")
        if self._names(path) or (other != path and self._names(other)):
            return True
        if not self.size:
            return False
        if self.compiled is None:
            self.compiled = (_joined(self.bodies), _joined(self.anchored))
        free, anchored = self.compiled
        ways = {path, other}
        if free is not None and any(free.search("." + one) for one in ways):
            return True
        return anchored is not None and any(anchored.match(top + one) for one in ways for top in _TOPS)

    def _names(self, path: str) -> bool:
        pieces = path.split(".")
        if self.exact and any(".".join(pieces[:end]) in self.exact for end in range(1, len(pieces) + 1)):
            return True
        return any(part in pieces or f".{part}." in f".{path}." for part in self.parts)


def _joined(bodies: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{body})" for body in bodies)) if bodies else None


def _is_safe(body: str) -> bool:
    """Whether a regular expression compiles and cannot run away on a short path."""
    repeats = body.count("*") + body.count("+") + body.count("?")
    if not _SAFE_REGEX.match(body) or re.search(r"\)[*+]", body) or "(?" in body or repeats > MOST_REPEATS:
        return False
    try:
        re.compile(body)
    except re.error:
        return False
    return True


def _wildcard(pattern: str) -> str | None:
    """The regular expression of a name with `*`, None for plain names."""
    if "*" not in pattern or pattern.count("*") > MOST_REPEATS:
        return None
    body = ".*".join(re.escape(part) for part in _strip(pattern).strip("*").split("*"))
    start = "" if pattern.startswith("*") else r"^\."
    return f"{start}{body}" + ("" if pattern.endswith("*") else r"(?:\.|$)")


def _strip(name: str) -> str:
    """A module path without the wrappers that differ between releases of one model."""
    for prefix in _WRAPPERS:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name
