"""Fixtures of the reports tests: a person, a folder of their own, and triggers that do not stop a flush."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from rest_framework.test import APIClient

from reports import triggers
from reports.api import examples
from reports.models import ReportVersion
from reports.work import bell, worker
from tests.estimator.conftest import loaded_catalog
from tests.live import HANGS_AFTER_S

__all__ = ["loaded_catalog"]


@pytest.fixture(autouse=True)
def artifact_dir(settings: Any, tmp_path: Path) -> Path:
    settings.AFORO_ARTIFACT_DIR = tmp_path / "artifacts"
    return tmp_path / "artifacts"


@pytest.fixture(autouse=True)
def bells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Wake-ups are counted, not sent."""
    rung: list[int] = []
    monkeypatch.setattr(bell, "ring", lambda pieces=1: rung.append(pieces))
    return rung


@pytest.fixture(autouse=True)
def no_kept_plans() -> None:
    worker.forget_plans()


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker stops when there is no work, however slow the machine is."""
    monkeypatch.setattr("reports.conf.WORK_BUDGET_S", HANGS_AFTER_S)


@pytest.fixture
def flushable(transactional_db: None) -> Iterator[None]:
    """A database that really commits; its triggers go before the flush that ends the test."""
    triggers.ensure()
    yield
    triggers.drop()


@pytest.fixture
def ana(db: None) -> Any:
    return get_user_model().objects.create_user("ana", password="x")


@pytest.fixture
def berta(db: None) -> Any:
    return get_user_model().objects.create_user("berta", password="x")


@pytest.fixture
def carla(db: None) -> Any:
    return get_user_model().objects.create_user("carla", password="x")


@pytest.fixture
def staff(db: None) -> Any:
    return get_user_model().objects.create_superuser("staff", password="x")


@pytest.fixture
def api() -> Any:
    """`api(user)`: a client of the API that is signed in as this user; None: nobody."""

    def client_of(user: Any) -> APIClient:
        client = APIClient()
        if user is not None:
            client.force_authenticate(user)
        return client

    return client_of


@pytest.fixture
def make_report(api: Any, loaded_catalog: None) -> Any:
    """`make_report(user)`: a complete report of a small sweep, made through the API and worked off here."""

    def make(user: Any, **changes: Any) -> ReportVersion:
        body = {"name": "H100 capacity", "sweep": SWEEP, "slo": SLO, "pricing": PRICING} | changes
        answer = api(user).post("/api/v1/reports/", body)
        assert answer.status_code == 202, answer.json()
        worker.run()
        version = ReportVersion.objects.get(report=answer.json()["report"], number=1)
        assert version.state == "complete", version.error
        return version

    return make


SWEEP: dict[str, Any] = examples.SWEEP | {
    "gpus": ["h100-sxm5-80gb", "a100-sxm4-80gb"],
    "precisions": [{"weights": "bf16"}, {"weights": "fp8", "kv_cache": "fp8"}],
}
SLO = {"tpot_s": 0.05, "ttft_s": 2.0}
PRICING = {"currency": "USD", "price_per_gpu_hour": {"h100-sxm5-80gb": "2.0"}}
