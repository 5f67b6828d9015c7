"""Lists are written once a revision and question; what is kept never answers another question, nor another day."""

import datetime
import gzip
import random

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from catalog.api.kept_lists import KeptLists, WrittenList
from catalog.api.urls import router
from catalog.models import ApiModel, Gpu
from tests.catalog.factories import GpuFactory

# Lists under a row (rows of one price) have no address of their own.
LISTS = [prefix for prefix, _viewset, _name in router.registry if "(" not in prefix]


def test_a_list_asked_again_reads_the_revision_alone_until_a_row_changes(reader, django_assert_num_queries):
    GpuFactory(slug="a1", notes="old")
    first = reader.get("/api/v1/gpus/")
    with django_assert_num_queries(1):
        again = reader.get("/api/v1/gpus/")
    assert (again.content, again["ETag"], again["Link"]) == (first.content, first["ETag"], first["Link"])
    Gpu.objects.filter(slug="a1").update(notes="new")
    assert reader.get("/api/v1/gpus/").json()["results"][0]["notes"] == "new"


def test_every_list_asked_twice_in_random_order_says_what_it_says_when_nothing_is_kept(shipped, reader, monkeypatch):
    questions = [
        f"/api/v1/{name}/?{query}"
        for name in LISTS
        for query in (
            "",
            "page_size=2",
            "page=2&page_size=2",
            "page_size=2&page=2",
            "search=e",
            "search=a",
            "page=9999",
        )
    ]
    chance = random.Random(3)
    asked = questions * 2
    chance.shuffle(asked)
    answers = [(url, reader.get(url, headers={"Host": chance.choice(("testserver", "localhost"))})) for url in asked]
    monkeypatch.setattr(KeptLists, "of", lambda self, question, write: write())
    alone = {url: reader.get(url) for url in questions}
    for url, answer in answers:
        host = answer.wsgi_request.get_host()
        assert answer.content == alone[url].content, url
        assert answer["Link"].replace(host, "testserver") == alone[url]["Link"], url
    assert len({answer["ETag"] for answer in alone.values()}) == len(questions)


def test_what_is_refused_is_refused_again_and_never_answered_from_what_is_kept(reader):
    GpuFactory()
    assert reader.get("/api/v1/gpus/?page_size=2").status_code == 200
    for _ in range(2):
        assert reader.get("/api/v1/gpus/?page_size=0").status_code == 400
        assert reader.get("/api/v1/gpus/?page_size=0", headers={"If-None-Match": "*"}).status_code == 400


def test_a_list_that_the_day_changes_is_another_one_on_the_next(shipped, reader, monkeypatch):
    model = ApiModel.objects.order_by("slug")[0]
    today = timezone.now()
    model.retired_on = today.date() + datetime.timedelta(days=1)
    model.save()
    url = f"/api/v1/api-models/?retired=true&page_size=500&provider={model.provider.slug}"
    first = reader.get(url)
    assert model.slug not in {row["slug"] for row in first.json()["results"]}
    monkeypatch.setattr(timezone, "now", lambda: today + datetime.timedelta(days=1))
    then = reader.get(url, headers={"If-None-Match": first["ETag"]})
    assert then.status_code == 200
    assert model.slug in {row["slug"] for row in then.json()["results"]}


@pytest.mark.parametrize(
    ("asked", "packed"),
    [
        ("gzip", True), ("br;q=1.0, gzip;q=0.5", True), ("GZIP", True), ("gzip;q=0", False), ("gzip; q=0.000", False),
        ("br", False), ("", False), ("xgzip", False), ("gzip;q=0.001", True),
    ],
)  # fmt: skip
def test_a_list_is_packed_for_whoever_takes_that(reader, asked, packed):
    for _ in range(4):
        GpuFactory()
    plain = reader.get("/api/v1/gpus/")
    answer = reader.get("/api/v1/gpus/", headers={"Accept-Encoding": asked})
    assert answer.get("Content-Encoding") == ("gzip" if packed else None)
    assert (gzip.decompress(answer.content) if packed else answer.content) == plain.content
    assert answer["ETag"] == (f"W/{plain['ETag']}" if packed else plain["ETag"])
    assert "Accept-Encoding" in answer["Vary"]
    assert reader.get("/api/v1/gpus/", headers={"If-None-Match": answer["ETag"]}).status_code == 304


def test_a_short_list_is_not_packed(reader):
    answer = reader.get("/api/v1/gpus/", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer
    assert answer.json()["count"] == 0


def test_lists_are_kept_within_their_bytes_and_those_asked_for_last_stay():
    kept = KeptLists(most_bytes=1000)
    page = WrittenList(content=b"x" * 100, link="")
    assert [kept.of(name, lambda: page) for name in "abcdef"] == [page] * 6
    assert kept._held_bytes == 1000
    other = WrittenList(content=b"y" * 100, link="")
    # a went for f; b, asked for again, outlives c.
    assert kept.of("b", lambda: other) is page
    assert kept.of("a", lambda: other) is other
    assert kept.of("b", lambda: other) is page
    assert kept.of("c", lambda: other) is other
    whole = WrittenList(content=b"z" * 501, link="")
    assert kept.of("z", lambda: whole) is whole
    assert kept.of("z", lambda: other) is other


def test_nobody_who_may_not_read_is_answered_from_what_is_kept(reader, settings):
    GpuFactory()
    assert reader.get("/api/v1/gpus/").status_code == 200
    settings.AFORO_ALLOW_ANONYMOUS = False
    assert APIClient().get("/api/v1/gpus/").status_code == 401
