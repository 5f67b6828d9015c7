"""Fixtures of the reports tests: a person, a folder of their own, and triggers that do not stop a flush."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from reports import bell, triggers


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
