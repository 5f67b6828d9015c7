"""The review queue in the admin: what needs a person, with a way to it; the start page says how much there is."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext, ngettext

from catalog.admin.change_log import changes_view
from catalog.admin.row_versions import sign, unsign, values_of
from catalog.models import ApiPrice
from catalog.review import questions
from catalog.selectors import UNDISPUTED
from catalog.services.prices import keep_price


def review_view(request: HttpRequest) -> HttpResponse:
    """The queue, or a person's word that prices of a model stay as they are.

    Raises:
        PermissionDenied: for those who may see no part of the queue, or change no price.
    """
    found = questions(request.user)
    if not found:
        raise PermissionDenied
    if request.method == "POST":
        return _keep(request)
    may_keep = request.user.has_perm("catalog.change_apiprice")
    slugs = [item.keep for question in found for item in question.items if item.keep] if may_keep else []
    context = {
        **admin.site.each_context(request),
        "title": gettext("Review queue"),
        "questions": [
            (question, [(item, seen) for item, seen in _with_tokens(question.items, slugs)]) for question in found
        ],
        "may_keep": may_keep,
    }
    return TemplateResponse(request, "catalog/admin/review.html", context)


def _with_tokens(items: Any, slugs: list[str]) -> Any:
    rows: dict[str, dict[str, Any]] = {slug: {} for slug in slugs}
    kept = {item.keep for item in items} & set(slugs)
    if kept:
        for row in _disputed().filter(slug__in=kept):
            rows[row.slug][str(row.pk)] = values_of(row)
    return [(item, sign(rows[item.keep]) if item.keep in rows else "") for item in items]


def _disputed() -> Any:
    return ApiPrice.objects.filter(voided_at__isnull=True).exclude(UNDISPUTED)


def _keep(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("catalog.change_apiprice"):
        raise PermissionDenied
    seen = unsign(request.POST.get("rows_seen", ""))
    here = HttpResponseRedirect(reverse("admin:catalog_review"))
    with transaction.atomic():
        rows = list(_disputed().select_for_update(of=("self",)).filter(pk__in=[int(number) for number in seen or {}]))
        if not rows or {str(row.pk): values_of(row) for row in rows} != seen:
            text = gettext("These prices changed since the page was opened: nothing was saved. Look at them again.")
            messages.error(request, text)
            return here
        for row in rows:
            keep_price(row, user=request.user, reason=gettext("Kept over what public lists state"))
    count = len(rows)
    messages.success(request, ngettext("%(n)d price is kept.", "%(n)d prices are kept.", count) % {"n": count})
    return here


def start_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The admin's start page: how much waits in the queue."""
    found = [question for question in questions(request.user) if question.count]
    return context | {"review_questions": found, "review_count": sum(question.count for question in found)}


def urls() -> list[Any]:
    """Pages of the admin that belong to no model."""
    return [
        path("review/", admin.site.admin_view(review_view), name="catalog_review"),
        path("changes/", admin.site.admin_view(changes_view), name="catalog_changes"),
    ]


# The theme's site adds what this attribute returns to its addresses.
admin.site.extra_urls = urls  # type: ignore[attr-defined]
