"""The price desk: all prices of a seller's model on one page, changed together, with what follows shown first."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.generic import TemplateView
from unfold.views import UnfoldModelAdminViewMixin
from unfold.widgets import UnfoldAdminDateWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from catalog.admin.row_versions import change_words, differences, sign, unsign, values_of, who_changed
from catalog.canonical import sha256_of
from catalog.models import ApiPrice
from catalog.price_consequences import consequences
from catalog.price_desk import Line, Said, desk, thing_words
from catalog.price_words import amount_words
from catalog.services.price_steps import (
    Announcement,
    Kind,
    Step,
    StepsRefusedError,
    rows_of,
    save_steps,
    try_steps,
)

_AMOUNT = re.compile(r"\d{1,18}(\.\d{1,12})?")
_TYPED = re.compile(r"(new|do|back)_(\d{1,18})")
_PAGE = 50


class AnnouncementForm(forms.Form):
    """What all prices of the page share: the day, where it was read, and why."""

    day = forms.DateField(
        label=_("From day"),
        widget=UnfoldAdminDateWidget(attrs={"type": "date"}),
        help_text=_("00:00 UTC. Old prices end on that day, new ones begin."),
    )
    source_url = forms.URLField(
        label=_("Source address"), required=False, max_length=500, assume_scheme="https",
        widget=UnfoldAdminTextInputWidget(), help_text=_("The page on which the new prices stand."),
    )  # fmt: skip
    source = forms.CharField(
        label=_("Source"), required=False, max_length=300, widget=UnfoldAdminTextInputWidget(),
        help_text=_("In words: price page, announcement, mail of the seller."),
    )  # fmt: skip
    date_seen = forms.DateField(
        label=_("Read on"), required=False, widget=UnfoldAdminDateWidget(attrs={"type": "date"}),
        help_text=_("The day on which you read it there."),
    )  # fmt: skip
    reason = forms.CharField(
        label=_("Reason"), max_length=300, widget=UnfoldAdminTextInputWidget(),
        help_text=_("Stays in the history of every price."),
    )  # fmt: skip
    leave_gap = forms.BooleanField(
        label=_("Leave the gap"), required=False, widget=UnfoldBooleanWidget(),
        help_text=_("Only where it asks: the days up to the next price are to have no price."),
    )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        """A change names where it was read."""
        cleaned = super().clean() or {}
        if not cleaned.get("source") and not cleaned.get("source_url") and "source_url" not in self.errors:
            self.add_error("source_url", gettext("Give an address or words: a price without a source is not trusted."))
        return cleaned


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row on the page with what was typed at it."""

    said: Said
    thing: str
    new: str
    do: str
    back: bool
    faults: tuple[str, ...]


class PriceDeskView(UnfoldModelAdminViewMixin, TemplateView):
    """First submit shows what follows, the second, of the same words, saves."""

    title: Any = _("Price desk")
    template_name = "catalog/admin/price_desk.html"
    model_admin: Any

    def has_permission(self) -> bool:
        """Who may see prices may look; sending asks for more."""
        may = self.model_admin.has_view_permission(self.request)
        if self.request.method == "POST":
            may = may and self.model_admin.has_change_permission(self.request)
        return bool(may)

    def get(self, request: HttpRequest, slug: str) -> HttpResponse:
        """The desk as it stands; amounts named in the address are filled in."""
        rows = self._rows(slug)
        first = {"day": timezone.now().date(), "date_seen": timezone.now().date()}
        return self._page(slug, rows, AnnouncementForm(initial=first), _typed(request.GET))

    def post(self, request: HttpRequest, slug: str) -> HttpResponse:
        """Show what follows, or save what was shown."""
        with transaction.atomic():
            list(ApiPrice.objects.select_for_update().filter(slug=slug).order_by("pk"))
            rows = self._rows(slug)
            form, typed = AnnouncementForm(request.POST), _typed(request.POST)
            conflict = _changed_since(request.POST.get("rows_seen", ""), rows)
            if conflict:
                return self._page(slug, rows, form, typed, conflict=conflict)
            steps, faults = _steps(typed, rows)
            if not form.is_valid() or faults or not steps:
                return self._page(slug, rows, form, typed, faults=faults, empty=not steps and not faults)
            if any(step.kind is Kind.CHANGE for step in steps) and not self.model_admin.has_add_permission(request):
                raise PermissionDenied
            return self._take(slug, rows, form, typed, steps)

    def _take(
        self, slug: str, rows: list[ApiPrice], form: AnnouncementForm, typed: Mapping[str, str], steps: list[Step]
    ) -> HttpResponse:
        said = Announcement(**form.cleaned_data)
        seal = sha256_of([dict(typed), {name: str(value) for name, value in form.cleaned_data.items()}])
        if "save" in self.request.POST and unsign(self.request.POST.get("shown", "")) == seal:
            try:
                save_steps(slug, steps, said, user=self.request.user)
            except StepsRefusedError as refused:
                return self._page(slug, rows, form, typed, faults=refused.faults)
            count = len(steps)
            text = ngettext("%(n)d price is saved.", "%(n)d prices are saved.", count) % {"n": count}
            messages.success(self.request, text)
            return HttpResponseRedirect(self.request.path)
        tried = try_steps(slug, steps, said, user=self.request.user)
        if tried.faults:
            return self._page(slug, rows, form, typed, faults=tried.faults)
        preview = consequences(tried.before, tried.after, said.day)
        return self._page(slug, rows, form, typed, preview=preview, seal=sign(seal), count=len(steps))

    def _rows(self, slug: str) -> list[ApiPrice]:
        rows = rows_of(slug)
        if not rows:
            raise Http404
        return rows

    def _page(
        self,
        slug: str,
        rows: list[ApiPrice],
        form: AnnouncementForm,
        typed: Mapping[str, str],
        *,
        faults: Mapping[int, Iterable[str]] | None = None,
        **more: Any,
    ) -> HttpResponse:
        provider = rows[0].provider
        self.title = f"{provider.name}, {rows[0].model}"
        things = {row.pk: thing_words(row) for row in rows}

        def entry(said: Said) -> Entry:
            return Entry(
                said=said,
                thing=things[said.id],
                new=typed.get(f"new_{said.id}", ""),
                do=typed.get(f"do_{said.id}", ""),
                back=f"back_{said.id}" in typed,
                faults=tuple((faults or {}).get(said.id, ())),
            )

        places = [
            {"name": place.name, "lines": [_with_entries(line, entry) for line in place.lines]}
            for place in desk(rows, timezone.now().date())
        ]
        context = self.get_context_data(
            **more,
            slug=slug,
            provider=provider,
            model_name=rows[0].model,
            places=places,
            form=form,
            rows_seen=sign({str(row.pk): values_of(row) for row in rows}),
            may_change=self.model_admin.has_change_permission(self.request),
            disputed=sum(1 for row in rows if row.disputes and row.voided_at is None),
            faulty=bool(faults),
            add_url=_add_url(rows[0]),
        )
        return self.render_to_response(context)


