"""How fast a month of usage is billed: a million rows of five models, by the day and by the second; of answers."""

import json
import random
import time

import pytest

from estimator.engine.cost.api import UsageConvention
from estimator.estimates.month_bill.batch import NDJSON, BatchBill, check_upload, rows_of
from estimator.estimates.month_bill.compute import month_bill
from estimator.estimates.month_bill.read import read_csv
from estimator.resolvers.live import current_facts
from tests.estimator.month_bill.answers import answers
from tests.shipped_catalog import load_shipped_catalog

pytestmark = [pytest.mark.bench, pytest.mark.django_db]
ROWS = 1_000_000
AT_LEAST_ROWS_PER_S = 20_000
MODELS = (
    "anthropic-claude-opus-5-5", "openai-gpt-6.1-sol", "x-ai-grok-4.7", "deepseek-deepseek-v4-pro",
    "google-gemini-3.8-flash",
)  # fmt: skip


def usage(when):
    chance = random.Random(1)
    yield f"model,{when},channel,input_tokens,cache_read_tokens,output_tokens"
    for row in range(ROWS):
        moment = f"2026-11-{1 + row * 30 // ROWS:02}"
        if when == "at":
            moment += f"T{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}Z"
        counts = (chance.randrange(4000), chance.randrange(300_000), chance.randrange(2000))
        yield f"{chance.choice(MODELS)},{moment},standard,{','.join(map(str, counts))}"


@pytest.mark.parametrize("when", ["day", "at"])
def test_a_million_rows(when):
    load_shipped_catalog()
    rows, facts = list(usage(when)), current_facts()
    begun = time.process_time()
    bill = month_bill(read_csv(rows), facts)
    spent = time.process_time() - begun
    print(f"\na month by {when}: {ROWS / spent:,.0f} rows/s of CPU, {spent:.1f} s")  # noqa: T201
    assert (bill.rows, bill.bad_rows, bill.unpriced) == (ROWS, 0, ())
    assert ROWS / spent >= AT_LEAST_ROWS_PER_S


def test_a_million_answers_of_providers_from_a_file(client, tmp_path):
    """All that the address does once the upload is on disk; 2,000 rows of it as the cost endpoint bills them."""
    load_shipped_catalog()
    rows = answers(50_000)
    upload = tmp_path / "usage.ndjson"
    with upload.open("wb") as file:
        for _ in range(ROWS // len(rows)):
            file.writelines(json.dumps(row).encode() + b"\n" for row in rows)
    with upload.open("rb") as file:
        begun = time.process_time()
        check_upload(file, most_lines=ROWS)
        bill = BatchBill(current_facts(), UsageConvention.DISJOINT, None)
        told = [line for lines in bill.lines(rows_of(file, NDJSON).rows) for line in lines]
        (month,) = bill.bills()
        spent = time.process_time() - begun
    print(f"\nanswers of providers by the file: {ROWS / spent:,.0f} rows/s of CPU, {spent:.1f} s")  # noqa: T201
    assert (len(told), month.rows, month.bad_rows) == (ROWS, ROWS, 0)
    for place in range(0, 50_000, 25):
        row = rows[place]
        usage = row.get("usage") or row.get("usageMetadata") or {k: n for k, n in row.items() if k.endswith("_tokens")}
        if "service_tier" in row:
            usage = usage | {"service_tier": row["service_tier"]}
        model = row.get("model") or row.get("modelVersion") or row.get("modelId")
        body = {"api": {"price": model, "usage": usage, "on": "2026-11-27"}}
        alone = client.post("/api/v1/estimates/cost/", body, content_type="application/json").json()
        assert json.loads(told[place])["total"] == alone["api"]["total"]
    assert ROWS / spent >= AT_LEAST_ROWS_PER_S
