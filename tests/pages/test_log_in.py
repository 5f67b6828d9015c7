"""The log-in of people: whoever has an account, whether or not the admin is for them."""

import pytest
from django.test import Client

from config.access.models import User

pytestmark = pytest.mark.django_db


def sent(address, password, following="/reports/new/"):
    return Client().post(address, {"username": "maria", "password": password, "next": following})


def test_a_person_without_the_admin_gets_to_the_page_that_was_asked_for_and_to_no_other_host():
    User.objects.create_user("maria", password="right")
    asked = Client().get("/reports/new/")
    assert asked["Location"] == "/login/?next=/reports/new/"
    entered = sent("/login/", "right")
    assert entered["Location"] == "/reports/new/"
    assert entered.client.get("/reports/new/").status_code == 200
    assert "/admin/" not in entered.client.get("/reports/").content.decode()
    assert sent("/login/", "right", "https://evil.example/")["Location"] == "/reports/"
    wrong = sent("/login/", "guess").content.decode()
    assert "Name and password do not go together" in wrong
    assert "guess" not in wrong


def test_wrong_passwords_are_counted_at_both_log_ins_together(settings):
    settings.AXES_ENABLED = True
    User.objects.create_user("maria", password="right", is_staff=True)
    for address in ("/login/", "/admin/login/") * 2:
        assert sent(address, "guess").status_code == 200
    assert sent("/login/", "guess").status_code == 429
    assert sent("/login/", "right").status_code == 429
    assert sent("/admin/login/", "right").status_code == 429
