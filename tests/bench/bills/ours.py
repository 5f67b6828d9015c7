"""What Aforo's own endpoint answers for the usages."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import orjson
from django.conf import settings
from django.test import Client


def our_totals(usages: Iterable[Mapping[str, Any]]) -> list[Decimal]:
    """The totals of POST /api/v1/estimates/cost/, in order.

    Raises:
        ValueError: The endpoint refuses a usage; every one has prices.
    """
    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client()
    totals = []
    for each in usages:
        count = dict(each["count"])
        keys = {f"{name}_tokens": number for name, number in count.items() if number and name != "cache_write"}
        if count["cache_write"]:
            keys[f"{each['write_key']}_tokens"] = count["cache_write"]
        body = {
            "api": {
                "price": f"{each['seller']}/{each['model']}",
                "channel": each["channel"],
                "at": each["at"],
                "usage": keys,
            }
        }
        answer = client.post("/api/v1/estimates/cost/", orjson.dumps(body), content_type="application/json").json()
        if "api" not in answer:
            raise ValueError(f"{body}: {answer}")
        totals.append(Decimal(answer["api"]["total"]))
    return totals
