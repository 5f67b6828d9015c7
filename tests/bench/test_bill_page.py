"""The comparison of bill tools: what agrees, what differs for a known reason, and what nobody explains."""

import re
from decimal import Decimal

import pytest

from tests.bench.bills import page, usages
from tests.shipped_catalog import load_shipped_catalog

ASKED = {"seller": "x-ai", "model": "grok-9", "kind": "at the threshold", "channel": "standard", "count": {}}


def outcome(tool, said, **more):
    result = page.compared([ASKED | more], [Decimal(2)], [{tool: said}])
    return sum(result.agree.values()), sum(result.differ.values()), sum(result.silent.values()), result.unexplained


def test_sums_agree_to_a_millionth_and_differences_need_a_reason():
    assert outcome("litellm", {"total": "2.000001"}) == (1, 0, 0, [])
    assert outcome("litellm", {"refused": "no price"}) == (0, 0, 1, [])
    assert outcome("model-prices", {"total": "1"}) == (0, 1, 0, [])  # its tier begins above
    assert outcome("model-prices", {"total": "1"}, kind="plain")[3][0].startswith("model-prices: x-ai/grok-9 plain")
    assert outcome("litellm", {"total": "0"})[3]  # a reason of one tool is none of another


def test_every_reason_says_who_is_right_and_where_it_is_written():
    for reason in page.reasons():
        assert reason["tool"] in page.TOOLS
        assert reason["right"] in ("aforo", "tool", "open")
        assert "https://" in reason["source"]


@pytest.mark.django_db
def test_the_usages_are_the_same_five_hundred_each_time():
    load_shipped_catalog()
    listed = usages.usages()
    assert len(listed) == usages.COUNT == 500
    assert listed == usages.usages()
    assert len({each["seller"] for each in listed}) > 5
    assert len({each["kind"] for each in listed}) > 15


def test_the_committed_page_is_of_all_usages_and_explains_every_difference():
    text = page.PAGE.read_text(encoding="utf-8")
    assert "500 usages" in text
    assert "not explained" not in text
    for tool in page.TOOLS:
        row = re.search(rf"\| {tool} \| (\d+) \| (\d+) \| (\d+) \|", text)
        assert sum(int(number) for number in row.groups()) == usages.COUNT
        explained = re.findall(rf"^\| {tool} \| (\d+) \| (?:aforo|tool|open) ", text, re.MULTILINE)
        assert sum(int(number) for number in explained) == int(row[2])
