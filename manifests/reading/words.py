"""Words of a manifest with the line that each stands on, and why a text cannot be read."""

from dataclasses import dataclass


class ManifestError(Exception):
    """The text cannot be read: why, and the line where that was seen (0: none)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class Word:
    """A word, and its line from 1."""

    text: str
    line: int
