"""How a throughput is asked for."""

import orjson
import pytest

from tests.estimator.api.throughput.bodies import SEED_GPU, SEED_MODEL


@pytest.fixture
def ask(client):
    def post(query="", **body):
        return client.post(f"/api/v1/estimates/throughput/{query}", orjson.dumps(body), content_type="application/json")

    return post


@pytest.fixture
def seed(ask):
    def post(**workload):
        answer = ask(model=SEED_MODEL, gpu=SEED_GPU, engine="ideal", workload=workload).json()
        assert answer["expected"]["basis"] == "assumption"
        return answer

    return post
