"""Tokens in the admin."""

import re

import pytest
from django.contrib.auth.models import Group, Permission
from django.urls import reverse

from config.access.models import ApiToken, User
from config.access.tokens import find_token, issue_token

END = {"expires_at_0": "2999-01-01", "expires_at_1": "00:00:00"}

pytestmark = pytest.mark.django_db


def test_a_token_made_in_the_admin_is_shown_once(admin_client):
    user = User.objects.create_user("ana")
    response = admin_client.post(
        reverse("admin:access_apitoken_add"), {"user": user.pk, "name": "ci", "scopes": ["read"], **END}, follow=True
    )
    assert response.status_code == 200
    text = re.search(r"afo_[A-Za-z0-9_-]{43}", response.content.decode())
    assert text, "the token is not shown"
    found = find_token(text.group())
    assert found is not None
    assert (found.user, found.name, found.scopes) == (user, "ci", ["read"])
    assert ApiToken.objects.count() == 1
    again = admin_client.get(reverse("admin:access_apitoken_changelist"))
    assert text.group() not in again.content.decode()


def test_the_action_revokes(admin_client):
    token, text = issue_token(User.objects.create_user("ana"), "ci")
    url = reverse("admin:access_apitoken_changelist")
    admin_client.post(url, {"action": "revoke", "_selected_action": [token.pk]})
    assert find_token(text) is None
    assert "revoked" in admin_client.get(url).content.decode()


def test_a_token_keeps_its_user_scopes_and_hash_when_it_is_renamed(admin_client):
    token, text = issue_token(User.objects.create_user("ana"), "ci", scopes=["read"])
    other = User.objects.create_user("eva")
    admin_client.post(reverse("admin:access_apitoken_change", args=[token.pk]), {"name": "new", "user": other.pk})
    found = find_token(text)
    assert found is not None
    assert (found.name, found.user.username, found.scopes) == ("new", "ana", ["read"])


@pytest.mark.parametrize("page", ["user_changelist", "user_add", "apitoken_changelist", "apitoken_add"])
def test_the_pages_of_access_open(admin_client, page):
    assert admin_client.get(reverse(f"admin:access_{page}")).status_code == 200
    assert admin_client.get(reverse("admin:auth_group_changelist")).status_code == 200


@pytest.fixture
def staff(client):
    """`staff("access.add_user", …)`: a client of a member of staff with exactly these permissions, and the person."""

    def make(*permissions):
        person = User.objects.create_user("sam", is_staff=True, password="x" * 12)
        for permission in permissions:
            app, codename = permission.split(".")
            person.user_permissions.add(Permission.objects.get(codename=codename, content_type__app_label=app))
        client.force_login(person)
        return client, person

    return make


TOKENS = ["access.add_apitoken", "access.view_apitoken", "access.change_apitoken", "access.view_user"]
USERS = ["access.add_user", "access.view_user", "access.change_user", "access.delete_user"]
GROUPS = ["auth.add_group", "auth.view_group", "auth.change_group", "auth.delete_group"]


def test_staff_make_tokens_for_themselves_only(staff):
    root = User.objects.create_superuser("root", password="x" * 12)
    client, person = staff(*TOKENS)
    url = reverse("admin:access_apitoken_add")
    assert 'name="user"' not in client.get(url).content.decode()
    client.post(url, {"user": root.pk, "name": "ci", "scopes": ["catalog"], **END})
    assert [token.user for token in ApiToken.objects.all()] == [person]


def test_a_token_needs_a_scope_and_an_end_and_the_form_proposes_the_fewest(admin_client):
    url = reverse("admin:access_apitoken_add")
    form = admin_client.get(url).context["adminform"].form
    assert form["scopes"].value() == ["read"]
    assert form["expires_at"].value() is not None
    me = User.objects.get(username="admin").pk
    admin_client.post(url, {"user": me, "name": "ci"})
    admin_client.post(url, {"user": me, "name": "ci", "scopes": ["read"]})
    admin_client.post(url, {"user": me, "name": "ci", **END})
    assert not ApiToken.objects.exists()


def test_staff_neither_see_nor_revoke_tokens_of_others(staff):
    token, text = issue_token(User.objects.create_user("ana"), "secret plan")
    client, _ = staff(*TOKENS)
    url = reverse("admin:access_apitoken_changelist")
    assert "secret plan" not in client.get(url).content.decode()
    client.post(url, {"action": "revoke", "_selected_action": [token.pk]})
    assert find_token(text)


@pytest.mark.parametrize("target", ["sam", "root", "other_staff", "plain"])
def test_no_page_of_users_gives_more_power_than_one_holds(staff, target):
    root = User.objects.create_superuser("root", password="x" * 12)
    other = User.objects.create_user("other_staff", is_staff=True)
    User.objects.create_user("plain")
    powerful = Group.objects.create(name="powerful")
    powerful.permissions.set(Permission.objects.all())
    client, person = staff(*USERS, *GROUPS)
    user = User.objects.get(username=target)
    power = {
        "username": target,
        "is_active": "on",
        "is_staff": "on",
        "is_superuser": "on",
        "groups": [powerful.pk],
        "user_permissions": list(Permission.objects.values_list("pk", flat=True)),
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }
    before = {u.pk: (u.is_staff, u.is_superuser, u.password) for u in User.objects.all()}
    client.post(reverse("admin:access_user_change", args=[user.pk]), power)
    password = {"password1": "a-new-password-9", "password2": "a-new-password-9", "usable_password": "true"}
    assert client.post(reverse("admin:auth_user_password_change", args=[user.pk]), password).status_code == 403
    client.post(reverse("admin:auth_group_change", args=[powerful.pk]), {"name": "mine"})
    client.post(reverse("admin:auth_group_add"), {"name": "mine", "permissions": power["user_permissions"]})
    if target != "plain":
        client.post(reverse("admin:access_user_delete", args=[user.pk]), {"post": "yes"})
        listed = reverse("admin:access_user_changelist")
        client.post(listed, {"action": "delete_selected", "_selected_action": [user.pk], "post": "yes"})
    assert {u.pk: (u.is_staff, u.is_superuser, u.password) for u in User.objects.all()} == before
    assert not any(u.groups.exists() for u in User.objects.all())
    assert set(User.objects.filter(user_permissions__isnull=False)) == {person}
    assert not Group.objects.filter(name="mine").exists()
    assert {root, other} <= set(User.objects.all())


def test_staff_who_may_change_users_keep_names_of_people_who_are_no_staff(staff):
    plain = User.objects.create_user("plain")
    client, _ = staff(*USERS)
    page = reverse("admin:access_user_change", args=[plain.pk])
    joined = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", "is_active": "on"}
    client.post(page, {"username": "plain", "first_name": "Paula", **joined})
    assert User.objects.get(pk=plain.pk).first_name == "Paula"
