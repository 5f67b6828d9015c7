"""What is wrong with a request, told by field; the API turns issues into `errors[]` of a problem document."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

IssueCode = Literal[
    "malformed",
    "required",
    "unknown_field",
    "invalid_type",
    "invalid",
    "ambiguous",
    "out_of_range",
    "not_supported",
    "unknown_slug",
]

MAX_ISSUES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One fault: where (path of keys and indices in the body), its code, a sentence, and near matches."""

    path: tuple[str | int, ...]
    code: IssueCode
    detail: str
    near: tuple[str, ...] = ()


class ResolutionError(Exception):
    """The request is well formed, but its parts do not go together or with the catalog; holds every issue found."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        self.issues = tuple(issues)
        super().__init__("; ".join(str(issue.detail) for issue in self.issues))
