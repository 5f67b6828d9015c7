"""Versions of a report: rebuild, poll, cancel, retry, price anew, compare, read rows, download, link."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.api.paging import offset, paged
from catalog.api.problems import Conflict, NotFound
from catalog.api.query import PageQuery
from estimator.question.fields import RequestBody
from reports import selectors
from reports.api import schemas
from reports.api.base import ReportsView, refusal, with_etag
from reports.api.documented import documented
from reports.api.report_views import RETRY_AFTER_S, accepted
from reports.api.waiting import wait_for
from reports.choices import State
from reports.errors import ReportError
from reports.models import Report, ReportVersion, ShareLink
from reports.services import limits, preparing, sharing, versions
from reports.services.versions import Prepared
from reports.storage import rows_path


@documented
class VersionsCollection(ReportsView):
    """`reports/{id}/versions/`."""

    reads_query = True
    orders = True

    def get(self, request: Request, report_id: UUID) -> Response:
        """Versions of a report, newest first."""
        report = self.report(request, report_id)
        asked = self.query(request, PageQuery)
        query = selectors.versions_of(report)
        shown = query[offset(asked) : offset(asked) + asked.page_size]
        return paged(request, asked, query.count(), [selectors.summary(version) for version in shown])

    def post(self, request: Request, report_id: UUID) -> Response:
        """Build the next version with today's catalog; parts of the body replace those of the newest version."""
        report = self.own(request, report_id)
        body = self.body(request, schemas.RebuildRequest)

        def prepare() -> Prepared:
            versions.check_order(report)
            latest = report.versions.order_by("-number").first()
            given = {name: schemas.plain(getattr(body, name)) for name in body.model_fields_set}
            given = {name: value for name, value in given.items() if value is not None or name != "sweep"}
            return preparing.prepare_again(latest, given)

        return accepted(request, self.once(request, prepare, lambda prepared: _added(report, request, prepared)))


def _added(report: Report, request: Request, prepared: Prepared) -> dict[str, Any]:
    version = versions.add_version(report=report, created_by=request.user, prepared=prepared)
    return {"report": str(report.pk), "version": version.number}


@documented
class VersionDetail(ReportsView):
    """`reports/{id}/versions/{n}/`."""

    def get(self, request: Request, report_id: UUID, number: int) -> HttpResponse | Response:
        """State and progress; once complete, summary, findings, snapshot and hash. Poll with If-None-Match."""
        version = self.version(self.report(request, report_id), number)
        made = selectors.progress(version)
        active = version.state in (State.QUEUED, State.RUNNING)
        headers = {"Retry_After": RETRY_AFTER_S} if active else {}
        if active:
            wait_for(request, "version", version.pk, request.path)
        etag = selectors.version_etag(version, made)
        return with_etag(request, etag, lambda: selectors.detail(version, made), **headers)


class _Change(ReportsView):
    def change(self, request: Request, version: ReportVersion) -> Response:
        """Make the change and answer with the version."""
        raise NotImplementedError

    def post(self, request: Request, report_id: UUID, number: int) -> Response:
        """Make the change; 409 when the state does not allow it."""
        version = self.version(self.own(request, report_id), number)
        self.body(request, _Nothing)
        try:
            return self.change(request, version)
        except (limits.LimitError, versions.IllegalChangeError) as error:
            raise refusal(error) from None


class _Nothing(RequestBody):
    """No fields."""


@documented
class VersionCancel(_Change):
    """`…/cancel/`."""

    def change(self, request: Request, version: ReportVersion) -> Response:
        """Stop a version that is queued or running."""
        versions.cancel(version)
        version.refresh_from_db()
        return Response(selectors.summary(version))


@documented
class VersionRetry(_Change):
    """`…/retry/`."""

    orders = True

    def change(self, request: Request, version: ReportVersion) -> Response:
        """Queue a failed version again."""
        versions.retry(version)
        return accepted(request, {"report": str(version.report_id), "version": version.number})


@documented
class VersionRecost(ReportsView):
    """`…/recost/`."""

    orders = True

    def post(self, request: Request, report_id: UUID, number: int) -> Response:
        """A new version of the same rows at other prices; the sweep is not run again."""
        report = self.own(request, report_id)
        parent = self.version(report, number)
        body = self.body(request, schemas.RecostRequest)
        if parent.state != State.COMPLETE:
            raise Conflict(_("Only a complete version can be priced anew."), members={"state": parent.state})
        complete_rows(self, request, report_id, number)

        def prepare() -> Prepared:
            versions.check_order(report, parent.total_rows)
            return preparing.prepare_recost(parent, schemas.plain(body.pricing))

        return accepted(request, self.once(request, prepare, lambda prepared: _added(report, request, prepared)))


@documented
class LinksCollection(ReportsView):
    """`…/links/`."""

    def get(self, request: Request, report_id: UUID, number: int) -> Response:
        """Links to a version, without their addresses; for its owner."""
        version = self.version(self.own(request, report_id), number)
        return Response({"results": [link_dict(link) for link in version.links.all()]})

    def post(self, request: Request, report_id: UUID, number: int) -> Response:
        """A link for people without a login: one version, one format, 30 days at most; its address is told once."""
        version = self.version(self.own(request, report_id), number)
        body = self.body(request, schemas.CreateLinkRequest)
        if version.state != State.COMPLETE:
            raise Conflict(_("Only a complete version can be shared."), members={"state": version.state})

        def make(_nothing: None) -> dict[str, Any]:
            link = sharing.create_link(version, by=request.user, file_format=body.format, days=body.expires_in_days)
            return {"link": link.pk}

        made = self.once(request, lambda: None, make)
        link = ShareLink.objects.filter(pk=made["link"]).first()
        if link is None:
            raise NotFound
        address = request.build_absolute_uri(f"/r/{sharing.signed(link)}/")
        return Response(link_dict(link) | {"url": address}, status=201)


@documented
class LinkDetail(ReportsView):
    """`…/links/{link}/`."""

    def delete(self, request: Request, report_id: UUID, number: int, link_id: str) -> Response:
        """Revoke a link."""
        version = self.version(self.own(request, report_id), number)
        link = version.links.filter(pk=link_id).first()
        if link is None:
            raise NotFound
        sharing.revoke_link(link)
        return Response(status=204)


def link_dict(link: ShareLink) -> dict[str, Any]:
    """A link as its owner sees it in a list; its address is a key, told once to whoever makes it."""
    return {
        "id": link.pk,
        "format": link.format,
        "created_at": link.created_at.isoformat(),
        "expires_at": link.expires_at.isoformat(),
        "revoked_at": link.revoked_at.isoformat() if link.revoked_at else None,
        "last_used_at": link.last_used_at.isoformat() if link.last_used_at else None,
    }


def complete_version(view: ReportsView, request: Request, report_id: UUID, number: int) -> ReportVersion:
    """A complete version one may see.

    Raises:
        Conflict: It is not complete.
    """
    version = view.version(view.report(request, report_id), number)
    if version.state != State.COMPLETE:
        detail = version.error or _("The version is %(state)s.") % {"state": version.get_state_display()}
        raise Conflict(detail, members={"state": version.state})
    return version


def complete_rows(view: ReportsView, request: Request, report_id: UUID, number: int) -> ReportVersion:
    """A complete version one may see whose rows file is there as it was recorded.

    Raises:
        Conflict: It is not complete, or its file went or is damaged.
    """
    version = complete_version(view, request, report_id, number)
    try:
        rows_path(version)
    except ReportError as error:
        raise Conflict(error.text, members={"state": State.FAILED, "code": error.code}) from None
    return version
