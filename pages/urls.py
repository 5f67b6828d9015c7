"""Addresses of the pages."""

from django.urls import path

from pages import calculator, compare, prices, receipts
from pages.documentation import views as documentation
from pages.log_in import LogIn
from pages.reports import listing, order, report, shared

urlpatterns = [
    path("", calculator.calculator, name="home"),
    path("compare/", compare.compare, name="compare"),
    path("prices/", prices.index, name="prices-index"),
    path("prices/<str:model>/", prices.prices, name="prices"),
    path("reports/", listing.reports, name="reports-page"),
    path("reports/new/", order.order, name="report-new"),
    path("reports/<uuid:report_id>/", report.report, name="report-page"),
    path("reports/<uuid:report_id>/<int:number>/<slug:file_format>/", report.file, name="report-file"),
    path("r/<str:text>/", shared.SharedPage.as_view(), name="share-link"),
    path("login/", LogIn.as_view(), name="log-in"),
    path("receipts/", receipts.receipts, name="receipts-page"),
    path("docs/", documentation.index, name="documentation"),
    path("docs/<path:name>/", documentation.page, name="documentation-page"),
]
