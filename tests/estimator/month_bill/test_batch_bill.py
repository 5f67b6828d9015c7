"""Usage by the file: each row as the cost endpoint bills it, faults by line, the month's bill of the same upload."""

import csv
import io
import json
from decimal import Decimal

import pytest

from estimator.estimates.month_bill.read import read_csv, read_ndjson
from estimator.estimates.month_bill.row import read_row
from tests.estimator.month_bill.answers import PLAIN, answers
from tests.estimator.month_bill.test_provider_rows import ANTHROPIC, DAY, ODD
from tests.published_schema import faults
from tests.shipped_catalog import load_shipped_catalog

BATCH = "/api/v1/estimates/cost/batch/"
D = Decimal
NDJSON = "application/x-ndjson"


def ndjson(rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def told(response):
    """Rows and summary of an NDJSON answer, each held against the schema."""
    lines = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]
    assert [fault for line in lines[:-1] for fault in faults("RowBill", line)] == []
    assert faults("UsageSummary", lines[-1]["summary"]) == []
    return lines[:-1], lines[-1]["summary"]


def test_rows_of_one_shape_are_read_as_each_is_alone():
    rows = answers(300)
    rows += [PLAIN | {"input_tokens": None}, PLAIN | {"requests": 3}, ANTHROPIC | {"requests": "2"}]
    usage = read_ndjson(map(json.dumps, rows))
    assert usage.bad == ()
    for place, row in enumerate(rows):
        alone = read_row(row, None)
        counts = {key: int(column[place]) for key, column in usage.counts.items() if column[place]}
        said = (usage.groups[usage.codes[place]], usage.requests[place], counts, usage.apart[place])
        assert said == (alone.sent, alone.requests, dict(alone.counts), alone.apart)


def test_cells_of_a_csv_are_read_as_each_row_is_alone():
    cells = ["21000", "", "0", " 7", "-1", "1.5", "many", "1_000"]
    rows = [f"claude-opus-5-5,{DAY},,{cells[place % 8]},{cells[place // 8]}" for place in range(64)]
    rows += [f"claude-opus-5-5,{DAY}", f"claude-opus-5-5,{DAY},2", f"claude-opus-5-5,{DAY},,5"]
    names = ["model", "day", "requests", "input_tokens", "output_tokens"]
    usage = read_csv([",".join(names), *rows])
    alone = []
    for row in rows:
        try:
            alone.append(read_row(dict(zip(names, row.split(","), strict=False)), names[3:]))
        except ValueError:
            alone.append(None)
    assert [bad.row - 1 for bad in usage.bad] == [place for place, row in enumerate(alone) if row is None]
    billed = [row for row in alone if row is not None]
    assert usage.requests.tolist() == [row.requests for row in billed]
    for name in names[3:]:
        assert usage.counts[name].tolist() == [dict(row.counts).get(name, 0) for row in billed]


