"""How a prompt cache is asked for."""

import orjson
import pytest


@pytest.fixture
def ask(client):
    def send(status=200, query="", **body):
        path = f"/api/v1/estimates/prompt-cache/{query}"
        response = client.post(path, orjson.dumps(body), content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()

    return send
