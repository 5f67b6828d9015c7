"""The review queue and the change log: what needs a person, who changed what, at a cost that rows do not raise."""

import datetime
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.models import ApiPrice, Checkpoint, GpuOffer, LeftAlone, Provider
from catalog.price_rows import PriceKey
from catalog.review import questions
from catalog.services import loading, price_data
from catalog.services.left_alone import note_prices
from catalog.services.people import save_by_person
from catalog.services.prices import open_price
from tests.catalog.factories import GpuFactory, LanguageModelFactory
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db
DISPUTE = {"list": "litellm 1", "amount": "3", "unit": "mtok", "read_on": "2026-11-01", "source": "page"}


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_superuser("ada", password="x" * 12)


@pytest.fixture
def staff(client, ada):
    client.force_login(ada)
    return client


@pytest.fixture
def row():
    seller = Provider.objects.create(slug="acme", name="Acme")
    price = open_price(ApiPrice(provider=seller, model="m", meter="input", unit="mtok", amount=Decimal(2), source="p",
                                date_seen=datetime.date(2020, 1, 1)))  # fmt: skip
    ApiPrice.objects.filter(pk=price.pk).update(disputes=[DISPUTE])
    return price


def test_every_kind_of_question_counts_its_rows_and_leads_to_them(staff, ada, row):
    seller = row.provider
    open_price(ApiPrice(provider=seller, model="n", meter="output", unit="mtok", amount=Decimal(1)))
    bare = LanguageModelFactory()
    complete = LanguageModelFactory()
    Checkpoint.objects.create(model=complete, precision="bf16", stored_weight_bytes=16_060_522_496, source="s")
    GpuFactory(sources={"tdp_w": {"source": "sheet"}}, tdp_w=700)
    for number, day in enumerate((datetime.date(2020, 1, 1), None)):
        GpuOffer.objects.create(
            slug=f"o-{number}", name="o", provider=f"s-{number}", gpu_as_listed="H100", gpu_count=1, market="spot",
            price_per_hour=1, price_per_gpu_hour=1, date_seen=day, source="s",
        )  # fmt: skip
    LeftAlone.objects.create(source="gpus.yaml", kind="gpu", slug="h100", name="h100", reason="edited by a person")
    found = {question.key: question for question in questions(ada)}
    assert {key: question.count for key, question in found.items()} == {
        "disputes": 1, "stale-prices": 1, "undated-prices": 1, "old-offers": 2, "no-checkpoint": 1, "no-source": 2,
        "left-alone": 1, "failed-reports": 0,
    }  # fmt: skip
    assert found["no-checkpoint"].items[0].name == bare.name
    assert "memory_vendor_bytes" in found["no-source"].items[0].matter
    assert "tdp_w" not in found["no-source"].items[0].matter
    assert found["disputes"].items[0].url.endswith(f"?new_{row.pk}=3")
    for question in found.values():
        for url in [question.url, *(item.url for item in question.items)]:
            assert not url or staff.get(url).status_code == 200, url
    assert "9 rows need a person" in staff.get("/admin/").content.decode()


def test_a_price_that_is_kept_asks_no_more_and_only_as_it_was_shown(staff, row):
    page = staff.get("/admin/review/").content.decode()
    seen = page.split('name="rows_seen" value="')[1].split('"')[0]
    ApiPrice.objects.filter(pk=row.pk).update(source="as bo has it")
    late = staff.post("/admin/review/", {"rows_seen": seen}, follow=True)
    assert "changed since the page was opened" in late.content.decode()
    seen = late.content.decode().split('name="rows_seen" value="')[1].split('"')[0]
    assert "1 price is kept" in staff.post("/admin/review/", {"rows_seen": seen}, follow=True).content.decode()
    row.refresh_from_db()
    assert (row.disputes, row.edited_by_person) == ([], True)
    assert staff.post("/admin/review/", {"rows_seen": "forged"}).status_code == 302


