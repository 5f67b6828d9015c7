"""One change log over all rows of the catalog: who, when, which field from what to what; by person, row and day."""

import csv
import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Field, Model, OuterRef, Q, QuerySet, Subquery, Value
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminDateWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from catalog.admin.row_versions import shown, text_of
from catalog.admin.units import figure_words
from catalog.edits import OURS
from catalog.models import CatalogRecord

_PAGE = 50
_CSV_AT_A_TIME, _CSV_MOST = 500, 20_000
_NAMES = ("slug", "name", "model", "precision", "meter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A field from what to what, in people's units."""

    field: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One write of one row."""

    at: datetime.datetime
    who: str
    kind: str
    row: str
    url: str
    done: str
    reason: str
    changes: tuple[Change, ...]


def kinds() -> dict[str, type[Model]]:
    """Models with a history by name: every row of the catalog."""
    models = apps.get_app_config("catalog").get_models()
    return {str(model._meta.model_name): model for model in models if issubclass(model, CatalogRecord)}


class LogForm(forms.Form):
    """What is asked of the log."""

    kind = forms.ChoiceField(label=_("Kind of row"), required=False, widget=UnfoldAdminSelectWidget())
    q = forms.CharField(
        label=_("Row"), required=False, max_length=200, widget=UnfoldAdminTextInputWidget(),
        help_text=_("Any part of its name."),
    )  # fmt: skip
    who = forms.ChoiceField(label=_("Person"), required=False, widget=UnfoldAdminSelectWidget())
    since = forms.DateField(label=_("From day"), required=False, widget=UnfoldAdminDateWidget(attrs={"type": "date"}))
    until = forms.DateField(label=_("To day"), required=False, widget=UnfoldAdminDateWidget(attrs={"type": "date"}))
    loads = forms.BooleanField(label=_("Loads and imports too"), required=False, widget=UnfoldBooleanWidget())
    id = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, may_see: Mapping[str, type[Model]], **options: Any) -> None:
        super().__init__(*args, **options)
        every = ("", gettext("all"))
        people = get_user_model().objects.filter(is_staff=True).order_by("username").values_list("username", flat=True)
        kind: Any = self.fields["kind"]
        kind.choices = [every, *((name, model._meta.verbose_name_plural) for name, model in may_see.items())]
        who: Any = self.fields["who"]
        who.choices = [every, *((name, name) for name in people)]


def changes_view(request: HttpRequest) -> HttpResponseBase:
    """The log as a page, or with `format=csv` as a file.

    Raises:
        PermissionDenied: for those who may see no row of the catalog.
    """
    may_see = {
        name: model
        for name, model in kinds().items()
        if model in admin.site._registry and admin.site._registry[model].has_view_permission(request)
    }
    if "languagemodel" in may_see:
        may_see["checkpoint"] = kinds()["checkpoint"]
    if not may_see:
        raise PermissionDenied
    form = LogForm(request.GET, may_see=may_see)
    asked = form.cleaned_data if form.is_valid() else None
    written = _written(may_see, asked) if asked is not None else None
    if written is not None and request.GET.get("format") == "csv":
        return _as_csv(written, may_see)
    found: Any = [] if written is None else written
    page: Any = Paginator(found, _PAGE).get_page(request.GET.get("page"))
    kept = request.GET.copy()
    kept.pop("page", None)
    context = {
        **admin.site.each_context(request),
        "title": gettext("Change log"),
        "form": form,
        "page": page,
        "entries": entries(page.object_list, may_see),
        "kept": f"{kept.urlencode()}&" if kept else "",
    }
    return TemplateResponse(request, "catalog/admin/changes.html", context)


def _written(models: Mapping[str, type[Model]], asked: Mapping[str, Any]) -> QuerySet[Any]:
    """Number, kind and time of every write that is asked for, the latest first: one query."""
    parts = []
    for name, model in models.items():
        if asked["kind"] in ("", name):
            history: Any = model.history.model  # type: ignore[attr-defined]  # simple_history's
            rows = history.objects.filter(_condition(history, asked)).order_by()
            parts.append(rows.annotate(of=Value(name)).values_list("history_date", "history_id", "of"))
    first, *rest = parts
    found = first.union(*rest, all=True) if rest else first
    result: QuerySet[Any] = found.order_by("-history_date", "-history_id")
    return result


def _condition(history: Any, asked: Mapping[str, Any]) -> Q:
    names = {field.name for field in history._meta.concrete_fields}
    condition = Q()
    if asked["q"]:
        texts = [Q(**{f"{name}__icontains": asked["q"]}) for name in _NAMES if name in names and name != "model"]
        if history._meta.model_name == "historicalapiprice":
            texts.append(Q(model__icontains=asked["q"]))
        any_of = Q(pk__in=[])
        for text in texts:
            any_of |= text
        condition &= any_of
    if asked["who"]:
        condition &= Q(history_user__username=asked["who"])
    elif not asked["loads"]:
        condition &= Q(history_user__isnull=False)
    if asked["since"]:
        condition &= Q(history_date__date__gte=asked["since"])
    if asked["until"]:
        condition &= Q(history_date__date__lte=asked["until"])
    return condition & Q(id=asked["id"]) if asked["id"] else condition


def entries(found: Iterable[tuple[Any, int, str]], models: Mapping[str, type[Model]]) -> list[Entry]:
    """The writes with their changes; two queries for each kind among them, however many there are."""
    wanted = list(found)
    rows: dict[tuple[str, int], tuple[Any, Any]] = {}
    for name in {kind for _at, _number, kind in wanted}:
        for row, before in _with_before(models[name], [number for _at, number, kind in wanted if kind == name]):
            rows[name, row.history_id] = (row, before)
    return [_entry(models[kind], *rows[kind, number]) for _at, number, kind in wanted if (kind, number) in rows]


def _with_before(model: Any, numbers: list[int]) -> Iterator[tuple[Any, Any]]:
    history = model.history.model
    earlier = history.objects.filter(id=OuterRef("id"), history_id__lt=OuterRef("history_id")).order_by("-history_id")
    rows = history.objects.filter(history_id__in=numbers).select_related("history_user")
    rows = list(rows.annotate(number_before=Subquery(earlier.values("history_id")[:1])))
    before = history.objects.in_bulk([row.number_before for row in rows if row.number_before])
    return ((row, before.get(row.number_before)) for row in rows)


def _entry(model: type[Model], row: Any, before: Any) -> Entry:
    done = {"+": gettext("added"), "~": gettext("changed"), "-": gettext("deleted")}[row.history_type]
    return Entry(
        at=row.history_date,
        who=str(row.history_user) if row.history_user else gettext("a load"),
        kind=str(model._meta.verbose_name),
        row=_name(row),
        url=_url(model, row),
        done=done,
        reason=row.history_change_reason or "",
        changes=tuple(_changes(model, before, row)) if before is not None and row.history_type == "~" else (),
    )


def _url(model: type[Model], row: Any) -> str:
    """The page of the row; rows that are gone and checkpoints have none."""
    if row.history_type == "-" or model not in admin.site._registry:
        return ""
    return reverse(f"admin:catalog_{model._meta.model_name}_change", args=[row.id])


def _name(row: Any) -> str:
    names = {field.name for field in row._meta.concrete_fields}
    if "meter" in names and "channel" in names:
        return f"{row.slug} {row.channel} {row.meter}"
    if "name" in names:
        return str(row.name or row.slug)
    return str(row.precision)


def _changes(model: type[Model], before: Any, after: Any) -> Iterator[Change]:
    for field in model._meta.concrete_fields:
        if field.name in OURS or field.name in ("updated_at", "created_at"):
            continue
        old, new = (_text(field, getattr(row, field.attname)) for row in (before, after))
        if old != new:
            yield Change(field=str(field.verbose_name), old=shown(old), new=shown(new))


def _text(field: "Field[Any, Any]", value: Any) -> str | None:
    if value is not None and (words := figure_words(field.name, value)):
        return words
    return text_of(field, value)


def _as_csv(written: QuerySet[Any], models: Mapping[str, type[Model]]) -> StreamingHttpResponse:
    """The log as a file, a line for each field that changed."""

    class Echo:
        def write(self, line: str) -> str:
            return line

    def lines() -> Iterator[str]:
        writer: Any = csv.writer(Echo())
        yield writer.writerow(["at", "who", "kind", "row", "done", "field", "old", "new", "reason"])
        for start in range(0, _CSV_MOST, _CSV_AT_A_TIME):
            some = list(written[start : start + _CSV_AT_A_TIME])
            for one in entries(some, models):
                for change in one.changes or (Change(field="", old="", new=""),):
                    cells = (one.who, one.kind, one.row, one.done, change.field, change.old, change.new, one.reason)
                    yield writer.writerow([one.at.isoformat(), *map(_plain, cells)])
            if len(some) < _CSV_AT_A_TIME:
                return

    answer = StreamingHttpResponse(lines(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="catalog-changes.csv"'
    return answer


def _plain(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
