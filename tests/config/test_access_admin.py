"""Tokens in the admin."""

import re

import pytest
from django.urls import reverse

from config.access.models import ApiToken, User
from config.access.tokens import find_token, issue_token

pytestmark = pytest.mark.django_db


def test_a_token_made_in_the_admin_is_shown_once(admin_client):
    user = User.objects.create_user("ana")
    response = admin_client.post(
        reverse("admin:access_apitoken_add"), {"user": user.pk, "name": "ci", "scopes": ["read"]}, follow=True
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
