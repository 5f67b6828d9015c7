"""The money questions of docs/money-examples.md, sent as they stand; the working beside each is by hand."""

import json
import re
from decimal import Decimal
from pathlib import Path

import orjson
import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "money-examples.md"
QUESTION = re.compile(
    r"^## (.+?)\n.*?```json (\S+)\n(.+?)\n```.*?```text\n(.+?)\n```\n\n(.+?)(?=\n## |\Z)", re.M | re.S
)
FIGURE = re.compile(r"^\| `(.+?)` \| (.+?) \|$", re.M)
QUESTIONS = {title: rest for title, *rest in QUESTION.findall(PAGE.read_text(encoding="utf-8"))}
AT_LEAST = 15

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]


def figure(answer, path):
    if path == "first self_hosted":
        return next(point["month"] for point in answer["over_time"]["curve"] if point["cheapest"] == "self_hosted")
    for name in path.split("."):
        answer = answer[int(name)] if isinstance(answer, list) else answer[name]
    return answer


def test_the_page_has_its_questions_and_figures():
    assert len(QUESTIONS) >= AT_LEAST
    assert all(FIGURE.findall(figures) for *_rest, figures in QUESTIONS.values())


@pytest.mark.parametrize("title", QUESTIONS)
def test_a_question_is_answered_as_worked_by_hand(client, title):
    slug, body, _working, figures = QUESTIONS[title]
    answer = client.post(f"/api/v1/estimates/{slug}/", orjson.dumps(json.loads(body)), content_type="application/json")
    assert answer.status_code == 200, answer.content
    for path, stated in FIGURE.findall(figures):
        found = figure(answer.json(), path)
        if isinstance(found, str) and not re.match(r"^-?[0-9.]+$", found):
            assert found == stated, path
        else:
            assert Decimal(str(found)) == pytest.approx(Decimal(stated), rel=Decimal("1e-12")), path
