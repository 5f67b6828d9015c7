"""Who may do what: every endpoint, every role, on one's own, a shared and a foreign report."""

import logging
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, Permission
from django.core import signing
from rest_framework.settings import api_settings
from rest_framework.test import APIClient

from config.access.tokens import issue_token
from reports import clock
from reports.models import ReportShare, ShareLink
from reports.services import sharing
from reports.storage import get_storage
from reports.work import worker

pytestmark = pytest.mark.django_db
URL = "/api/v1/reports/"

READS = ["", "versions/", "versions/1/", "versions/1/rows/", "versions/1/download/?format=csv", "diff/?from=1&to=1"]
OWNER_READS = ["shares/", "versions/1/links/"]
WRITES = [
    ("post", "versions/", {}),
    ("post", "versions/1/cancel/", {}),
    ("post", "versions/1/retry/", {}),
    ("post", "versions/1/recost/", {}),
    ("post", "versions/1/links/", {"format": "csv"}),
    ("post", "shares/", {"user": "carla"}),
    ("put", "schedule/", {"period": "weekly"}),
    ("patch", "", {"name": "x"}),
    ("delete", "schedule/", None),
    ("delete", "", None),
]
# What the owner gets: the state forbids cancelling and retrying a complete version.
OWNER = {"versions/1/cancel/": 409, "versions/1/retry/": 409}


@pytest.fixture
def people(ana, berta, carla, staff, django_user_model):
    group = Group.objects.create(name="finance")
    member = django_user_model.objects.create_user("member", password="x")
    member.groups.add(group)
    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_report", content_type__app_label="reports"))
    return {"owner": ana, "shared": berta, "stranger": carla, "member": member, "staff": staff, "viewer": viewer}


@pytest.fixture
def shared_report(people, make_report):
    version = make_report(people["owner"])
    sharing.share(version.report, by=people["owner"], user="berta", group=None)
    sharing.share(version.report, by=people["owner"], user=None, group="finance")
    return version.report


def call(client, method, url, body):
    answer = getattr(client, method)(url, body) if body is not None else getattr(client, method)(url)
    if answer.streaming:
        b"".join(answer.streaming_content)
    return answer.status_code


def test_the_matrix_of_reading(api, people, shared_report):
    base = f"{URL}{shared_report.pk}/"
    for role, user in {**people, "anonymous": None}.items():
        for path in READS:
            expected = {"stranger": 404, "anonymous": 401}.get(role, 200)
            assert call(api(user), "get", base + path, None) == expected, (role, path)
        for path in OWNER_READS:
            expected = {"owner": 200, "staff": 200, "stranger": 404, "anonymous": 401}.get(role, 403)
            assert call(api(user), "get", base + path, None) == expected, (role, path)
        count = {"stranger": 0}.get(role, 1)
        if user is not None:
            assert api(user).get(URL).json()["count"] == count, role


@pytest.mark.parametrize("role", ["anonymous", "stranger", "shared", "member", "viewer", "owner"])
def test_the_matrix_of_changing(api, people, shared_report, role):
    client = api(people.get(role))
    base = f"{URL}{shared_report.pk}/"
    for method, path, body in WRITES:
        expected = {"anonymous": 401, "stranger": 404}.get(role, 403)
        status = call(client, method, base + path, body)
        if role == "owner":
            assert status == OWNER.get(path, status), path
            assert status < 300 or path in OWNER, (path, status)
        else:
            assert status == expected, (role, path)


def test_open_to_all_is_read_only_for_others(api, people, shared_report):
    base = f"{URL}{shared_report.pk}/"
    assert api(people["owner"]).patch(base, {"visibility": "all"}).status_code == 200
    assert api(people["stranger"]).get(base).status_code == 200
    assert api(people["stranger"]).patch(base, {"name": "x"}).status_code == 403


def test_access_ends_with_the_share(api, people, shared_report):
    base = f"{URL}{shared_report.pk}/"
    for entry in api(people["owner"]).get(base + "shares/").json()["results"]:
        assert api(people["owner"]).delete(f"{base}shares/{entry['id']}/").status_code == 204
    assert ReportShare.objects.count() == 0
    for role in ("shared", "member"):
        assert api(people[role]).get(base).status_code == 404


def test_a_share_for_nobody_is_refused(api, people, shared_report):
    base = f"{URL}{shared_report.pk}/shares/"
    for body in ({"user": "nobody"}, {"group": "nobody"}, {}, {"user": "a", "group": "b"}):
        assert api(people["owner"]).post(base, body).status_code == 400, body


@pytest.fixture
def link(api, people, shared_report):
    answer = api(people["owner"]).post(f"{URL}{shared_report.pk}/versions/1/links/", {"format": "csv"})
    assert answer.status_code == 201
    return answer.json()


def path_of(link):
    return link["url"].removeprefix("http://testserver")


def test_a_link_opens_its_one_file_for_anybody_and_forbids_keeping_it(api, link, shared_report):
    answer = api(None).get(path_of(link))
    assert answer.status_code == 200
    assert b"".join(answer.streaming_content).startswith(b"row_index,model")
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["Cache-Control"] == "private, no-store"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"].startswith("attachment")
    assert ShareLink.objects.get().last_used_at is not None


def test_a_tampered_link_is_404_and_tells_nothing(api, link):
    path = path_of(link)
    for wrong in (path[:-2] + "x/", path.replace(":", ":a"), "/r/abc/", f"/r/{signing.Signer().sign('a' * 32)}/"):
        assert api(None).get(wrong).status_code == 404, wrong


