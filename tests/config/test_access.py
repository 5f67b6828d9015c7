"""Who gets in, what it costs, and what a token may do."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone

from catalog.api.permissions import SCOPES
from config.access import kept_tokens
from config.access.demo import ensure_demo
from config.access.models import ApiToken, User
from config.access.tokens import find_token, issue_token, revoke_token

pytestmark = [pytest.mark.urls("tests.config.problem_urls"), pytest.mark.django_db]


@pytest.fixture
def user():
    return User.objects.create_user("ana")


@pytest.fixture
def token(user):
    return issue_token(user, "laptop", scopes=SCOPES)


def get(path, text):
    return Client().get(path, headers={"Authorization": f"Bearer {text}"})


def test_a_token_is_256_random_bits_of_which_only_the_hash_is_kept(token):
    stored, text = token
    assert text.startswith("afo_")
    assert len(text) == 47
    assert len({issue_token(stored.user, "x")[1] for _ in range(50)}) == 50
    stored.refresh_from_db()
    assert text not in str(vars(stored))
    assert len(stored.token_sha256) == 64


def test_a_token_lets_its_user_in_with_one_read_and_then_none_while_it_is_kept(token, django_assert_num_queries):
    assert get("/api/v1/owned/", token[1]).json() == {"user": "ana"}
    # The second use within a minute writes nothing: the token and its user, in one read, is all.
    with django_assert_num_queries(1):
        assert get("/api/v1/owned/", token[1]).status_code == 200
    with django_assert_num_queries(0):
        assert get("/api/v1/owned/", token[1]).json() == {"user": "ana"}


def _by_signal(stored):
    stored.revoked_at = timezone.now()
    stored.save()


def _deactivate(stored):
    user = User.objects.get(pk=stored.user_id)
    user.is_active = False
    user.save()


@pytest.mark.parametrize(
    "end", [revoke_token, _by_signal, _deactivate, ApiToken.delete, lambda stored: User.objects.get().delete()]
)
def test_what_this_process_ends_works_no_more_at_once(token, end):
    stored, text = token
    assert [get("/api/v1/owned/", text).status_code for _ in range(3)] == [200] * 3
    end(stored)
    assert get("/api/v1/owned/", text).status_code == 401


def test_what_another_process_ends_works_for_the_seconds_of_the_setting(token, monkeypatch, settings):
    now_s = [1000.0]
    monkeypatch.setattr(kept_tokens, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    find_token(token[1])
    assert find_token(token[1])
    # Written around everything that this process would notice.
    User.objects.update(is_active=False)
    now_s[0] += settings.AFORO_TOKEN_KEPT_S - 0.1
    assert find_token(token[1])
    now_s[0] += 0.1
    assert find_token(token[1]) is None
    User.objects.update(is_active=True)
    settings.AFORO_TOKEN_KEPT_S = 0
    assert find_token(token[1])
    User.objects.update(is_active=False)
    assert find_token(token[1]) is None


def test_a_token_that_ends_while_it_is_kept_is_no_good(token):
    stored, text = token
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(hours=1), last_used_at=timezone.now())
    found = find_token(text)
    assert found.is_valid_at(timezone.now())
    kept_tokens._kept[stored.token_sha256][1].expires_at = timezone.now()
    assert find_token(text) is None


def test_a_token_that_was_read_before_it_was_revoked_is_not_kept_after(token, monkeypatch):
    stored, text = token
    read = kept_tokens._read

    def slowly(sha256):
        found = read(sha256)
        revoke_token(stored)
        return found

    monkeypatch.setattr(kept_tokens, "_read", slowly)
    assert find_token(text)
    monkeypatch.setattr(kept_tokens, "_read", read)
    assert find_token(text) is None


@pytest.mark.django_db(transaction=True)
def test_a_token_read_while_its_revocation_was_not_yet_committed_is_forgotten_at_the_commit(token):
    stored, text = token
    kept_tokens.token_of(stored.token_sha256)
    old = kept_tokens._kept[stored.token_sha256]
    with transaction.atomic():
        revoke_token(stored)
        # As another thread would, which sees what stood before.
        kept_tokens._kept[stored.token_sha256] = old
    assert find_token(text) is None


def test_nothing_that_a_request_puts_on_its_user_outlives_it(token, user):
    find_token(token[1])
    first = find_token(token[1])
    first.user.is_superuser, first.scopes = True, ["catalog"]
    first.user._perm_cache = {"everything"}
    again = find_token(token[1])
    assert (again.user, again.user.is_superuser, again.scopes) == (user, False, list(SCOPES))
    assert not hasattr(again.user, "_perm_cache")
    again.user.first_name = "Ana"
    again.user.save()
    user.refresh_from_db()
    assert user.first_name == "Ana"


def test_the_time_of_use_is_written_at_most_once_a_minute(token):
    stored, text = token
    assert find_token(text)
    stored.refresh_from_db()
    first = stored.last_used_at
    assert first is not None
    assert find_token(text)
    stored.refresh_from_db()
    assert stored.last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(seconds=61))
    kept_tokens.forget()
    assert find_token(text)
    stored.refresh_from_db()
    assert stored.last_used_at > first - timedelta(seconds=1)


@pytest.mark.parametrize("how", ["revoked", "expired", "inactive", "unknown", "garbled", "empty"])
def test_a_token_that_is_no_good_is_a_401_and_is_kept(token, how):
    stored, text = token
    if how == "revoked":
        assert revoke_token(stored)
        assert not revoke_token(stored)
    elif how == "expired":
        ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif how == "inactive":
        User.objects.update(is_active=False)
    text = {"unknown": "afo_" + "a" * 43, "garbled": text + "é", "empty": ""}.get(how, text)
    response = get("/api/v1/owned/", text)
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="aforo"'
    assert response.json()["type"] == "urn:aforo:problem:authentication-failed"
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize("scheme", ["", "Token ", "token ", "Basic "])
def test_a_token_sent_in_another_way_is_told_how_and_not_taken_for_nobody(token, scheme):
    response = Client().get("/api/v1/gpus/", headers={"Authorization": scheme + token[1]})
    assert response.status_code == 401
    assert "Authorization: Bearer" in response.json()["detail"]


def test_anonymous_people_read_and_estimate_in_development_but_own_nothing(settings):
    settings.AFORO_ALLOW_ANONYMOUS = True
    client = Client()
    assert client.get("/api/v1/fail/http404/").status_code == 404
    assert client.post("/api/v1/echo/", "{}", content_type="application/json").status_code == 400
    assert client.get("/api/v1/owned/").status_code == 401
    assert client.post("/api/v1/owned/", "{}", content_type="application/json").status_code == 401


def test_without_the_switch_anonymous_people_may_do_nothing(settings):
    settings.AFORO_ALLOW_ANONYMOUS = False
    client = Client()
    for path in ("/api/v1/fail/http404/", "/api/v1/owned/", "/api/v1/schema/", "/api/docs/"):
        response = client.get(path)
        assert response.status_code == 401, path
        assert response["Content-Type"] == "application/problem+json"
    assert client.post("/api/v1/echo/", "{}", content_type="application/json").status_code == 401
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("scopes", "owned_get", "owned_post", "echo_post"),
    [
        (SCOPES, 200, 200, 400),
        ([], 403, 403, 403),
        (None, 200, 403, 403),
        (["read"], 200, 403, 403),
        (["estimate"], 403, 403, 400),
        (["reports"], 200, 200, 403),
        (["read", "estimate"], 200, 403, 400),
    ],
)
def test_scopes_limit_what_a_token_may_do(user, scopes, owned_get, owned_post, echo_post):
    text = issue_token(user, "ci", scopes=scopes)[1]
    headers = {"Authorization": f"Bearer {text}"}
    post = {"content_type": "application/json", "headers": headers}
    assert Client().get("/api/v1/owned/", headers=headers).status_code == owned_get
    assert Client().post("/api/v1/owned/", "{}", **post).status_code == owned_post
    assert Client().post("/api/v1/echo/", "{}", **post).status_code == echo_post


def test_a_session_of_the_admin_works_and_its_writes_need_the_csrf_token(user):
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.get("/api/v1/owned/").json() == {"user": "ana"}
    assert client.post("/api/v1/owned/", "{}", content_type="application/json").status_code == 403


def test_create_token_prints_the_token_alone(user, capsys):
    call_command("create_token", "ana", "ci", "--scope", "estimate", "--days", "30")
    found = find_token(capsys.readouterr().out.strip())
    assert found is not None
    assert found.scopes == ["estimate"]
    assert timedelta(days=29) < found.expires_at - timezone.now() <= timedelta(days=30)
    call_command("create_token", "ana", "ci")
    found = find_token(capsys.readouterr().out.strip())
    assert found is not None
    assert found.scopes == ["read"]
    assert timedelta(days=89) < found.expires_at - timezone.now() <= timedelta(days=90)
    with pytest.raises(CommandError, match="nobody"):
        call_command("create_token", "nobody", "ci")
    with pytest.raises(CommandError, match="at least 1"):
        call_command("create_token", "ana", "ci", "--days", "0")


def test_tokens_of_before_name_their_scopes_after_the_upgrade(user, django_db_blocker):
    from importlib import import_module

    from django.apps import apps

    module = import_module("config.access.migrations.0002_scopes_by_name")
    stored = [issue_token(user, "x", scopes=scopes)[0] for scopes in ([], ["estimate"])]
    module.name_all(apps, None)
    assert [ApiToken.objects.get(pk=token.pk).scopes for token in stored] == [list(SCOPES), ["estimate"]]


def test_the_demo_user_keeps_its_token_and_gets_a_new_one_when_it_was_revoked(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    demo = ensure_demo()
    assert Client().login(username="demo", password=demo["password"])
    assert ensure_demo() == demo
    revoke_token(find_token(demo["token"]))
    again = ensure_demo()
    assert again["token"] != demo["token"]
    assert find_token(again["token"])
    (tmp_path / "demo.json").write_text("not json")
    assert ensure_demo()["password"] != demo["password"]


def test_there_is_no_demo_user_in_production(settings, tmp_path):
    settings.DATA_DIR, settings.AFORO_ENVIRONMENT = tmp_path, "production"
    with pytest.raises(RuntimeError, match="production"):
        ensure_demo()
    assert not User.objects.exists()


def test_an_address_that_goes_on_with_wrong_tokens_is_told_to_wait_and_a_right_one_still_works(token, settings):
    from config import request_counts

    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"invalid-tokens": "3/min"}
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}
    request_counts.forget()
    wrong = "afo_" + "a" * 43
    assert [get("/api/v1/owned/", wrong).status_code for _ in range(3)] == [401] * 3
    refused = get("/api/v1/owned/", wrong)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) >= 1
    assert get("/api/v1/owned/", token[1]).status_code == 200
    other = Client(REMOTE_ADDR="10.0.0.9").get("/api/v1/owned/", headers={"Authorization": f"Bearer {wrong}"})
    assert other.status_code == 401
    request_counts.forget()
