"""The shipped catalog, and the endpoint of manifests."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.estimator.conftest import loaded_catalog

__all__ = ["loaded_catalog"]


@pytest.fixture
def read(db: None, loaded_catalog: None) -> Callable[..., dict[str, Any]]:
    """The answer to a manifest; with `status` another than 200 its problem."""

    def ask(text: str, *, status: int = 200, **more: Any) -> dict[str, Any]:
        more.setdefault("question", {}).setdefault("changes", False)
        reply = Client(raise_request_exception=False).post(
            "/api/v1/manifests/", {"text": text, **more}, content_type="application/json"
        )
        assert reply.status_code == status, reply.content[:2000]
        found: dict[str, Any] = reply.json()
        return found

    return ask
