"""Reports in the admin: state, progress, findings and files to read; frozen data cannot be edited here either."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action, display

from catalog.admin.two_editors import TwoEditors, TwoEditorsInline
from reports import selectors
from reports.choices import FileFormat, State
from reports.models import Artifact, Report, ReportSchedule, ReportShare, ReportVersion, ShareLink, Tombstone
from reports.services import changes, limits, sharing, versions

_STATE_COLOURS = {
    "queued": "info",
    "running": "info",
    "complete": "success",
    "failed": "danger",
    "cancelled": "warning",
}


class _ReadOnly:
    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Nothing is made here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is edited here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is removed here; see the purge command."""
        return False


class _OfVisibleReports:
    """Rows of the reports that a person may see; the rest is as if it were not there."""

    report_path = "report"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without rows of other people's private reports."""
        query: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]  # the page's own
        return query.filter(**{f"{self.report_path}__in": Report.objects.visible_to(request.user)})


class VersionInline(_ReadOnly, TabularInline):
    """Versions of a report."""

    model = ReportVersion
    fk_name = "report"
    fields = ("number", "kind", "state", "total_rows", "created_at", "finished_at", "error")
    readonly_fields = fields
    show_change_link = True
    extra = 0


class ShareInline(TwoEditorsInline, TabularInline):
    """Who may read it."""

    model = ReportShare
    fields = ("user", "group")
    autocomplete_fields = ("user",)
    extra = 0


@admin.register(Report)
class ReportAdmin(TwoEditors, ModelAdmin):
    """Reports: rename, tag, share, archive."""

    list_display = ("name", "owner", "visibility", "version_count", "created_at", "archived_at")
    list_filter = ("visibility", ("archived_at", admin.EmptyFieldListFilter))
    search_fields = ("name", "owner__username", "tags")
    list_select_related = ("owner",)
    readonly_fields = ("id", "owner", "created_at", "archived_at", "last_number")
    fields = ("name", "tags", "visibility", "owner", "created_at", "archived_at", "id")
    inlines = (VersionInline, ShareInline)
    actions = ("archive",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Report]:
        """Those the person may see, with the number of versions."""
        query: QuerySet[Report] = super().get_queryset(request).annotate(versions_made=Count("versions"))
        return query.filter(pk__in=Report.objects.visible_to(request.user).values("pk"))

    @display(description=_("Versions"))
    def version_count(self, report: Any) -> int:
        """How many versions it has."""
        return int(report.versions_made)

    @action(description=_("Archive"), permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet[Report]) -> None:
        """Archive the chosen reports."""
        for report in queryset:
            changes.change_report(report, {"archived": True})

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Reports are ordered through the API."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only the purge command removes."""
        return False


@admin.register(ReportVersion)
class ReportVersionAdmin(_OfVisibleReports, _ReadOnly, ModelAdmin):
    """Versions: where they stand, what they found, their files."""

    list_display = ("report", "number", "kind", "coloured_state", "total_rows", "created_at", "finished_at")
    list_filter = ("state", "kind")
    search_fields = ("report__name", "content_sha256", "error")
    list_select_related = ("report",)
    actions = ("cancel", "retry")
    fields = (
        "report", "number", "kind", "parent", "coloured_state", "progress", "error", "found", "downloads", "created_at",
        "started_at", "finished_at", "estimator_version", "content_sha256", "inputs", "summary",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReportVersion]:
        """Without the snapshots, which are large."""
        query: QuerySet[ReportVersion] = super().get_queryset(request).defer("snapshot")
        return query

    @display(description=_("State"), label=_STATE_COLOURS)
    def coloured_state(self, version: ReportVersion) -> str:
        """The state as a label."""
        return version.state

    @display(description=_("Progress"))
    def progress(self, version: ReportVersion) -> str:
        """Rows done."""
        made = selectors.progress(version)
        return f"{made['done']:,} / {made['total']:,}"

    @display(description=_("Findings"))
    def found(self, version: ReportVersion) -> SafeString:
        """The findings as a list."""
        items = ((finding["text"], finding["row_index"]) for finding in version.findings)
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{} (#{})</li>", items))

    @display(description=_("Downloads"))
    def downloads(self, version: ReportVersion) -> SafeString | str:
        """Links to the files."""
        if version.state != State.COMPLETE:
            return "–"
        address = reverse("download", args=(version.report_id, version.number))
        links = ((address, name, name.upper()) for name in FileFormat.values)
        return format_html_join(" · ", '<a href="{}?format={}">{}</a>', links)

    @action(description=_("Cancel"), permissions=["cancel"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[ReportVersion]) -> None:
        """Stop those that are queued or running."""
        _each(self, request, queryset, versions.cancel)

    @action(description=_("Retry"), permissions=["cancel"])
    def retry(self, request: HttpRequest, queryset: QuerySet[ReportVersion]) -> None:
        """Queue failed ones again."""
        _each(self, request, queryset, versions.retry)

    def has_cancel_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Whoever may change versions."""
        return request.user.has_perm("reports.change_reportversion")


def _each(page: Any, request: HttpRequest, queryset: QuerySet[ReportVersion], change: Any) -> None:
    for version in queryset:
        try:
            change(version)
        except (versions.IllegalChangeError, limits.LimitError) as error:
            page.message_user(request, f"{version}: {error}", level="warning")


@admin.register(ShareLink)
class ShareLinkAdmin(_OfVisibleReports, _ReadOnly, ModelAdmin):
    """Links for people without a login: listed and revoked; the address itself is not shown."""

    report_path = "version__report"

    list_display = ("version", "format", "created_by", "created_at", "expires_at", "revoked_at", "last_used_at")
    list_filter = ("format", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("version__report", "created_by")
    fields = list_display
    actions = ("revoke",)

    @action(description=_("Revoke"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ShareLink]) -> None:
        """End the chosen links."""
        for link in queryset:
            sharing.revoke_link(link)

    def has_revoke_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Whoever may change links."""
        return request.user.has_perm("reports.change_sharelink")


@admin.register(Artifact)
class ArtifactAdmin(_OfVisibleReports, _ReadOnly, ModelAdmin):
    """Derived files."""

    report_path = "version__report"

    list_display = ("version", "format", "state", "bytes", "created_at", "last_used_at", "error")
    list_filter = ("state", "format")
    list_select_related = ("version__report",)


@admin.register(ReportSchedule)
class ReportScheduleAdmin(_OfVisibleReports, _ReadOnly, ModelAdmin):
    """Scheduled rebuilds."""

    list_display = ("report", "period", "next_at", "enabled", "last_error")
    list_select_related = ("report",)


@admin.register(Tombstone)
class TombstoneAdmin(_ReadOnly, ModelAdmin):
    """What was purged."""

    list_display = ("report_name", "number", "purged_at", "purged_by", "reason", "content_sha256")
    search_fields = ("report_name", "content_sha256")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tombstone]:
        """For those who may see every report: whose report it was is not known any more."""
        query: QuerySet[Tombstone] = super().get_queryset(request)
        return query if request.user.has_perm("reports.view_report") else query.none()
