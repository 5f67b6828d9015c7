"""Sellers' models over REST: names, windows, life and channels."""

import pytest

from catalog.models import ApiModel
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db
URL = "/api/v1/api-models/"


@pytest.fixture
def get(client, db):
    load_shipped_catalog()

    def ask(path="", status=200):
        answer = client.get(f"{URL}{path}")
        assert answer.status_code == status, answer.content
        return answer.json()

    return ask


def test_a_model_says_its_window_its_life_and_its_channels(get):
    row = get("deepseek-deepseek-chat/")
    assert (row["provider"], row["model"], row["retired_on"]) == ("deepseek", "deepseek-chat", "2026-07-24")
    assert (row["max_input_tokens"], row["channels"]) == (131072, ["standard"])
    sol = get("openai-gpt-6.1-sol/")
    assert sol["channels"][0] == "standard"
    assert {"batch", "flex", "priority", "ultrafast"} <= set(sol["channels"])
    assert sol["max_input_tokens"] == 922_000


def test_a_name_as_the_provider_returns_it_means_the_model(get):
    assert get("claude-haiku-4-5-20251001/")["slug"] == "anthropic-claude-haiku-4-5"
    assert get("openai-gpt-4p/", status=404)["near"]


def test_filters_by_life_and_window(get):
    assert get("?retired=true&provider=deepseek")["count"] == 2
    assert get("?retired=true")["count"] + get("?retired=false")["count"] == ApiModel.objects.count()
    until = get("?retires_until=2026-12-31&page_size=100")["results"]
    assert len(until) > 90
    assert all(row["retired_on"] <= "2026-12-31" for row in until)
    assert get("?deprecated=true")["count"] > 60
    wide = get("?min_context_tokens=1000000&provider=openai&page_size=100")["results"]
    assert wide
    assert all(row["context_window_tokens"] >= 1_000_000 for row in wide)


def test_a_page_is_read_in_few_queries(get, django_assert_max_num_queries):
    with django_assert_max_num_queries(8):
        assert len(get("?page_size=100")["results"]) == 100


def test_models_are_only_read(get, client):
    assert client.post(URL, {}, content_type="application/json").status_code in (401, 403, 405)
