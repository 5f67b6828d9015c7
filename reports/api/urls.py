"""Addresses of the reports endpoints."""

from django.urls import path

from reports.api import diff_views, file_views, report_views, version_views

_VERSION = "<uuid:report_id>/versions/<int:number>/"

urlpatterns = [
    path("", report_views.ReportsCollection.as_view(), name="reports"),
    path("queue/", report_views.QueueView.as_view(), name="queue"),
    path("from-estimate/", report_views.ReportFromEstimate.as_view(), name="report-from-estimate"),
    path("document-schema/", file_views.DocumentSchemaView.as_view(), name="document-schema"),
    path("<uuid:report_id>/", report_views.ReportDetail.as_view(), name="report"),
    path("<uuid:report_id>/versions/", version_views.VersionsCollection.as_view(), name="versions"),
    path("<uuid:report_id>/diff/", diff_views.DiffView.as_view(), name="diff"),
    path("<uuid:report_id>/shares/", report_views.SharesCollection.as_view(), name="shares"),
    path("<uuid:report_id>/shares/<int:share_id>/", report_views.ShareDetail.as_view(), name="share"),
    path("<uuid:report_id>/schedule/", report_views.ScheduleDetail.as_view(), name="schedule"),
    path(_VERSION, version_views.VersionDetail.as_view(), name="version"),
    path(_VERSION + "cancel/", version_views.VersionCancel.as_view(), name="cancel"),
    path(_VERSION + "retry/", version_views.VersionRetry.as_view(), name="retry"),
    path(_VERSION + "recost/", version_views.VersionRecost.as_view(), name="recost"),
    path(_VERSION + "decision/", file_views.DecisionView.as_view(), name="decision"),
    path(_VERSION + "rows/", file_views.RowsView.as_view(), name="rows"),
    path(_VERSION + "download/", file_views.DownloadView.as_view(), name="download"),
    path(_VERSION + "links/", version_views.LinksCollection.as_view(), name="links"),
    path(_VERSION + "links/<slug:link_id>/", version_views.LinkDetail.as_view(), name="link"),
]
