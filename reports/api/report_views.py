"""Reports: create, list, read, change, archive, share, schedule."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.api.conditional import require_match, tag_of
from catalog.api.paging import offset, paged
from catalog.api.problems import InvalidRequest, NotFound
from estimator.engine.faults import Fault
from reports import selectors
from reports.api import queries, schemas
from reports.api.base import ReportsView, with_etag
from reports.api.documented import documented
from reports.api.waiting import wait_for, wait_s
from reports.models import Report, ReportVersion
from reports.services import changes, limits, preparing, schedules, sharing, swept, versions
from reports.services.versions import Prepared

RETRY_AFTER_S = "1"


def version_path(report_id: Any, number: int) -> str:
    """Path of a version."""
    return f"/api/v1/reports/{report_id}/versions/{number}/"


def accepted(request: Request, made: dict[str, Any]) -> Response:
    """202 with the address of the version to ask for."""
    path = version_path(made["report"], made["version"])
    address = request.build_absolute_uri(path)
    if wait_s(request):
        version = ReportVersion.objects.only("pk").get(report=made["report"], number=made["version"])
        wait_for(request, "version", version.pk, path)
    body = {"report": made["report"], "version": made["version"], "state": "queued", "url": address}
    return Response(body, status=202, headers={"Location": address, "Retry-After": RETRY_AFTER_S})


@documented
class ReportsCollection(ReportsView):
    """`reports/`."""

    reads_query = True
    orders = True

    def get(self, request: Request) -> Response:
        """Reports one may see: own, shared, open to all."""
        asked = self.query(request, queries.ReportsQuery)
        query = Report.objects.visible_to(request.user).select_related("owner")
        query = query.filter(archived_at__isnull=not asked.archived)
        for word in asked.search.split():
            query = query.filter(name__icontains=word)
        if asked.mine:
            query = query.filter(owner_id=request.user.pk)
        if asked.tag:
            query = query.tagged(asked.tag)
        start = offset(asked)
        shown = list(query.order_by(asked.ordering, "pk")[start : start + asked.page_size])
        return paged(request, asked, query.count(), selectors.report_dicts(shown, request.user))

    def post(self, request: Request) -> Response:
        """Order a report: stored at once, computed by workers."""
        body = self.body(request, schemas.CreateReportRequest)

        def prepare() -> Prepared:
            limits.check(request.user.pk)
            return preparing.prepare(
                sweep=schemas.plain(body.sweep), slo=schemas.plain(body.slo), pricing=schemas.plain(body.pricing)
            )

        def make(prepared: Prepared) -> dict[str, Any]:
            version = versions.create_report(
                owner=request.user, name=body.name, prepared=prepared, tags=list(body.tags)
            )
            return {"report": str(version.report_id), "version": version.number}

        return accepted(request, self.once(request, prepare, make))


@documented
class ReportFromEstimate(ReportsView):
    """`reports/from-estimate/`."""

    orders = True

    def post(self, request: Request) -> Response:
        """Order a report from the body of an estimate: its plan on several GPUs, under loads around its own."""
        body = self.body(request, schemas.ReportFromEstimateRequest)

        def prepare() -> Prepared:
            limits.check(request.user.pk)
            batch_sizes = schemas.plain(body)["batch_sizes"]
            return preparing.prepare(**swept.order_of(body.estimate, gpus=body.gpus, batch_sizes=batch_sizes))

        def make(prepared: Prepared) -> dict[str, Any]:
            version = versions.create_report(
                owner=request.user, name=body.name, prepared=prepared, tags=list(body.tags)
            )
            return {"report": str(version.report_id), "version": version.number}

        return accepted(request, self.once(request, prepare, make))


@documented
class QueueView(ReportsView):
    """`reports/queue/`."""

    def get(self, request: Request) -> Response:
        """What waits and runs: counts of everybody, one's own versions with their place."""
        return Response(selectors.queue(request.user))


