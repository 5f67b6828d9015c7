"""Wrong passwords shut the log-in for a while; where it leads afterwards is ours."""

from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.test import Client
from django.utils import timezone

from config.access.models import User

pytestmark = pytest.mark.django_db
LOG_IN = "/admin/login/"


@pytest.fixture(autouse=True)
def counted(settings):
    settings.AXES_ENABLED = True


@pytest.fixture(autouse=True)
def people(db):
    for name in ("ana", "eva"):
        User.objects.create_user(name, password="right", is_staff=True)


def log_in(name="ana", password="wrong", address="10.0.0.1", next_page=None, **headers):  # noqa: S107
    client = Client(REMOTE_ADDR=address, headers=headers)
    query = "" if next_page is None else f"?next={next_page}"
    return client.post(LOG_IN + query, {"username": name, "password": password, "next": next_page or ""})


def failures(count, **who):
    return [log_in(**who).status_code for _ in range(count)]


def test_after_five_wrong_passwords_the_right_one_is_refused_too_and_says_for_how_long():
    assert failures(4) == [200] * 4
    assert log_in().status_code == 429
    refused = log_in(password="right")
    assert refused.status_code == 429
    assert refused["Retry-After"] == "900"
    assert "Try again in 15 minutes" in refused.content.decode()
    assert "_auth_user_id" not in refused.client.session
    # Another person, and the same from elsewhere, are not shut out by it.
    assert log_in("eva", "right").status_code == 302
    assert log_in(password="right", address="10.0.0.2").status_code == 302


def test_a_lock_out_ends_and_is_not_prolonged_by_trying():
    failures(5)
    stored = AccessAttempt.objects.get()
    failures(5)
    assert AccessAttempt.objects.get().attempt_time == stored.attempt_time
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=15, seconds=1))
    assert log_in(password="right").status_code == 302


def test_a_user_guessed_at_from_many_addresses_is_shut_too():
    for number in range(17):
        failures(3, address=f"10.1.0.{number}")
    assert log_in(password="right", address="10.2.0.1").status_code == 429
    assert log_in("eva", "right", address="10.2.0.1").status_code == 302


def test_an_address_that_tries_many_users_is_shut_too():
    for number in range(17):
        failures(3, name=f"user-{number}")
    assert log_in("eva", "right").status_code == 429
    assert log_in("eva", "right", address="10.2.0.1").status_code == 302


def test_success_forgets_earlier_failures():
    failures(4)
    assert log_in(password="right").status_code == 302
    assert failures(4) == [200] * 4


def test_a_forwarded_address_counts_only_behind_a_trusted_proxy(settings):
    forged = [log_in(**{"X-Forwarded-For": f"10.9.0.{number}"}).status_code for number in range(5)]
    assert forged[-1] == 429
    AccessAttempt.objects.all().delete()
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": 1}
    told = [log_in(**{"X-Forwarded-For": f"10.9.0.{number}"}).status_code for number in range(6)]
    assert told == [200] * 6


def test_no_password_is_stored_with_an_attempt():
    log_in(password="hunter2-hunter2")
    assert "hunter2" not in str(AccessAttempt.objects.values())


UNSAFE = [None, "", "https://evil.example/", "//evil.example", "javascript:alert(1)", "http:///evil.example"]


@pytest.mark.parametrize("next_page", UNSAFE)
def test_an_unsafe_or_missing_next_leads_to_the_admin(next_page):
    answer = log_in(password="right", next_page=next_page)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")


def test_a_safe_next_is_followed():
    assert log_in(password="right", next_page="/api/docs/")["Location"] == "/api/docs/"
