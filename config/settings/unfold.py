"""Settings of the admin's theme."""

from typing import Any

from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Aforo",
    "SITE_HEADER": "Aforo",
    "SITE_SUBHEADER": _("Catalog, reports and access"),
    "SITE_URL": "/api/docs/",
    "SITE_SYMBOL": "speed",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "/static/aforo/favicon.svg"}],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    # No THEME: people choose light, dark or their system's.
    "SIDEBAR": {"show_search": True, "show_all_applications": True, "navigation": "config.sidebar.navigation"},
    "STYLES": [lambda _request: static("catalog/desk.css")],
    "DASHBOARD_CALLBACK": "catalog.admin.review.start_page",
}