@documented
class ReportDetail(ReportsView):
    """`reports/{id}/`."""

    def get(self, request: Request, report_id: UUID) -> HttpResponse | Response:
        """One report with its newest version."""
        shown = self._shown(request, self.report(request, report_id))
        return with_etag(request, tag_of(shown), lambda: shown)

    def patch(self, request: Request, report_id: UUID) -> Response:
        """Rename, tag, open to all, bring back from the archive."""
        self.own(request, report_id)
        body = self.body(request, schemas.ChangeReportRequest)
        shown = self._change(request, report_id, body.model_dump(exclude_unset=True))
        return Response(shown, headers={"ETag": tag_of(shown)})

    def delete(self, request: Request, report_id: UUID) -> Response:
        """Archive; nothing of it is removed."""
        self._change(request, report_id, {"archived": True})
        return Response(status=204)

    def _change(self, request: Request, report_id: UUID, values: dict[str, Any]) -> dict[str, Any]:
        """The report after a change; `If-Match` is held against what stands while nobody else can change it."""
        with transaction.atomic():
            report = self.own(request, report_id, lock=True)
            require_match(request, tag_of(self._shown(request, report)))
            return self._shown(request, changes.change_report(report, values))

    def _shown(self, request: Request, report: Report) -> dict[str, Any]:
        return selectors.report_dicts([report], request.user)[0]


@documented
class SharesCollection(ReportsView):
    """`reports/{id}/shares/`."""

    def get(self, request: Request, report_id: UUID) -> Response:
        """Who may read the report; for its owner."""
        report = self.own(request, report_id)
        return Response({"results": [_share(entry) for entry in report.shares.select_related("user", "group")]})

    def post(self, request: Request, report_id: UUID) -> Response:
        """Give a person or a group read access."""
        report = self.own(request, report_id)
        body = self.body(request, schemas.ShareRequest)
        if (body.user is None) == (body.group is None):
            fault = Fault(code="required", detail=_("Give either user or group."))
            raise InvalidRequest(errors=[fault])
        try:
            entry = sharing.share(report, by=request.user, user=body.user, group=body.group)
        except sharing.UnknownNameError as error:
            name = "user" if body.user is not None else "group"
            raise InvalidRequest(errors=[Fault(code="invalid", detail=str(error), path=(name,))]) from None
        return Response(_share(entry), status=201)


@documented
class ShareDetail(ReportsView):
    """`reports/{id}/shares/{share}/`."""

    def delete(self, request: Request, report_id: UUID, share_id: int) -> Response:
        """Take read access away; links that rest on it end with it."""
        report = self.own(request, report_id)
        if not report.shares.filter(pk=share_id).delete()[0]:
            raise NotFound
        return Response(status=204)


@documented
class ScheduleDetail(ReportsView):
    """`reports/{id}/schedule/`."""

    def get(self, request: Request, report_id: UUID) -> Response:
        """The schedule of a report."""
        return Response(_schedule(self.report(request, report_id)))

    def put(self, request: Request, report_id: UUID) -> Response:
        """Rebuild regularly with the catalog of the day."""
        report = self.own(request, report_id)
        body = self.body(request, schemas.ScheduleRequest)
        schedules.set_schedule(report, period=body.period, enabled=body.enabled)
        return Response(_schedule(report))

    def delete(self, request: Request, report_id: UUID) -> Response:
        """End the schedule."""
        schedules.end_schedule(self.own(request, report_id))
        return Response(status=204)


def _share(entry: Any) -> dict[str, Any]:
    return {
        "id": entry.pk,
        "user": entry.user.get_username() if entry.user else None,
        "group": entry.group.name if entry.group else None,
        "created_at": entry.created_at.isoformat(),
    }


def _schedule(report: Report) -> dict[str, Any]:
    schedule = schedules.schedule_of(report)
    if schedule is None:
        raise NotFound(_("The report has no schedule."))
    return {
        "period": schedule.period,
        "enabled": schedule.enabled,
        "next_at": schedule.next_at.isoformat(),
        "last_error": schedule.last_error or None,
    }