def _add_url(row: ApiPrice) -> str:
    address = reverse("admin:catalog_apiprice_add")
    return f"{address}?provider={row.provider_id}&model={row.model}&currency={row.currency}"


def _with_entries(line: Line, entry: Any) -> dict[str, Any]:
    now = [line.now] if line.now else []
    return {
        "line": line,
        "open": [entry(said) for said in (*now, *line.coming)],
        "past": [entry(said) for said in line.past],
    }


def _typed(data: Any) -> dict[str, str]:
    """What was typed at rows, by the name of its field."""
    return {name: data[name].strip() for name in data if _TYPED.fullmatch(name) and data[name].strip()}


def _steps(typed: Mapping[str, str], rows: Iterable[ApiPrice]) -> tuple[list[Step], dict[int, list[str]]]:
    """The steps that were typed, and what of them cannot be read."""
    known = {row.pk for row in rows}
    by_row: dict[int, dict[str, str]] = {}
    for name, text in typed.items():
        kind, _line, number = name.partition("_")
        if int(number) in known:
            by_row.setdefault(int(number), {})[kind] = text
    steps, faults = [], {}
    for row_id, words in by_row.items():
        if "new" in words and "do" in words:
            faults[row_id] = [gettext("A price either gets a new amount, or ends, or is voided: choose one.")]
        elif "new" in words and not _AMOUNT.fullmatch(words["new"]):
            faults[row_id] = [gettext("Give an amount such as 1.50: digits and a point, nothing else.")]
        elif "new" in words:
            steps.append(Step(row_id=row_id, kind=Kind.CHANGE, amount=Decimal(words["new"])))
        elif "back" in words:
            steps.append(Step(row_id=row_id, kind=Kind.RESTORE))
        elif words["do"] in (Kind.END, Kind.VOID):
            steps.append(Step(row_id=row_id, kind=Kind(words["do"])))
        else:
            faults[row_id] = [gettext("Choose to keep, to end, or to void the price.")]
    return steps, faults


def _price_words(row: ApiPrice) -> str:
    return f"{thing_words(row)}, {amount_words(row)}"


def _changed_since(token: str, rows: Iterable[ApiPrice]) -> list[str]:
    """Lines about rows that are not as the page showed them; the page's own token is not to be forged."""
    seen = unsign(token)
    if not isinstance(seen, dict):
        return [gettext("The page does not say which prices it showed: nothing was saved. Look again.")]
    lines = []
    for row in rows:
        before = seen.get(str(row.pk))
        if before is None:
            lines.append(
                gettext("%(who)s opened a price: %(row)s.") % {"who": who_changed(row), "row": _price_words(row)}
            )
        elif found := differences(before, row):
            changes = change_words(found)
            words = {"who": who_changed(row), "row": _price_words(row), "changes": changes}
            lines.append(gettext("%(who)s changed %(row)s (%(changes)s).") % words)
    if lines:
        lines.insert(0, gettext("Prices changed while this page was open: nothing was saved. What you typed is kept."))
    return lines


class PriceDesksView(UnfoldModelAdminViewMixin, TemplateView):
    """Which models have a desk; searched by any part of their names."""

    title: Any = _("Price desk")
    template_name = "catalog/admin/price_desks.html"
    model_admin: Any

    def has_permission(self) -> bool:
        """Who may see prices."""
        return bool(self.model_admin.has_view_permission(self.request))

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """One page of models with the number of their prices."""
        query = self.request.GET.get("q", "").strip()
        rows = ApiPrice.objects.search(query, ("slug", "model", "provider__name")).filter(voided_at__isnull=True)
        found = rows.values("slug", "model", "provider__name").annotate(
            prices=Count("pk"), disputed=Count("pk", filter=~Q(disputes=[]))
        )
        page = Paginator(found.order_by("slug"), _PAGE).get_page(self.request.GET.get("page"))
        return {**super().get_context_data(**context), "query": query, "page": page}
