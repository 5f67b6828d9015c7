"""Prices against public lists: disputes on rows, in the API, in the admin and on the bill; amounts stay."""

import datetime
import json
from decimal import Decimal
from io import StringIO

import orjson
import pytest
from django.core.management import CommandError, call_command

from catalog.importers import public_lists
from catalog.models import ApiPrice, Provider
from catalog.services import cross_check
from catalog.tasks import cross_check_prices
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db
LITELLM, MODEL_PRICES = public_lists.public_lists()
TODAY = datetime.date(2026, 11, 30)


@pytest.fixture
def prices():
    seller = Provider.objects.create(slug="openai", name="OpenAI")

    def make(meter="input", amount="2", **more):
        return ApiPrice.objects.create(
            provider=seller, model="gpt-x", meter=meter, unit="mtok", amount=Decimal(amount), source="s", **more
        )

    return make


def listed(amount, meter="input", *, model="gpt-x", tier=0, channel="standard"):
    return public_lists.ListedPrice("openai", model, channel, meter, tier, Decimal(amount), "https://page")


def disputes_after(row, *prices):
    cross_check.apply(cross_check.compare({"litellm": prices, "model-prices": ()}, today=TODAY))
    row.refresh_from_db()
    return row.disputes


def test_a_litellm_file_is_read_by_channel_tier_and_life():
    text = json.dumps(
        {
            "claude-x": {
                "litellm_provider": "anthropic",
                "input_cost_per_token": 4e-06,
                "input_cost_per_token_batches": 2e-06,
                "input_cost_per_token_above_200k_tokens_priority": 8e-06,
                "cache_creation_input_token_cost": 5e-06,
                "cache_creation_input_token_cost_above_1hr": 8e-06,
                "max_input_tokens": 1000,
                "deprecation_date": "2027-01-02",
                "input_cost_per_image": 9,
                "supports_vision": True,
                "source": "https://page",
            },
            "elsewhere": {"litellm_provider": "nobody", "input_cost_per_token": 1},
            "sample_spec": {"litellm_provider": "one of many"},
        }
    )
    read = public_lists.read_list(LITELLM, text)
    assert {(price.channel, price.meter, price.tier_above_tokens, price.amount) for price in read} == {
        ("standard", "input", 0, Decimal(4)),
        ("batch", "input", 0, Decimal(2)),
        ("priority", "input", 200_000, Decimal(8)),
        ("standard", "cache_write_5m", 0, Decimal(5)),
        ("standard", "cache_write_1h", 0, Decimal(8)),
    }
    assert public_lists.read_models(LITELLM, text) == (
        public_lists.ListedModel("anthropic", "claude-x", 1000, datetime.date(2027, 1, 2), "https://page"),
    )


def test_a_model_prices_file_is_read_at_its_own_day():
    def entry(start, amount, **more):
        return {"start": start, "rates": {"input": amount, "source": "https://page", **more}}

    day = f"{MODEL_PRICES.read_on}T00:00:00Z"
    text = json.dumps(
        {
            "prices": {
                "openai": {
                    "gpt-x": {
                        "standard": [
                            entry(None, 3.0),
                            entry(day, 2.0, tiers=[{"above": 272000, "input": 4.0}]),
                            entry("2999-01-01T00:00:00Z", 1.0),
                        ],
                        "batch": [{"start": None, "rates": None}],
                        "thinking": [entry(None, 9.0)],
                    }
                },
                "nobody": {"m": {"standard": [entry(None, 1.0)]}},
            }
        }
    )
    read = public_lists.read_list(MODEL_PRICES, text)
    assert [(price.seller, price.meter, price.tier_above_tokens, price.amount) for price in read] == [
        ("openai", "input", 0, Decimal(2)),
        ("openai", "input", 272_000, Decimal(4)),
    ]


def test_another_amount_is_kept_beside_the_price_which_stays(prices):
    row = prices()
    assert disputes_after(row, listed("2.5")) == [
        {"list": LITELLM.label, "amount": "2.5", "unit": "mtok", "read_on": "2026-11-30", "source": "https://page"}
    ]
    assert row.amount == 2
    assert row.history.first().history_change_reason.startswith("Compared with litellm")
    assert disputes_after(row, listed("2")) == []  # the list was put right


@pytest.mark.parametrize(
    "stated",
    [
        listed("2.001"),  # a rounding: less than a thousandth
        listed("3", "output"),
        listed("3", tier=1000),
        listed("3", channel="batch"),
        listed("3", model="gpt-y"),
    ],
)
def test_what_is_of_something_else_is_no_dispute(prices, stated):
    assert disputes_after(prices(), stated) == []


