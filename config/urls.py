"""Addresses of the whole service."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from config import views
from config.health.views import healthz, readyz, statusz

# Routes of the apps are added here, one line each.
api_v1: list[URLPattern | URLResolver] = [
    path("estimates/", include("estimator.api.urls")),
    path("reports/", include("reports.api.urls")),
    path("models/", include("estimator.api.model_urls")),
    path("", include("receipts.api.urls")),
    path("", include("manifests.api.urls")),
    path("schema/", views.SchemaView.as_view(), name="schema"),
    # Last: its models/<slug>/ would take models/inspect/ for a slug.
    path("", include("catalog.api.urls")),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("pages.urls")),
    path("api/v1/", include(api_v1)),
    path("api/docs/", views.DocsView.as_view(url_name="schema"), name="docs"),
    # Everything else under /api/ is a problem too, also while DEBUG shows pages for other addresses.
    re_path(r"^api/", views.unrouted),
    path("admin/", admin.site.urls),
    path("favicon.ico", views.favicon),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("statusz", statusz, name="statusz"),
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.server_error
