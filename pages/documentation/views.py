"""The documentation: its index with search, and its pages."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pages.documentation import library

_MOST_FOUND = 30
_DEEPEST = 3


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The four kinds of pages, and what a search finds in all of them."""
    asked = request.GET.get("q", "").strip()[:200]
    context = {
        "here": "documentation",
        "kinds": library.kinds(),
        "asked": asked,
        "hits": library.search(asked, _MOST_FOUND) if asked else [],
    }
    return render(request, "pages/documentation_index.html", context)


@require_safe
def page(request: HttpRequest, name: str) -> HttpResponse:
    """One page of the documentation."""
    shown = library.page(name)
    if shown is None:
        raise Http404
    sections = [section for section in shown.sections if 1 < section.level <= _DEEPEST]
    address = library.address_of(name)
    context = {
        "here": "documentation",
        "kinds": library.kinds(),
        "shown": shown,
        "sections": sections,
        "address": address,
    }
    return render(request, "pages/documentation_page.html", context)