def test_a_list_older_than_the_price_says_nothing_of_it(prices):
    row = prices(effective_from=LITELLM.read_on + datetime.timedelta(days=1))
    found = cross_check.compare(
        {"litellm": [listed("3")], "model-prices": ()}, today=TODAY + datetime.timedelta(days=2)
    )
    assert not found.changes
    assert row.disputes == []


def test_a_persons_price_is_left_alone(prices):
    assert disputes_after(prices(edited_by_person=True), listed("3")) == []


def test_a_known_reason_is_no_dispute(prices):
    row = ApiPrice.objects.create(
        provider=Provider.objects.create(slug="deepseek", name="D"), model="deepseek-v4-pro", meter="input",
        unit="mtok", amount=Decimal("0.66"), source="s",
    )  # fmt: skip
    peak = public_lists.ListedPrice("deepseek", "deepseek-v4-pro", "standard", "input", 0, Decimal("1.32"), "")
    found = cross_check.compare({"litellm": [peak], "model-prices": ()}, today=TODAY)
    assert (found.counts[0].explained, found.disputed) == (1, 0)
    assert row.disputes == []


def test_the_shipped_catalog_is_compared_and_every_dispute_has_a_source(client, django_user_model):
    load_shipped_catalog()
    found = cross_check.compare(today=TODAY)
    assert not found.changes  # load_catalog has compared already
    assert [count.agree > 1000 for count in found.counts] == [True, True]
    print(  # noqa: T201  read by people: what the lists agree on
        f"\n{found.prices} prices in force, {found.disputed} disputed; {found.counts}"
    )
    disputed = list(ApiPrice.objects.exclude(disputes=[]))
    assert len(disputed) == found.disputed
    assert 10 < found.disputed < 0.03 * found.prices
    assert all(each["source"].startswith("https://") for row in disputed for each in row.disputes)
    # in the API …
    rows = client.get("/api/v1/api-prices/?disputed=true&model=deepseek-deepseek-chat").json()["results"]
    assert {each["amount"] for row in rows for each in row["disputes"]} == {"0.14", "0.28", "0.0028"}
    assert client.get("/api/v1/api-prices/?disputed=false&model=deepseek-deepseek-chat").json()["count"] > 0
    # … on the bill …
    body = {"api": {"price": "deepseek-deepseek-chat", "on": "2026-07-01", "usage": {"input_tokens": 1000}}}
    answer = client.post("/api/v1/estimates/cost/", orjson.dumps(body), content_type="application/json").json()
    assert f"input is disputed: {MODEL_PRICES.label} has 0.14 USD/mtok." in answer["warnings"]
    # … and in the admin.
    client.force_login(django_user_model.objects.create_superuser("root", password="x"))
    page = client.get("/admin/catalog/apiprice/?disputed=yes&q=deepseek-chat").content.decode()
    assert page.count("deepseek-deepseek-chat") >= 3
    row = ApiPrice.objects.get(slug="deepseek-deepseek-chat", meter="input", amount=Decimal("0.28"))
    shown = client.get(f"/admin/catalog/apiprice/{row.pk}/change/").content.decode()
    assert f"{MODEL_PRICES.label}: <b>0.14</b>/mtok" in shown


def test_the_night_compares_and_finds_nothing_new_twice():
    load_shipped_catalog()
    ApiPrice.objects.filter(slug="openai-gpt-4o", meter="input", channel="standard").update(amount=Decimal(7))
    first, second = cross_check_prices(), cross_check_prices()
    assert (first["changed"], second["changed"]) == (1, 0)
    assert second["disputed"] == first["disputed"]


def test_the_command_reads_a_newer_file_and_writes_nothing_on_a_dry_run(prices, tmp_path):
    row = prices()
    newer = tmp_path / "list.json"
    newer.write_text(json.dumps({"gpt-x": {"litellm_provider": "openai", "input_cost_per_token": 3e-06}}))
    out = StringIO()
    call_command("cross_check_prices", "--dry-run", "-v2", "--read", f"litellm={newer}", stdout=out)
    assert "1 of 1 prices in force are disputed; 1 new." in out.getvalue()
    assert f"{LITELLM.label} has 3" in out.getvalue()
    row.refresh_from_db()
    assert row.disputes == []
    for wrong in (f"nobody={newer}", f"litellm={tmp_path / 'none'}"):
        with pytest.raises(CommandError, match="--read"):
            call_command("cross_check_prices", "--read", wrong, stdout=out)
