"""`/reports/`: the reports a person may see, and what waits and runs."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pages.reports.access import for_people
from reports import selectors
from reports.models import Report

PAGE_SIZE = 25
_LONGEST = 100


@require_safe
@for_people
def reports(request: HttpRequest) -> HttpResponse:
    """The list, newest first; narrowed by words of the name and to one's own."""
    search = request.GET.get("q", "").strip()[:_LONGEST]
    mine, archived = bool(request.GET.get("mine")), bool(request.GET.get("archived"))
    query = Report.objects.visible_to(request.user).select_related("owner")
    query = query.filter(archived_at__isnull=not archived)
    for word in search.split():
        query = query.filter(name__icontains=word)
    if mine:
        query = query.filter(owner_id=request.user.pk)
    shown = Paginator(query.order_by("-created_at", "pk"), PAGE_SIZE).get_page(request.GET.get("page"))
    queue = selectors.queue(request.user)
    context: dict[str, Any] = {
        "here": "reports",
        "q": search,
        "mine": mine,
        "archived": archived,
        "page": shown,
        "rows": selectors.report_dicts(list(shown), request.user),
        "queue": queue,
        "moving": bool(queue["mine"]),
    }
    return render(request, "pages/reports.html", context)
