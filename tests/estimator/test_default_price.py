"""A GPU hour without a stated price costs the same in every estimate and report, and is an offer of the catalog."""

from decimal import Decimal

import orjson
import pytest

from estimator.resolvers.gpu_prices import default_price
from estimator.resolvers.live import current_facts
from reports.services.prices import prices_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]


def offers():
    facts = current_facts()
    return [facts.row("offer", slug) for slug in facts.slugs("offer")]


def priced_gpus():
    facts = current_facts()
    rows = [facts.row("gpu", gpu) for gpu in sorted({offer["gpu"] for offer in offers() if offer["gpu"]})]
    return [row["slug"] for row in rows if row["memory_visible_bytes"] and row.get("devices_per_unit", 1) == 1]


def expected(gpu):
    """Worked out apart: of each seller the newest, of a day the cheapest; sorted, the lower middle."""
    by_seller = {}
    for offer in offers():
        if (offer["gpu"], offer["market"], offer["currency"]) != (gpu, "on-demand", "USD"):
            continue
        key = (offer["date_seen"] or "", -Decimal(offer["price_per_gpu_hour"]))
        best = by_seller.get(offer["provider"])
        if best is None or key > best:
            by_seller[offer["provider"]] = key
    asked = sorted(-price for _date, price in by_seller.values())
    return asked[(len(asked) - 1) // 2] if asked else None


def ask(client, slug, body):
    response = client.post(f"/api/v1/estimates/{slug}/", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


def test_every_gpu_has_one_price_everywhere(client):
    gpus = priced_gpus()
    assert len(gpus) > 10
    reported = prices_of(gpus, None, current_facts())
    seen = 0
    for gpu in gpus:
        price = default_price(gpu, current_facts())
        assert (price and price.amount) == expected(gpu)
        if price is None:
            assert gpu not in reported
            continue
        seen += 1
        assert Decimal(reported[gpu]["price_per_gpu_hour"]) == price.amount
        assert Decimal(current_facts().row("offer", price.offer)["price_per_gpu_hour"]) == price.amount
        cost = ask(client, "cost", {"self_hosted": {"gpu": gpu, "tokens_per_s_output": 1000}})
        assert Decimal(cost["self_hosted"]["cost_per_hour"]) == price.amount
        assert any(price.source in text for text in cost["assumptions"])
    assert seen > 10
    sizing = ask(
        client,
        "sizing",
        {
            "model": "llama-3.2-1b",
            "workload": {"input_tokens": 100, "output_tokens": 100},
            "demand": {"concurrency": 1},
            "candidates": {"gpus": gpus[:40], "tp": [1]},
        },
    )
    said = {entry["what"].removeprefix("prices."): entry["value"] for entry in sizing["provenance"]}
    assert {gpu: Decimal(value) for gpu, value in said.items() if gpu in reported} == {
        gpu: Decimal(reported[gpu]["price_per_gpu_hour"]) for gpu in gpus[:40] if gpu in reported
    }


def test_each_offer_counted_is_named_with_its_date():
    price = default_price("h100-sxm5-80gb", current_facts())
    named = [offer for offer in offers() if offer["gpu"] == "h100-sxm5-80gb" and offer["market"] == "on-demand"]
    sellers = {offer["provider"] for offer in named}
    for seller in sellers:
        assert price.source.count(f"{seller} ") == 1
    assert price.date
    assert price.date in price.source


def test_nothing_is_converted(client):
    body = {"self_hosted": {"gpu": "h100-sxm5-80gb", "tokens_per_s_output": 1000, "currency": "CHF"}}
    response = client.post("/api/v1/estimates/cost/", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "#/self_hosted/price_per_gpu_hour"
