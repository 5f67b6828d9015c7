"""Every page, action and inline of the admin × every kind of person; one that is not known here fails."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import RequestFactory
from django.urls import NoReverseMatch, URLPattern, reverse
from django.utils.module_loading import import_string

from config.access.models import User
from tests.config.world import SECRET_NAME, VERBS, fingerprint, rows, signed_in, staff

pytestmark = pytest.mark.django_db

PAGES = {type(page).__module__ + "." + type(page).__name__: page for page in admin.site._registry.values()}
# Kinds of pages every model has, and the permissions that looking and sending need; an empty tuple is for nobody.
VIEW, ADD, CHANGE, DELETE = ("view",), ("add",), ("change",), ("delete",)
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "changelist": (VIEW, VIEW),
    "add": (ADD, ADD),
    "change": (VIEW, CHANGE),
    "delete": (DELETE, DELETE),
    "history": (VIEW, VIEW),
    "simple_history": (VIEW, CHANGE),
    "import": (("add", "change"), ("add", "change")),
    "process_import": (("add", "change"), ("add", "change")),
    "export": (VIEW, VIEW),
    "together": (CHANGE, CHANGE),
    "start_another": (ADD, ADD),
}
# Pages of our own.
OWN = {
    "catalog_engineprofile_make_new_version": (ADD, ADD),
    "catalog_apiprice_desks": (VIEW, VIEW),
    "catalog_apiprice_desk": (VIEW, CHANGE),
    "catalog_languagemodel_open_import": (ADD, ADD),
    "catalog_languagemodel_import_config": (("add", "change"), ("add", "change")),
    "auth_user_password_change": ("superuser", "superuser"),
}
# What nobody does by hand, superusers included, and what only superusers do.
NEVER = {
    "reports_report_add", "reports_report_delete", "catalog_apiprice_delete", "catalog_withdrawal_add",
    "catalog_withdrawal_change", "catalog_leftalone_add", "catalog_leftalone_change", "catalog_leftalone_delete",
    *(f"reports_{model}_{kind}" for model in ("reportversion", "sharelink", "artifact", "reportschedule", "tombstone")
      for kind in ("add", "change", "delete")),
    *(f"receipts_{model}_{kind}" for model in ("prediction", "measurement", "calibration")
      for kind in ("add", "change", "delete")),
}  # fmt: skip
SUPERUSERS = {"auth_group_add", "auth_group_change", "auth_group_delete", "access_user_delete", "access_user_change"}
# Actions and the permission that each asks for.
ACTIONS = {
    "delete_selected": "delete",
    "revoke": {"access.apitoken": "change", "reports.sharelink": "change"},
    "edit_together": "change",
    "end_today": "change",
    "void": "change",
    "archive": "change",
    "cancel": "change",
    "retry": "change",
}
INLINES = {"CheckpointInline": "by permission", "ShareInline": "by permission", "VersionInline": "nobody"}
SITE_PAGES = {
    "index", "login", "logout", "password_change", "password_change_done", "autocomplete", "jsi18n", "view_on_site",
    "search", "app_list", "catalog_review", "catalog_changes", None,
}  # fmt: skip


def pages_of(page: Any) -> list[str]:
    return [pattern.name for pattern in page.get_urls() if isinstance(pattern, URLPattern) and pattern.name]


def label(page: Any) -> str:
    return str(page.model._meta.label_lower)


REPORT_ROWS = ("report", "reportversion", "sharelink", "artifact", "reportschedule", "tombstone")
KEPT_ROWS = ("prediction", "measurement", "calibration")
NAMES = [(page, name) for page in admin.site._registry.values() for name in pages_of(page)]


def needs(page: Any, name: str) -> tuple[Any, Any]:
    """Permissions for looking at a page and for sending its form."""
    if name in OWN:
        return OWN[name]
    kind = name.removeprefix(f"{page.opts.app_label}_{page.opts.model_name}_")
    assert kind in KINDS, f"who may use {name}?"
    return KINDS[kind]


@pytest.fixture
def world(db: None) -> dict[str, Any]:
    return rows()


def test_every_page_action_and_inline_says_who_may_use_it():
    for page, name in NAMES:
        needs(page, name)
    assert {pattern.name for pattern in admin.site.get_urls() if isinstance(pattern, URLPattern)} <= SITE_PAGES
    for page in admin.site._registry.values():
        for function, name, _words in page._get_base_actions():
            assert name in ACTIONS, f"who may use the action {name} of {page}?"
            assert getattr(function, "allowed_permissions", None), f"{name} of {page} asks for no permission"
        assert {inline.__name__ for inline in page.inlines} <= set(INLINES)
        for attribute in ("actions_list", "actions_detail", "actions_row", "actions_submit_line"):
            for name in page._extract_action_names(getattr(page, attribute)):
                assert getattr(getattr(page, name), "allowed_permissions", None), f"{name} of {page}"


def address(page: Any, name: str, row: Any) -> str:
    for arguments in ([], [row.pk], [row.pk, _newest_history(row)]):
        try:
            return reverse(f"admin:{name}", args=arguments)
        except NoReverseMatch:
            continue
    raise AssertionError(f"how is {name} addressed?")


def _newest_history(row: Any) -> Any:
    history = getattr(row, "history", None)
    first = history.first() if history is not None else None
    return first.history_id if first else 1


def inside(answer: Any) -> bool:
    """Whether the page let somebody in; a row one may not see sends to the start page, as if it were not there."""
    if answer.status_code == 302:
        return "/admin/login/" not in answer["Location"] and answer["Location"] != "/admin/"
    assert answer.status_code in (200, 204, 302, 403, 404, 405), answer.content[-2000:]
    return answer.status_code not in (403, 405)


@pytest.mark.parametrize("page", admin.site._registry.values(), ids=label)
def test_a_page_opens_for_those_who_hold_its_permissions_and_for_nobody_else(page, world):
    row = world[label(page)]
    model = page.opts.model_name
    people = {
        "nobody": None,
        "no staff": User.objects.create_user("plain"),
        "staff without permissions": staff("bare"),
        "view-only staff": staff("viewer", "view"),
        "superuser": User.objects.create_superuser("root"),
        **{f"all but {verb}": staff(f"all-but-{verb}", *VERBS, without=(f"{verb}_{model}",)) for verb in VERBS},
    }
    clients = {who: signed_in(person) for who, person in people.items()}
    before = fingerprint()
    for name in pages_of(page):
        url = address(page, name, row)
        looking, sending = needs(page, name)
        for who, person in people.items():
            if not (
                who.startswith("all but") and who.removeprefix("all but ") not in _verbs(looking) + _verbs(sending)
            ):
                _look_and_send(clients[who], url, name, _may(person, looking, model, name, "GET"),
                               _may(person, sending, model, name, "POST"), who)  # fmt: skip
        assert fingerprint() == before, f"{url} was changed by looking, or by somebody who may not"


def _look_and_send(client: Any, url: str, name: str, may_look: bool, may_send: bool, who: str) -> None:
    answer = client.get(url)
    # A form's second step takes no other method; a page for people says where to go instead.
    if answer.status_code != 405:
        assert inside(answer) == may_look, (who, "looks at", url)
    if not may_send:
        answer = client.post(url, {"post": "yes", "_form_submitted": "True"})
        # A list takes a form too (its actions); without one it only shows itself.
        assert name.endswith("changelist") or not inside(answer), (who, "sends", url)


def _verbs(needed: Any) -> tuple[str, ...]:
    return () if needed == "superuser" else needed


def _may(person: User | None, needed: Any, model: str, name: str, method: str) -> bool:
    if person is None or not person.is_staff:
        return False
    if name in NEVER and (method == "POST" or not name.endswith("_change")):
        return False
    if person.is_superuser:
        return True
    if needed == "superuser" or (name in SUPERUSERS and (method == "POST" or not name.endswith("_change"))):
        return False
    if model == "user" and name.endswith("_add"):
        needed = ("add", "change")
    held = {permission.split(".")[1] for permission in person.get_all_permissions()}
    if model == "apitoken" and name.split("_")[-1] in ("change", "delete", "history"):
        # The token is somebody else's.
        return False
    if model in KEPT_ROWS and f"view_{model}" not in held and name.split("_")[-1] in ("change", "history"):
        return False
    if model in REPORT_ROWS and "view_report" not in held and name.split("_")[-1] in ("change", "history"):
        return False
    if needed == VIEW:
        return bool(held & {f"view_{model}", f"change_{model}"})
    return {f"{verb}_{model}" for verb in needed} <= held


@pytest.mark.parametrize("page", admin.site._registry.values(), ids=label)
def test_an_action_is_offered_to_and_taken_from_those_with_its_permission_only(page, world):
    row = world[label(page)]
    model = page.opts.model_name
    request = RequestFactory().get("/")
    for _function, action, _words in page._get_base_actions():
        needed = ACTIONS[action]
        verb = needed if isinstance(needed, str) else needed[label(page)]
        without = staff(f"no-{action}", *VERBS, without=(f"{verb}_{model}",))
        for person in (staff(f"view-{action}", "view"), without):
            request.user = person
            assert action not in page.get_actions(request), (action, person)
            before = fingerprint()
            signed_in(person).post(
                reverse(f"admin:{page.opts.app_label}_{model}_changelist"),
                {"action": action, "_selected_action": [row.pk], "post": "yes"},
            )
            assert fingerprint() == before, f"{person} did {action} to {row!r}"


@pytest.mark.parametrize("page", [page for page in admin.site._registry.values() if page.inlines], ids=label)
def test_inlines_are_read_only_for_viewers(page, world):
    request = RequestFactory().get("/")
    for inline in page.inlines:
        shown = inline(page.model, admin.site)
        request.user = staff(f"viewer-{inline.__name__}", "view")
        verbs = (shown.has_add_permission, shown.has_change_permission, shown.has_delete_permission)
        assert not any(may(request, world[label(page)]) for may in verbs), inline
        request.user = User.objects.create_superuser(f"root-{inline.__name__}")
        assert all(may(request, world[label(page)]) for may in verbs) == (INLINES[inline.__name__] != "nobody")


def test_staff_without_the_permission_for_reports_meet_other_peoples_private_ones_nowhere(world):
    """Each page, list, search, action and download, with every permission but reports.view_report."""
    snoop = staff("snoop", *VERBS, without=("view_report",))
    assert Permission.objects.filter(user=snoop, codename="change_report").exists()
    client = signed_in(snoop)
    before = fingerprint()
    for page, name in NAMES:
        if page.opts.app_label != "reports" and label(page) != "access.apitoken":
            continue
        url = address(page, name, world[label(page)])
        for answer in (client.get(url, {"q": "Nightjar"}), client.get(url), client.post(url, {"post": "yes"})):
            assert SECRET_NAME.encode() not in answer.content, url
    for page in admin.site._registry.values():
        if page.opts.app_label != "reports" and label(page) != "access.apitoken":
            continue
        for _function, action, _words in page._get_base_actions():
            listed = reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_changelist")
            client.post(listed, {"action": action, "_selected_action": [world[label(page)].pk], "post": "yes"})
    version = world["reports.reportversion"]
    for path in ("", "versions/", "versions/1/", "versions/1/download/?format=csv", "versions/1/links/", "shares/"):
        assert client.get(f"/api/v1/reports/{version.report_id}/{path}").status_code == 404, path
    for term in ("reports.report", "reports.reportversion"):
        app, model = term.split(".")
        found = client.get(
            "/admin/autocomplete/", {"app_label": app, "model_name": model, "field_name": "report", "term": "N"}
        )
        assert SECRET_NAME.encode() not in found.content
    assert SECRET_NAME.encode() not in client.get("/admin/search/", {"s": "Nightjar", "extended": "1"}).content
    assert fingerprint() == before


def test_the_world_has_a_row_of_every_model_of_the_admin(world):
    assert {label(page) for page in admin.site._registry.values()} <= set(world)
    assert all(import_string(path) is type(page) for path, page in PAGES.items())
