"""`/reports/new/`: a report ordered from a form, by the same checks and service as `POST /api/v1/reports/`."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from rest_framework.settings import api_settings

from estimator.api.parsing import parse_body
from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.resolvers.live import current_facts
from pages.choices import CACHES, WEIGHTS, Choices, choices
from pages.question import ARRIVALS, FormFault
from pages.reports.access import for_people
from pages.reports.form import WORKLOADS, Form, body_of, fault_at, labels, read
from reports.orders import CreateReportRequest, plain
from reports.services import limits, preparing, versions


class _Ordering:
    """What the throttle of orders asks of a view."""

    throttle_scope = "reports-create"


@require_http_methods(["GET", "HEAD", "POST"])
@for_people
def order(request: HttpRequest) -> HttpResponse:
    """The form; a POST orders and leads to the report, or shows every fault beside its field."""
    if request.method != "POST":
        return _page(request, read(request.GET, fresh=True), ())
    form = read(request.POST)
    made, faults = _ordered(request, form)
    if made is None:
        return _page(request, form, faults)
    return redirect(reverse("report-page", args=[made.report_id]))


def _ordered(request: HttpRequest, form: Form) -> tuple[Any, tuple[FormFault, ...]]:
    body, unread = body_of(form)
    try:
        parsed = parse_body(CreateReportRequest, json.dumps(body).encode(), current_facts())
        if unread:
            return None, unread
        _throttle(request)
        limits.check(request.user.pk)
        prepared = preparing.prepare(sweep=plain(parsed.sweep), slo=plain(parsed.slo), pricing=plain(parsed.pricing))
        return versions.create_report(owner=request.user, name=parsed.name, prepared=prepared), ()
    except ResolutionError as error:
        found = [fault_at(issue.path, issue.detail) for issue in error.faults]
        known = {fault.name for fault in unread}
        return None, (*unread, *(fault for fault in found if fault.name not in known))
    except EngineError as error:
        return None, (*unread, fault_at((error.field or "").split("."), str(error)))
    except limits.LimitError as error:
        return None, (*unread, FormFault(name="", text=str(error)))


def _throttle(request: HttpRequest) -> None:
    """Orders share the throttle of the API's."""
    classes: Any = api_settings.DEFAULT_THROTTLE_CLASSES
    for throttle_class in classes:
        throttle = throttle_class()
        if not throttle.allow_request(request, _Ordering()):
            raise limits.InFlightLimitError("rate", _wait(throttle.wait()))


def _wait(seconds: float | None) -> str:
    return _("Too many orders at once; try again in %(s)s seconds.") % {"s": int(seconds or 1) + 1}


def _chosen_first(form: Form, lists: Choices) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """The GPUs by vendor, those that are chosen in a group before them: nobody looks for them in a long list."""
    names = {slug: name for _vendor, gpus in lists.gpus for slug, name in gpus}
    picked = dict.fromkeys(form.lists["gpu"])
    groups = [(_("Chosen"), [(slug, names.get(slug, slug), True) for slug in picked])] if picked else []
    for vendor, gpus in lists.gpus:
        groups.append((vendor, [(slug, name, False) for slug, name in gpus if slug not in picked]))
    return groups


def _engines(form: Form, lists: Choices) -> list[tuple[str, str, bool]]:
    """The engines, those that are chosen first; a bare name means the newest profile."""
    facts = current_facts()
    picked = []
    for given in form.lists["engine"]:
        try:
            picked.append(str(facts.row("engine", given)["slug"]))
        except LookupError:
            continue
    every = [(slug, name, slug in picked) for slug, name in lists.engines]
    return sorted(every, key=lambda one: not one[2])


def _page(request: HttpRequest, form: Form, faults: tuple[FormFault, ...]) -> HttpResponse:
    lists, words = choices(current_facts()), labels()
    wrong: dict[str, str] = {}
    for fault in faults:
        wrong[fault.name] = f"{wrong[fault.name]} {fault.text}" if fault.name in wrong else fault.text
    context = {
        "here": "reports",
        "form": form.texts,
        "chosen": form.lists,
        "gpu_groups": _chosen_first(form, lists),
        "engines": _engines(form, lists),
        "weights": WEIGHTS,
        "caches": CACHES,
        "arrives": form["load"] == ARRIVALS,
        "wrong": wrong,
        "faults": [(words.get(fault.name), fault) for fault in faults],
        "workloads": [
            {
                "n": n,
                **{
                    part: {"name": f"{part}{n}", "value": form[f"{part}{n}"], "wrong": wrong.get(f"{part}{n}")}
                    for part in ("use", "input", "output")
                },
            }
            for n in range(1, WORKLOADS + 1)
        ],
    }
    return render(request, "pages/report_new.html", context, status=400 if faults else 200)
