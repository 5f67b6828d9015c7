"""The acceptance tests ask the running product, over REST, with its own catalog loaded."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.estimator.conftest import loaded_catalog  # noqa: F401  the same fixture, one definition

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(client, db, loaded_catalog) -> Ask:  # noqa: F811
    """`ask("memory-fit", {...})` posts an estimate and returns its answer; `explain=True` adds the working."""

    def post(path: str, body: dict[str, Any], *, explain: bool = False, status: int = 200) -> dict[str, Any]:
        query = "?explain=true" if explain else ""
        response = client.post(
            f"/api/v1/estimates/{path}/{query}", data=json.dumps(body), content_type="application/json"
        )
        assert response.status_code == status, response.content[:2000]
        return json.loads(response.content)

    return post


@pytest.fixture
def fit(ask):
    """`fit(model, gpu, tokens, sequences, …)`: sequences of so many tokens, prompt and answer together."""

    def of(model, gpu, tokens, sequences=1, **more):
        body = {
            "model": model, "gpu": gpu,
            "workload": {"input_tokens": tokens - 1, "output_tokens": 1, "concurrency": sequences},
        }  # fmt: skip
        return ask("memory-fit", body | more)

    return of
