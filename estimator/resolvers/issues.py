"""What is wrong with a request, told by field; the API turns issues into `errors[]` of a problem document."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
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
_MAX_NEAR = 5
_LONGEST_COMPARED = 100


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


def near_matches(given: str, known: Iterable[str]) -> tuple[str, ...]:
    """Up to five known names like the given one, best first; spelling of case, space and underscore is forgiven."""
    wanted = given[:_LONGEST_COMPARED].strip().lower().replace("_", "-").replace(" ", "-")
    if not wanted:
        return ()
    names = sorted(known)
    by_key = {name.lower(): name for name in names}
    starts = [name for key, name in by_key.items() if key.startswith(wanted)]
    close = [by_key[key] for key in get_close_matches(wanted, by_key, n=_MAX_NEAR, cutoff=0.5)]
    holds = [name for key, name in by_key.items() if len(wanted) >= 3 and wanted in key]
    return tuple(dict.fromkeys([*starts, *close, *holds]))[:_MAX_NEAR]
