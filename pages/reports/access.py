"""Who may see the pages of reports: as the API, nobody without a log-in, and a report one may not see is not there."""

from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse

from pages.access import View, for_readers
from reports.models import Report, ReportVersion


def for_people(view: View) -> View:
    """Pages for people who are signed in, within the rates of the API."""
    inner = for_readers(view)

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        return inner(request, *args, **kwargs)

    return guarded


def report_of(request: HttpRequest, report_id: UUID) -> Report:
    """A report that the person may see.

    Raises:
        Http404: There is none, or not for this person.
    """
    found = Report.objects.visible_to(request.user).select_related("owner").filter(pk=report_id).first()
    if found is None:
        raise Http404
    return found


def may_change(request: HttpRequest, report: Report) -> bool:
    """Whether the person may order, cancel and share."""
    user: Any = request.user
    return report.owner_id == user.pk or bool(user.is_staff and user.has_perm("reports.change_report"))


def owned(request: HttpRequest, report: Report) -> Report:
    """The report, for who may change it.

    Raises:
        PermissionDenied: One may see it and no more.
    """
    if not may_change(request, report):
        raise PermissionDenied
    return report


def version_of(report: Report, number: int | None) -> ReportVersion:
    """A version of a report, the newest when no number is given.

    Raises:
        Http404: There is none.
    """
    query = report.versions.select_related("report", "report__owner", "parent").order_by("-number")
    found = (query if number is None else query.filter(number=number)).first()
    if found is None:
        raise Http404
    return found
