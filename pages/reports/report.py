"""`/reports/<id>/`: a report while it is built and when it is complete, and the way to its files."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from estimator.engine.faults import ResolutionError
from pages.reports.access import for_people, may_change, owned, report_of, version_of
from reports import selectors
from reports.artifacts.html.view import shown
from reports.choices import ACTIVE, FileFormat, State
from reports.errors import ReportError, StoreAwayError
from reports.models import Report, ReportVersion
from reports.services import files, limits, preparing, sharing, versions
from reports.storage import rows_path

MOST_ROWS = 2_000
LINK_DAYS = 7
FORMATS = (FileFormat.HTML, FileFormat.XLSX, FileFormat.CSV, FileFormat.JSON, FileFormat.PARQUET)


@require_http_methods(["GET", "HEAD", "POST"])
@for_people
def report(request: HttpRequest, report_id: UUID) -> HttpResponse:
    """The newest version, or the one asked for; a POST cancels, tries again, orders again or shares."""
    found = report_of(request, report_id)
    version = version_of(found, _number(request))
    if request.method == "POST":
        return _act(request, owned(request, found), version)
    if not request.headers.get("HX-Request"):
        return render(request, "pages/report.html", _context(request, found, version))
    if version.state not in ACTIVE:  # what has ended is another page
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "pages/report_progress.html", _context(request, found, version))


def _number(request: HttpRequest) -> int | None:
    given = request.GET.get("version", "")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 10):
        raise Http404
    return int(given)


def _context(request: HttpRequest, found: Report, version: ReportVersion) -> dict[str, Any]:
    numbers = list(found.versions.order_by("-number").values_list("number", "created_at", "state")[:20])
    context: dict[str, Any] = {
        "here": "reports",
        "report": found,
        "version": version,
        "versions": numbers,
        "newest": numbers[0][0] if numbers else version.number,
        "active": version.state in ACTIVE,
        "may_change": may_change(request, found),
        "formats": [(one.value, one.label) for one in FORMATS],
        "link": request.session.pop(_link_key(version), None) if request.method == "GET" else None,
    }
    if version.state != State.COMPLETE:
        return context | {"progress": selectors.progress(version), "share": _share_done(version)}
    return context | complete(version)


def complete(version: ReportVersion) -> dict[str, Any]:
    """What a complete version shows; where its rows are away, why."""
    try:
        return shown(version, rows_path(version), most_rows=MOST_ROWS) | {"complete": True}
    except ReportError as error:
        return {"damaged": error.text}
    except StoreAwayError as error:
        return {"damaged": str(error)}


def _share_done(version: ReportVersion) -> int:
    """Percent of the rows that are computed."""
    made = selectors.progress(version)
    return int(100 * made["done"] / made["total"]) if made["total"] else 0


def _link_key(version: ReportVersion) -> str:
    return f"share link {version.pk}"


def _act(request: HttpRequest, found: Report, version: ReportVersion) -> HttpResponse:
    """What the buttons ask for; a refusal is said on the page."""
    act = {"cancel": _cancel, "retry": _retry, "again": _again, "share": _share}.get(request.POST.get("act", ""))
    if act is None:
        raise Http404
    address = f"{reverse('report-page', args=[found.pk])}?version={version.number}"
    try:
        return redirect(act(request, found, version) or address)
    except (limits.LimitError, versions.IllegalChangeError) as error:
        messages.error(request, str(error))
    except ResolutionError as error:
        messages.error(request, " ".join(fault.detail for fault in error.faults))
    return redirect(address)


def _cancel(_request: HttpRequest, _found: Report, version: ReportVersion) -> str | None:
    versions.cancel(version)
    return None


def _retry(_request: HttpRequest, _found: Report, version: ReportVersion) -> str | None:
    versions.retry(version)
    return None


def _again(request: HttpRequest, found: Report, version: ReportVersion) -> str | None:
    """The same question with today's catalog."""
    versions.check_order(found)
    versions.add_version(report=found, created_by=request.user, prepared=preparing.prepare_again(version))
    return reverse("report-page", args=[found.pk])


def _share(request: HttpRequest, _found: Report, version: ReportVersion) -> str | None:
    """A link to the page for people without a log-in; its address is told once."""
    if version.state != State.COMPLETE:
        messages.error(request, _("Only a complete version can be shared."))
        return None
    link = sharing.create_link(version, by=request.user, file_format=FileFormat.HTML, days=LINK_DAYS)
    request.session[_link_key(version)] = request.build_absolute_uri(f"/r/{sharing.signed(link)}/")
    return None


@require_safe
@for_people
def file(request: HttpRequest, report_id: UUID, number: int, file_format: str) -> HttpResponse:
    """The way to a file: to its download once it is there, till then a page that asks again."""
    version = version_of(report_of(request, report_id), number)
    if file_format not in FileFormat.values or version.state != State.COMPLETE:
        raise Http404
    found = files.file_of(version, file_format)
    download = reverse("download", args=[report_id, number]) + f"?format={file_format}"
    if found.download is not None:
        return redirect(download)
    return being_made(request, version, found)


def being_made(request: HttpRequest, version: ReportVersion, found: files.FileState) -> HttpResponse:
    """A page in place of a file that is not there: it asks again by itself, or says why there is none."""
    failed = found.state == State.FAILED
    context = {"here": "reports", "report": version.report, "failed": failed, "why": found.error}
    return render(request, "pages/file_wait.html", context, status=409 if failed else 202)
