"""How a question of money is sent."""

import orjson
import pytest


@pytest.fixture
def ask(client):
    def send(slug, body, status=200):
        path = f"/api/v1/estimates/{slug}/"
        response = client.post(path, orjson.dumps(body), content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()

    return send
