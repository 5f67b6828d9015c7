"""`/receipts/`: what was said and what was measured, public ones alone, with the error by class and month."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pages.access import for_readers
from receipts import selectors

_MOST_LINES = 200


@require_safe
@for_readers
def receipts(request: HttpRequest) -> HttpResponse:
    """Errors by class, figure and month, then the figures themselves, newest first."""
    found = selectors.truth(selectors.public_measurements())
    context = {
        "here": "receipts",
        "classes": found["classes"],
        "lines": found["lines"][:_MOST_LINES],
        "beyond": max(len(found["lines"]) - _MOST_LINES, 0),
    }
    return render(request, "pages/receipts.html", context)
