"""The calculator: from a change to its answer, one user, printed; nothing of it is a limit of CI."""

import time

import pytest

from pages.question import FIRST
from tests.shipped_catalog import load_shipped_catalog

pytestmark = [pytest.mark.bench, pytest.mark.django_db]
CHANGES = 100


def test_from_a_change_to_its_answer(client):
    load_shipped_catalog(with_genai_prices=False)
    client.get("/")
    gpus = ("h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "l40s", "mi300x")
    spent_s = []
    for number in range(CHANGES):
        asked = {**FIRST, "n": str(1 + number), "gpu": gpus[number % len(gpus)], "input": str(1000 + 37 * number)}
        began_s = time.perf_counter()
        answer = client.post("/", asked, headers={"HX-Request": "true"})
        spent_s.append(time.perf_counter() - began_s)
        assert answer.status_code == 200
        assert b'id="said"' in answer.content
    spent_s.sort()
    p50, p95 = (spent_s[int(CHANGES * share)] for share in (0.5, 0.95))
    print(f"\ncalculator: change to answer {p50 * 1000:.0f} ms p50, {p95 * 1000:.0f} ms p95 of {CHANGES}")  # noqa: T201
