"""Months of usage objects as providers return them: the bills of the endpoint, row by row, in pieces of a file."""

import json
import random
from decimal import Decimal

import pytest

from estimator.engine.errors import InvalidInputError
from estimator.estimates.month_bill.compute import month_bill
from estimator.estimates.month_bill.read import read_csv, read_ndjson
from estimator.estimates.month_bill.stream import FORMATS, LONGEST_LINE, read_stream
from estimator.resolvers.live import current_facts
from tests.shipped_catalog import load_shipped_catalog

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
D = Decimal
DAY = "2026-11-27"
# Answers as they come, each with its bill by hand in millionths.
OPENAI_CHAT = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1795788000, "model": "gpt-6.1-sol",
    "service_tier": "default", "choices": [{"index": 0, "message": {"content": "hi"}}],
    "usage": {"prompt_tokens": 11_000, "completion_tokens": 700, "total_tokens": 11_700,
              "prompt_tokens_details": {"cached_tokens": 5000, "cache_write_tokens": 4000, "audio_tokens": 0},
              "completion_tokens_details": {"reasoning_tokens": 200}},
}  # fmt: skip
OPENAI_RESPONSES = {
    "id": "resp_1", "created_at": 1795788000, "model": "gpt-6.1-sol", "service_tier": "flex",
    "usage": {"input_tokens": 2000, "input_tokens_details": {"cached_tokens": 1000}, "output_tokens": 100,
              "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2100},
}  # fmt: skip
ANTHROPIC = {
    "id": "msg_1", "type": "message", "model": "claude-opus-5-5", "day": DAY,
    "usage": {"input_tokens": 1000, "cache_read_input_tokens": 20_000, "cache_creation_input_tokens": 3000,
              "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 2000},
              "output_tokens": 500, "service_tier": "standard"},
}  # fmt: skip
GEMINI = {
    "modelVersion": "gemini-3.8-flash", "createTime": f"{DAY}T10:00:00Z", "responseId": "r", "candidates": [],
    "usageMetadata": {"promptTokenCount": 3000, "cachedContentTokenCount": 2000, "candidatesTokenCount": 400,
                      "thoughtsTokenCount": 100, "totalTokenCount": 3500},
}  # fmt: skip
BEDROCK = {
    "modelId": "us.anthropic.claude-opus-4-7", "day": DAY,
    "usage": {"inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100, "cacheReadInputTokens": 0},
}  # fmt: skip


def cost(ask_cost, row, **more):
    """The bill of one row as the endpoint says it."""
    usage = row.get("usage") or row.get("usageMetadata")
    if "service_tier" in row:
        usage = usage | {"service_tier": row["service_tier"]}
    model = row.get("model") or row.get("modelVersion") or row.get("modelId")
    return D(ask_cost({"price": model, "on": DAY, "usage": usage} | more)["api"]["total"])


@pytest.fixture
def ask_cost(client):
    def asked(part):
        answer = client.post("/api/v1/estimates/cost/", json.dumps({"api": part}), content_type="application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    return asked


def test_answers_by_hand():
    """Fresh, read, written and answered, in the words of two makers, in millionths of a dollar.

    gpt-6.1-sol at 2, 0.1, 2.5, 10: 2,000·2 + 5,000·0.1 + 4,000·2.5 + 700·10 = 21,500. claude-opus-5-5 at 4, 0.2, 5, 8,
    20: 1,000·4 + 20,000·0.2 + 1,000·5 + 2,000·8 + 500·20 = 39,000.
    """
    bill = month_bill(read_ndjson([json.dumps(OPENAI_CHAT), json.dumps(ANTHROPIC)]), current_facts())
    assert {line.key: line.amount for line in bill.by_model} == {
        "gpt-6.1-sol": D("0.0215"), "claude-opus-5-5": D("0.039"),
    }  # fmt: skip
    assert (bill.bad_rows, bill.ignored) == (0, {})


@pytest.mark.parametrize("row", [OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI, BEDROCK], ids=range(5))
def test_a_row_of_the_month_is_the_bill_of_the_endpoint(ask_cost, row):
    load_shipped_catalog()
    for times in (1, 7):
        bill = month_bill(read_ndjson([json.dumps(row | {"requests": times})]), current_facts())
        assert bill.bad == ()
        assert bill.total == times * cost(ask_cost, row)
    assert bill.by_day[0].key == DAY
    assert bill.by_channel[0].key == ("flex" if row is OPENAI_RESPONSES else "standard")


def test_objects_stand_beside_counts_of_their_own_in_one_file_and_in_a_csv():
    plain = {"model": "claude-opus-5-5", "day": DAY, "input_tokens": 21_000, "cache_read_tokens": 20_000}
    both = read_ndjson([json.dumps(ANTHROPIC), json.dumps(plain)])
    assert list(both.apart) == [True, False]
    inclusive = month_bill(both, current_facts(), convention="inclusive")
    assert inclusive.total == D("0.039") + D("0.008")  # 1,000·4 + 20,000·0.2
    cells = [
        "model,day,usage",
        f'claude-opus-5-5,{DAY},"{json.dumps(ANTHROPIC["usage"]).replace(chr(34), chr(34) * 2)}"',
    ]
    assert month_bill(read_csv(cells), current_facts()).total == D("0.039")


def test_reads_beside_writes_of_qwen_are_those_of_marks(ask_cost):
    usage = {"prompt_tokens": 9000, "completion_tokens": 10, "total_tokens": 9010,
             "prompt_tokens_details": {"cached_tokens": 6000, "cache_creation_input_tokens": 2000}}  # fmt: skip
    row = {"model": "alibaba-qwen3.7-max", "day": DAY, "usage": usage}
    other = row | {"usage": usage | {"prompt_tokens_details": {"cached_tokens": 6000}}}
    bill = month_bill(read_ndjson([json.dumps(row), json.dumps(other)]), current_facts())
    assert bill.total == cost(ask_cost, row) + cost(ask_cost, other)


ODD = [
    ({"usage": []}, "must be the object"), ({"usage": "not json"}, "no JSON"), ({"usage": {}}, "must be the object"),
    ({"usage": {"prompt_tokens": -1}}, "between 0"), ({"usage": {"prompt_tokens": "9"}}, "number"),
    ({"usage": {"prompt_tokens": 1.5}}, "whole number"), ({"usage": {"teleports": 1}}, "no meter counts"),
    ({"usage": {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 20}}}, "less than its parts"),
    ({"usage": {"prompt_tokens": 1}, "input_tokens": 5}, "beside"),
    ({"usage": {"prompt_tokens": float("nan")}}, "count"),
    ({"model": "a\ud800", "usage": {"prompt_tokens": 1}}, "printed"), ({"model": "a" * 400, "input_tokens": 1}, "300"),
    ({"day": None, "created": 10**40, "usage": {"prompt_tokens": 1}}, "1970"),
    ({"usage": {"prompt_tokens": 1, "prompt_tokens_details": 5}}, "object"),
]  # fmt: skip


@pytest.mark.parametrize(("odd", "why"), ODD, ids=[why for _, why in ODD])
def test_odd_objects_are_named_and_the_others_billed(odd, why):
    row = {"model": "claude-opus-5-5", "day": DAY}
    usage = read_ndjson([json.dumps(row | {"input_tokens": 1000}), json.dumps(row | odd)])
    assert [bad.row for bad in usage.bad] == [2]
    assert why in usage.bad[0].reason
    assert month_bill(usage, current_facts()).total == D("0.004")


def test_a_line_nested_without_end_is_a_bad_row():
    usage = read_ndjson(["[" * 200_000, '{"usage":' * 100_000, json.dumps(ANTHROPIC)])
    assert [row.row for row in usage.bad] == [1, 2]


def test_what_no_meter_counts_and_what_is_disputed_or_retired_is_told():
    load_shipped_catalog()
    row = {
        "model": "deepseek-chat",
        "day": DAY,
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "warp_tokens": 9},
    }
    bill = month_bill(read_ndjson([json.dumps(row)] * 3), current_facts())
    assert bill.ignored == {"warp_tokens": 3}
    for word in ("was retired on 2026-07-24", "input is disputed"):
        assert any(warning.startswith("deepseek-chat: ") and word in warning for warning in bill.warnings)
    assert len(bill.warnings) == len(set(bill.warnings))


def test_a_file_in_pieces_of_any_size_is_the_file():
    rng = random.Random(12)
    text = "".join(
        f"{json.dumps(row, ensure_ascii=False)}\n" for row in (OPENAI_CHAT, ANTHROPIC | {"note": "ñ€"}, GEMINI)
    )
    data, whole = text.encode(), month_bill(read_ndjson(text.splitlines()), current_facts())
    for size in (1, 7, 4096, len(data)):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert month_bill(read_stream(pieces, form="ndjson"), current_facts()) == whole
    table = b'model,day,input_tokens\r\n"claude-opus-5-5",2026-11-29,1000\r\n'
    cut = rng.randrange(1, len(table))
    assert month_bill(read_stream([table[:cut], table[cut:]], form="csv"), current_facts()).total == D("0.004")


def test_files_that_are_refused_say_why():
    for pieces, form, most, why in (
        ([b"\xff\xfe"], "ndjson", None, "UTF-8"),
        ([b"a" * (LONGEST_LINE + 1)], "ndjson", None, "characters"),
        ([b"{}\n{}\n{}\n"], "ndjson", 2, "2 lines"),
        ([b""], "parquet", None, " or ".join(FORMATS)),
    ):
        with pytest.raises(InvalidInputError, match=why):
            read_stream(pieces, form=form, most_rows=most)
