"""Pages by number with `Link` headers (RFC 8288)."""

from collections.abc import Callable, Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from catalog.api.query import PageQuery


def offset(query: PageQuery) -> int:
    """Entries before the page."""
    return (query.page - 1) * query.page_size


def paged(request: Request, query: PageQuery, total: int, results: Sequence[Any]) -> Response:
    """One page with its count and links."""
    last = max(1, -(-total // query.page_size))
    targets: dict[str, int | None] = {
        "first": 1,
        "prev": query.page - 1 if query.page > 1 else None,
        "next": query.page + 1 if query.page < last else None,
        "last": last,
    }
    address: Callable[[int], str] = lambda number: _address(request, number)  # noqa: E731  named for its type
    links = [f'<{address(number)}>; rel="{rel}"' for rel, number in targets.items() if number is not None]
    body = {"count": total, "page": query.page, "page_size": query.page_size, "pages": last, "results": list(results)}
    return Response(body, headers={"Link": ", ".join(links)})


def _address(request: Request, number: int) -> str:
    parameters = request.query_params.copy()
    parameters["page"] = str(number)
    return request.build_absolute_uri(f"{request.path}?{parameters.urlencode()}")