def test_an_ended_link_is_410(api, people, link, shared_report):
    client = api(None)
    ShareLink.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    gone = client.get(path_of(link))
    assert gone.status_code == 410
    assert gone["Cache-Control"] == "private, no-store"
    ShareLink.objects.update(expires_at=clock.now() + timedelta(days=1))
    assert call(client, "get", path_of(link), None) == 200
    revoke = f"{URL}{shared_report.pk}/versions/1/links/{link['id']}/"
    assert api(people["owner"]).delete(revoke).status_code == 204
    assert client.get(path_of(link)).status_code == 410


def test_a_link_dies_with_its_report_and_with_its_makers_access(api, people, link, shared_report, django_user_model):
    client = api(None)
    api(people["owner"]).delete(f"{URL}{shared_report.pk}/")
    assert client.get(path_of(link)).status_code == 410
    api(people["owner"]).patch(f"{URL}{shared_report.pk}/", {"archived": False})
    assert call(client, "get", path_of(link), None) == 200
    django_user_model.objects.filter(username="ana").update(is_active=False)
    assert client.get(path_of(link)).status_code == 410


def test_a_link_of_another_kind_of_file_is_not_opened_by_a_parameter(api, link):
    answer = api(None).get(path_of(link) + "?format=parquet")
    assert answer["Content-Type"].startswith("text/csv")
    b"".join(answer.streaming_content)


def test_a_link_lives_at_most_thirty_days(api, people, shared_report):
    url = f"{URL}{shared_report.pk}/versions/1/links/"
    assert api(people["owner"]).post(url, {"format": "csv", "expires_in_days": 31}).status_code == 400


def test_nothing_of_the_token_reaches_the_log(api, link, caplog, capsys):
    text = path_of(link).split("/")[2]
    with caplog.at_level(logging.DEBUG):
        call(api(None), "get", path_of(link), None)
        api(None).get(path_of(link)[:-3] + "zzz/")
    assert text not in capsys.readouterr().err
    assert "/r/[redacted]" in "".join(_formatted(caplog)) or text not in "".join(_formatted(caplog))


def _formatted(caplog):
    from config.log_format import TextFormatter

    return [TextFormatter().format(record) for record in caplog.records]


def test_links_are_throttled(api, link, settings, monkeypatch):
    from config import request_counts

    request_counts.forget()
    monkeypatch.setitem(api_settings.DEFAULT_THROTTLE_RATES, "share-links", "2/min")
    statuses = [call(api(None), "get", path_of(link), None) for _ in range(4)]
    request_counts.forget()
    assert statuses[:2] == [200, 200]
    assert 429 in statuses


def test_html_by_link_is_a_page_and_its_file_an_attachment_in_a_sandbox(api, people, shared_report):
    url = f"{URL}{shared_report.pk}/versions/1/links/"
    link = api(people["owner"]).post(url, {"format": "html"}).json()
    page = api(None).get(path_of(link))
    assert page.status_code == 200
    assert page["Content-Type"] == "text/html; charset=utf-8"
    assert "Content-Disposition" not in page
    path = f"{path_of(link)}?file"
    assert api(None).get(path).status_code == 202
    worker.run()
    answer = api(None).get(path)
    b"".join(answer.streaming_content)
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["Content-Security-Policy"].startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in answer["Content-Security-Policy"]


def test_the_address_of_a_link_is_told_once_to_whoever_makes_it(api, people, link, shared_report):
    base = f"{URL}{shared_report.pk}/"
    key = path_of(link).strip("/").split("/")[1]
    (listed,) = api(people["owner"]).get(f"{base}versions/1/links/").json()["results"]
    assert listed == {name: value for name, value in link.items() if name != "url"}
    for path in ("", "versions/", "versions/1/", "versions/1/links/", "shares/"):
        assert key not in api(people["owner"]).get(base + path).content.decode()
    assert key not in api(people["owner"]).get(URL).content.decode()


def test_a_token_that_only_reads_makes_no_link(people, shared_report):
    _row, token = issue_token(people["owner"], "reader", scopes=["read"])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    url = f"{URL}{shared_report.pk}/versions/1/links/"
    assert client.get(url).status_code == 200
    assert client.post(url, {"format": "csv"}).status_code == 403


@pytest.mark.parametrize("file_format", ["csv", "html", "parquet"])
def test_a_link_whose_file_cannot_be_made_says_so_as_the_api_does(api, people, shared_report, file_format):
    url = f"{URL}{shared_report.pk}/versions/1/"
    link = api(people["owner"]).post(f"{url}links/", {"format": file_format}).json()
    version = shared_report.versions.get()
    get_storage().path(version.rows_file).write_bytes(b"x" * version.rows_file_bytes)
    client = api(None)
    answer = client.get(path_of(link))
    if answer.status_code == 202:
        worker.run()
        answer = client.get(path_of(link))
    assert answer.status_code == 409
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["Cache-Control"] == "private, no-store"
    by_api = api(people["owner"]).get(f"{url}download/?format={file_format}")
    if by_api.status_code == 202:  # told once; asked again it is ordered anew
        worker.run()
        by_api = api(people["owner"]).get(f"{url}download/?format={file_format}")
    told = ("status", "title", "detail", "state", "code")
    assert [answer.json()[name] for name in told] == [by_api.json()[name] for name in told]
