"""A person with a token of every scope, the shipped catalog, and the API of receipts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.api.permissions import SCOPES
from config.access.models import User
from config.access.tokens import issue_token
from receipts import triggers
from tests.estimator.conftest import loaded_catalog

__all__ = ["loaded_catalog"]

SETTING = {"model": "llama-3.1-8b-instruct", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19"}


@pytest.fixture(autouse=True)
def kept(request: pytest.FixtureRequest) -> None:
    """The triggers stand in every test that has a database."""
    if "db" in request.fixturenames:
        triggers.ensure()


@pytest.fixture
def person(db: None, loaded_catalog: None) -> User:
    return User.objects.create_user("mira", password="x")


def program(user: User, *scopes: str) -> Client:
    """A program of a person."""
    text = issue_token(user, "program", scopes=list(scopes or SCOPES))[1]
    return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {text}"})


@pytest.fixture
def call(person: User) -> Callable[..., Any]:
    """`call("POST", "predictions/", body)`: the answer as JSON; `status=` what is expected, `by=` another.

    `status=None`: the response, whatever it is.
    """
    programs: dict[int, Client] = {}

    def send(method: str, path: str, body: Any = None, *, status: int | None = 200, by: User | None = None) -> Any:
        user = by or person
        client = programs.setdefault(user.pk, program(user))
        data = "" if body is None else json.dumps(body)
        response = client.generic(method, f"/api/v1/{path}", data, content_type="application/json")
        if status is None:
            return response
        assert response.status_code == status, response.content[:3000]
        return json.loads(response.content) if response.content else None

    return send


def bench(
    said: dict[str, Any],
    *,
    concurrency: int,
    requests: int = 0,
    slower: float = 1.0,
    inputs: int = 1000,
    outputs: int = 200,
) -> str:
    """A result of vllm bench serve that took `slower` times as long as said, without a contradiction in it."""
    requests = requests or 10 * concurrency
    ttft = said["ttft_s"] * slower
    tpot = said["tpot_s"] * slower
    e2e = ttft + (outputs - 1) * tpot
    duration = requests * e2e / concurrency
    return json.dumps({
        "date": "20261120-100000", "backend": "vllm", "model_id": "meta-llama/Llama-3.1-8B-Instruct",
        "num_prompts": requests, "request_rate": "inf", "max_concurrency": concurrency,
        "completed": requests, "failed": 0,
        "duration": duration, "total_input_tokens": inputs * requests, "total_output_tokens": outputs * requests,
        "request_throughput": requests / duration, "output_throughput": outputs * requests / duration,
        "total_token_throughput": (inputs + outputs) * requests / duration,
        "mean_ttft_ms": 1e3 * ttft, "mean_tpot_ms": 1e3 * tpot, "mean_e2el_ms": 1e3 * e2e,
    })  # fmt: skip
