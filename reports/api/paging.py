"""Pages by number with `Link` headers (RFC 8288)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.api.problems import FieldError, InvalidRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which page, and how large."""

    number: int
    size: int

    @property
    def offset(self) -> int:
        """Entries before the page."""
        return (self.number - 1) * self.size


def page_of(request: Request, *, default: int = 50, most: int = 500) -> Page:
    """The page asked for by `page` and `page_size`.

    Raises:
        InvalidRequest: One of them is no number in range.
    """
    number = _number(request, "page", 1, 10**9)
    size = _number(request, "page_size", default, most)
    return Page(number=number, size=size)


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and 1 <= int(text) <= most):
        detail = _("Must be a whole number from 1 to %(most)s.") % {"most": most}
        raise InvalidRequest(errors=[FieldError(code="out_of_range", detail=detail, parameter=name)])
    return int(text)


def paged(request: Request, page: Page, total: int, results: Sequence[Any]) -> Response:
    """One page with its count and links."""
    last = max(1, -(-total // page.size))
    targets: dict[str, int | None] = {
        "first": 1,
        "prev": page.number - 1 if page.number > 1 else None,
        "next": page.number + 1 if page.number < last else None,
        "last": last,
    }
    address: Callable[[int], str] = lambda number: _address(request, number)  # noqa: E731  named for its type
    links = [f'<{address(number)}>; rel="{rel}"' for rel, number in targets.items() if number is not None]
    body = {"count": total, "page": page.number, "page_size": page.size, "results": list(results)}
    return Response(body, headers={"Link": ", ".join(links)})


def _address(request: Request, number: int) -> str:
    query = request.query_params.copy()
    query["page"] = str(number)
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def refuse_repeated(request: Request) -> None:
    """Refuse a parameter given twice: which of them was meant cannot be known.

    Raises:
        InvalidRequest: Naming each of them.
    """
    twice = sorted(name for name, values in request.query_params.lists() if len(values) > 1)
    if twice:
        detail = _("This parameter was given more than once.")
        raise InvalidRequest(errors=[FieldError(code="ambiguous", detail=detail, parameter=name) for name in twice])


def refuse_unknown(request: Request, known: set[str]) -> None:
    """Refuse query parameters that nobody reads: a misspelled filter must not look like an answer.

    Raises:
        InvalidRequest: Naming each of them.
    """
    refuse_repeated(request)
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        detail = _("There is no such parameter; known are %(known)s.") % {"known": ", ".join(sorted(known))}
        raise InvalidRequest(
            errors=[FieldError(code="unknown_field", detail=detail, parameter=name) for name in unknown]
        )
