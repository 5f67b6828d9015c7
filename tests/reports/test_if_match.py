"""`If-Match` on every endpoint that takes it: a stale tag changes nothing, and of many at once one is accepted."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from rest_framework.test import APIClient

from catalog.models import CachePolicy, Provider
from reports.models import ReportVersion
from reports.services import versions
from tests.catalog.factories import EngineProfileFactory, GpuFactory, LanguageModelFactory, PresetFactory
from tests.published_schema import published
from tests.reports.test_at_once import at_once, prepared


def report() -> str:
    owner = get_user_model().objects.get(username="ada")
    return str(versions.create_report(owner=owner, name="x", prepared=prepared()).report_id)


def provider() -> str:
    return Provider.objects.create(slug="acme", name="Acme").slug


def cache_policy() -> str:
    seller = Provider.objects.create(slug="acme", name="Acme")
    values = {"mode": "automatic_free", "source": "a test", "models_matching": ["m*"]}
    return CachePolicy.objects.create(slug="acme-auto", name="Acme", provider=seller, **values).slug


# Folder of the address → maker of a row, and two changes of it.
ROWS: dict[str, Callable[[], Any]] = {
    "reports": report,
    "gpus": lambda: GpuFactory().slug,
    "models": lambda: LanguageModelFactory().slug,
    "engine-profiles": lambda: EngineProfileFactory().slug,
    "presets": lambda: PresetFactory().slug,
    "providers": provider,
    "cache-policies": cache_policy,
}


def operations() -> list[tuple[str, str]]:
    """Method and folder of every operation that the published schema gives an `If-Match` and that writes a whole row.

    What is done to a price (closed, changed, voided, restored: POST) is held in tests/catalog/test_price_changes.py.
    """
    return [
        (method, path.removeprefix("/api/v1/").split("/")[0])
        for path, operations in published()["paths"].items()
        for method, operation in operations.items()
        if method != "post" and any(parameter["name"] == "If-Match" for parameter in operation.get("parameters", ()))
    ]


OPERATIONS = operations()


@pytest.fixture
def ada(db: None) -> APIClient:
    return client_of(get_user_model().objects.create_superuser("ada", password="x" * 12))


def client_of(user: Any) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def send(client: APIClient, method: str, url: str, body: Any, tag: str | None) -> Any:
    return getattr(client, method)(url, body, **({} if tag is None else {"HTTP_IF_MATCH": tag}))


def changed(method: str, folder: str, read: dict[str, Any], word: str) -> dict[str, Any] | None:
    """A body that changes the row to `word`."""
    field = "name"
    given = read if method == "put" else {}
    return None if method == "delete" else given | {field: f"{folder} {word}"}


def test_every_folder_with_if_match_is_tested() -> None:
    assert {folder for _method, folder in OPERATIONS} == set(ROWS)
    assert len(OPERATIONS) == 3 * len(ROWS) - 1  # a report is not replaced whole


@pytest.mark.parametrize(("method", "folder"), OPERATIONS)
def test_a_tag_that_is_not_the_current_one_changes_nothing(ada: APIClient, method: str, folder: str) -> None:
    url = f"/api/v1/{folder}/{ROWS[folder]()}/"
    first = ada.get(url)
    assert ada.get(url, HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 304
    between = ada.patch(url, {"name": "between"}, HTTP_IF_MATCH=first["ETag"])
    assert between.status_code == 200, between.content
    assert between["ETag"] not in (None, first["ETag"])
    for stale in (first["ETag"], '"x"', f"W/{between['ETag']}", ""):
        refused = send(ada, method, url, changed(method, folder, between.json(), "late"), stale)
        assert refused.status_code == 412, (stale, refused.content)
        assert refused["ETag"] == between["ETag"]
    assert ada.get(url).json() == between.json()
    several = f'"x", {between["ETag"]}'
    done = send(ada, method, url, changed(method, folder, between.json(), "in time"), several)
    assert done.status_code in (200, 204), done.content


def test_the_tag_of_a_report_moves_with_its_newest_version(ada: APIClient) -> None:
    url = f"/api/v1/reports/{report()}/"
    tag = ada.get(url)["ETag"]
    ReportVersion.objects.update(state="cancelled")
    assert ada.get(url, HTTP_IF_NONE_MATCH=tag).json()["latest_version"]["state"] == "cancelled"


@pytest.mark.services
@pytest.mark.parametrize(("method", "folder"), OPERATIONS)
def test_of_twenty_changes_at_once_with_one_tag_one_is_accepted(flushable: None, method: str, folder: str) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL")
    ada = get_user_model().objects.create_superuser("ada", password="x" * 12)
    url = f"/api/v1/{folder}/{ROWS[folder]()}/"
    read = client_of(ada).get(url)

    def call(number: int) -> Callable[[], int]:
        body = changed(method, folder, read.json(), f"number {number}")
        return lambda: send(client_of(ada), method, url, body, read["ETag"]).status_code

    codes = at_once([call(number) for number in range(20)])
    accepted = [code for code in codes if code in (200, 204)]
    assert len(accepted) == 1, codes
    assert set(codes) - {200, 204} <= {412, 404}
