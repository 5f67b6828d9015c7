"""Pages of a list: numbers in the body, `Link` headers (RFC 8288) for clients that follow them."""

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from rest_framework.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page: its rows, how many rows and pages there are in all."""

    rows: list[Any]
    count: int
    number: int
    size: int
    pages: int

    def body(self, results: list[Any]) -> dict[str, Any]:
        """The body of the answer around the rows as they are shown."""
        return {
            "count": self.count,
            "page": self.number,
            "page_size": self.size,
            "pages": self.pages,
            "results": results,
        }

    def link_header(self, request: Request) -> str:
        """The `Link` header: first, prev, next and last, as far as they exist."""
        targets = {"first": 1, "prev": self.number - 1, "next": self.number + 1, "last": self.pages}
        links = []
        for relation, number in targets.items():
            if 1 <= number <= self.pages:
                query = request.query_params.copy()
                query["page"] = str(number)
                address = request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
                links.append(f'<{address}>; rel="{relation}"')
        return ", ".join(links)


def paginate(rows: QuerySet[Any], *, page: int, page_size: int) -> Page:
    """The page `page` of `rows`; beyond the last it is empty, so that a client that counts up just ends."""
    paginator = Paginator(rows, page_size)
    found = list(paginator.page(page).object_list) if page <= paginator.num_pages else []
    return Page(rows=found, count=paginator.count, number=page, size=page_size, pages=paginator.num_pages)