@pytest.mark.django_db
@pytest.mark.usefixtures("loaded_catalog")
class TestUploads:
    def test_each_row_is_the_bill_of_the_endpoint_and_their_sum_the_months(self, client):
        load_shipped_catalog()
        rows = answers(60, seed=2)
        lines, summary = told(client.post(BATCH, ndjson(rows), content_type=NDJSON))
        assert [line["line"] for line in lines] == list(range(1, 61))
        for row, line in zip(rows, lines, strict=True):
            part = {"price": row.get("model") or row.get("modelVersion") or row.get("modelId")}
            part["usage"] = row.get("usage") or row.get("usageMetadata") or {
                key: value for key, value in row.items() if key.endswith("_tokens")}  # fmt: skip
            if "service_tier" in row:
                part["usage"] |= {"service_tier": row["service_tier"]}
            alone = client.post("/api/v1/estimates/cost/", json.dumps({"api": part | {"on": DAY}}),
                                content_type="application/json").json()["api"]  # fmt: skip
            assert (line["total"], line["price"], line["currency"]) == (alone["total"], alone["price"], "USD")
        (bill,) = summary["bills"]
        assert D(bill["total"]) == sum(D(line["total"]) for line in lines)
        assert sum(D(line["amount"]) for line in bill["by_model"]) == D(bill["total"])
        assert summary["rows"] == {"rows": 60, "billed": 60, "unpriced": 0, "invalid": 0}

    def test_faults_stand_in_their_place_and_none_is_lost(self, client):
        odd = [{"model": "claude-opus-5-5", "day": DAY} | row for row, _why in ODD if "a\ud800" not in str(row)]
        rows = [row for bad in odd for row in (PLAIN, bad)]
        rows.append(PLAIN | {"model": "nobody-knows-it"})
        upload = ndjson(rows) + b"not json\n\n" + ndjson([PLAIN])
        lines, summary = told(client.post(BATCH, upload, content_type=NDJSON))
        assert [line["line"] for line in lines] == [*range(1, len(rows) + 2), len(rows) + 3]
        codes = [line.get("code") for line in lines]
        assert codes == [None, "invalid_row"] * len(odd) + ["unpriced", "invalid_row", None]
        assert summary["rows"] == {
            "rows": len(lines), "billed": len(odd) + 1, "unpriced": 1, "invalid": len(odd) + 1,
        }  # fmt: skip
        assert "nobody-knows-it" in lines[-3]["reason"]
        assert summary["bills"][0]["total"] is None
        assert D(summary["bills"][0]["priced_total"]) == (len(odd) + 1) * D("0.088")

    def test_a_csv_a_json_and_an_ndjson_of_one_usage_are_one_bill(self, client):
        rows = [PLAIN | {"requests": 2}, PLAIN | {"input_tokens": 30_000}]
        text = io.StringIO()
        table = csv.DictWriter(text, ["model", "day", "requests", "input_tokens", "cache_read_tokens"])
        table.writeheader()
        table.writerows(rows)
        as_csv = told(client.post(BATCH, text.getvalue().encode(), content_type="text/csv"))
        as_lines = told(client.post(BATCH, ndjson(rows), content_type=NDJSON))
        as_json = client.post(BATCH, {"rows": rows}, content_type="application/json").json()
        # 21,000·4 + 20,000·0.2 = 88,000, twice; 30,000·4 + 4,000 = 124,000
        assert [row["total"] for row in as_json["rows"]] == ["0.176", "0.124"]
        assert [line["line"] for line in as_csv[0]] == [2, 3]
        assert as_csv[1] == as_lines[1] == as_json["summary"]
        alone = client.post(f"{BATCH}?rows=false", ndjson(rows), content_type=NDJSON)
        assert alone.json() == {"summary": as_json["summary"]}

    def test_inclusive_counts_and_other_ways(self, client):
        rows = [PLAIN, PLAIN | {"input_tokens": 5}]
        ways = (
            "usage_convention=inclusive&alternatives=openai-gpt-6.1-sol&own_replica_cost=10&own_replica_output_tokens=1"
        )
        lines, summary = told(client.post(f"{BATCH}?{ways}", ndjson(rows), content_type=NDJSON))
        assert lines[0]["total"] == "0.008"  # 1,000·4 + 20,000·0.2
        assert "less than its parts" in lines[1]["reason"]
        ways = {way["way"]: way["amount"] for way in summary["bills"][0]["other_ways"]}
        assert ways == {
            "without_cache": "0.084", "batch": "0.004", "openai-gpt-6.1-sol": "0.004", "own_gpus": "10",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("address", "upload", "kind", "status", "why"),
        [
            (BATCH, b"\xff\xfe\n", NDJSON, 400, "UTF-8"),
            (BATCH, b"model,teleports\na,1\n", "text/csv", 400, "day"),
            (BATCH, b"{}\n" * 4, NDJSON, 413, "3 lines"),
            (BATCH, b"[1]", "application/json", 400, "rows"),
            (BATCH, b"{}", "text/plain", 415, "text/plain"),
            (f"{BATCH}?alternatives=openai-gpt-6.1-sool", b"{}\n", NDJSON, 400, "openai-gpt-6.1-sol"),
            (f"{BATCH}?own_replica_cost=5", b"{}\n", NDJSON, 400, "own_replica_output_tokens"),
        ],
    )
    def test_uploads_that_are_refused_say_why(self, client, settings, address, upload, kind, status, why):
        settings.AFORO_MAX_BATCH_LINES = 3
        answer = client.post(address, upload, content_type=kind)
        assert (answer.status_code, why in answer.content.decode()) == (status, True), answer.content

    def test_many_questions_are_answered_as_each_alone(self, client):
        cost = {"api": {"price": "anthropic-claude-opus-5-5", "usage": {"input_tokens": 1000}, "on": DAY}}
        asked = [("cost", cost), ("tokens", {"words": 900, "language": "en"}), ("cost", {"api": {"price": "x"}}),
                 ("cost", {"api": cost["api"] | {"usage": {"social_searches": 1}}})]  # fmt: skip
        body = {"questions": [{"estimate": name, "body": question} for name, question in asked]}
        answer = client.post("/api/v1/estimates/batch/", body, content_type="application/json").json()
        for (name, question), one in zip(asked, answer["answers"], strict=True):
            alone = client.post(f"/api/v1/estimates/{name}/", question, content_type="application/json")
            assert one["status"] == alone.status_code
            said = alone.json()
            if one["problem"]:
                for problem in (one["problem"], said):
                    problem.pop("request_id"), problem.pop("instance")
            assert (one["answer"] or one["problem"]) == said
        assert [one["status"] for one in answer["answers"]] == [200, 200, 400, 422]
        assert answer["answers"][0]["answer"]["catalog_revision"] == answer["catalog_revision"]
        wrong = client.post("/api/v1/estimates/batch/", {"questions": [{"estimate": "costs", "body": {}}]},
                            content_type="application/json")  # fmt: skip
        assert (wrong.status_code, wrong.json()["errors"][0]["near"]) == (400, ["cost"])