def test_a_load_notes_what_it_left_to_people_and_the_next_notes_it_anew(ada):
    load_shipped_catalog(with_genai_prices=False)
    offer = GpuOffer.objects.first()
    offer.notes = "checked"
    save_by_person(offer, user=ada)
    for _ in range(2):
        loading.load([price_data.gpu_offers()])
        note_prices("page", [(PriceKey("acme", "m", "batch", "", "input", 0, ""), "edited by a person")])
    price, row = LeftAlone.objects.order_by("kind")
    assert (row.kind, row.slug, row.reason) == ("gpuoffer", offer.slug, "edited by a person")
    assert (price.name, price.url) == ("acme, m: Input, batch", "/admin/catalog/apiprice/desk/acme-m/")


def test_the_log_says_who_changed_which_field_from_what_to_what(staff, ada, django_user_model):
    bo = django_user_model.objects.create_user("bo", is_staff=True)
    gpu = GpuFactory(name="H300", memory_bandwidth_bytes_per_s=3.35e12)
    other = GpuFactory(name="other")
    gpu.memory_bandwidth_bytes_per_s = 4.8e12
    save_by_person(gpu, user=bo, reason="=new sheet")
    other.notes = "x"
    save_by_person(other, user=ada)
    by_bo = staff.get("/admin/changes/?who=bo").context["entries"]
    (entry,) = by_bo
    assert (entry.who, entry.row, entry.done, entry.reason) == ("bo", "H300", "changed", "=new sheet")
    assert [(change.field, change.old, change.new) for change in entry.changes] == [
        ("memory bandwidth", "3.35 TB/s", "4.8 TB/s")
    ]
    assert [each.row for each in staff.get("/admin/changes/").context["entries"]] == ["other", "H300"]
    assert [each.row for each in staff.get("/admin/changes/?q=h300&kind=gpu").context["entries"]] == ["H300"]
    assert len(staff.get("/admin/changes/?loads=on").context["entries"]) == 4
    assert staff.get(f"/admin/changes/?id={gpu.pk}&kind=gpu").context["page"].paginator.count == 1
    assert staff.get("/admin/changes/?since=2999-01-01").context["entries"] == []
    assert staff.get("/admin/changes/?since=never").status_code == 200
    lines = b"".join(staff.get("/admin/changes/?who=bo&format=csv").streaming_content).decode().splitlines()
    assert lines[1].endswith("bo,GPU,H300,changed,memory bandwidth,3.35 TB/s,4.8 TB/s,'=new sheet")


@pytest.mark.parametrize("path", ["review/", "changes/"])
def test_who_may_see_nothing_of_the_catalog_sees_neither_page(client, django_user_model, path):
    assert client.get(f"/admin/{path}").status_code == 302
    client.force_login(django_user_model.objects.create_user("bare", is_staff=True))
    assert client.get(f"/admin/{path}").status_code == 403


# Recorded at the shipped catalog, with 9,000 prices and more lines of history than that; savepoints of tests count too.
QUERIES = {
    "": 30, "review/": 30, "changes/?loads=on": 9, "changes/?loads=on&page=100": 9, "catalog/apiprice/desk/": 6,
    "catalog/apiprice/desk/google-gemini-2.5-pro/": 5, "catalog/gpu/together/?rows=1,2,3,4,5,6,7,8,9": 9,
    "catalog/apiprice/": 12, "catalog/leftalone/": 10,
}  # fmt: skip


def test_pages_ask_the_database_as_often_with_ten_thousand_rows_as_with_one(staff):
    load_shipped_catalog()
    assert ApiPrice.objects.count() > 8_000
    LeftAlone.objects.bulk_create(
        LeftAlone(source="s", kind="gpu", slug="x", name=f"row {number}", reason="r") for number in range(2000)
    )
    staff.get("/admin/")
    counted = {}
    for path in QUERIES:
        with CaptureQueriesContext(connection) as queries:
            assert staff.get(f"/admin/{path}").status_code == 200, path
        counted[path] = len(queries)
    assert {path: number for path, number in counted.items() if number > QUERIES[path]} == {}
