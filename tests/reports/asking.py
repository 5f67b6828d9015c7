"""How tests order a report over REST, and what a refusal says."""

from tests.reports.conftest import SWEEP

URL = "/api/v1/reports/"


def order(name="r", **changes):
    return {"name": name, "sweep": SWEEP} | changes


def fault(answer):
    return {(error.get("pointer") or error.get("parameter"), error["code"]) for error in answer.json()["errors"]}
