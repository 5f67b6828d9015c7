"""What stands at the side of the admin: the editors' pages first, then each kind of row that the person may see."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

# Models by app, in the order in which people look for them.
_APPS = ("catalog", "reports", "receipts")
_ORDER = {
    "catalog": (
        "gpu", "languagemodel", "engineprofile", "preset", "apiprice", "apimodel", "gpuoffer", "provider",
        "cachepolicy", "pricerule", "pricelist", "withdrawal", "leftalone",
    ),
}  # fmt: skip


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Groups of links; a kind of row that the person may not see is left out."""
    groups = []
    apps = sorted(admin.site.get_app_list(request), key=_place)
    for app in apps:
        order = _ORDER.get(app["app_label"], ())
        found = {each["object_name"].lower(): each for each in app["models"] if each["admin_url"]}
        names = [name for name in order if name in found] + [name for name in found if name not in order]
        items = [{"title": str(found[name]["name"]), "link": found[name]["admin_url"]} for name in names]
        groups.append({"title": str(app["name"]), "separator": True, "items": items})
    if any(app["app_label"] == "catalog" for app in apps):
        groups.insert(0, {"title": _("Work"), "items": _work(request)})
    return groups


def _place(app: dict[str, Any]) -> int:
    return _APPS.index(app["app_label"]) if app["app_label"] in _APPS else len(_APPS)


def _work(request: HttpRequest) -> list[dict[str, Any]]:
    items = [
        {"title": _("Review queue"), "link": reverse("admin:catalog_review")},
        {"title": _("Change log"), "link": reverse("admin:catalog_changes")},
    ]
    if request.user.has_perm("catalog.view_apiprice"):
        items.insert(1, {"title": _("Price desk"), "link": reverse("admin:catalog_apiprice_desks")})
    return items
