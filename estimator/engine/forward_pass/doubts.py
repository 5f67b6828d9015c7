"""What no measurement stands behind, in words, each with its kind: the kind says how far it is, and never the words."""

from enum import StrEnum


class DoubtKind(StrEnum):
    """Something of another kernel, link or engine; grouped products of experts; a part that has no measured row."""

    KERNEL = "kernel"
    EXPERTS = "experts"
    PART = "part"


class Doubt(str):
    """The words of a doubt, which answers show, and its kind.

    >>> doubt = Doubt("int4 expert kernels", DoubtKind.EXPERTS)
    >>> doubt == "int4 expert kernels", doubt.kind
    (True, <DoubtKind.EXPERTS: 'experts'>)
    """

    kind: DoubtKind

    def __new__(cls, words: str, kind: DoubtKind = DoubtKind.KERNEL) -> "Doubt":
        """The words with a kind."""
        made = super().__new__(cls, words)
        made.kind = kind
        return made

    def __getnewargs__(self) -> tuple[str, DoubtKind]:  # type: ignore[override]
        """What a copy is made of."""
        return str(self), self.kind
