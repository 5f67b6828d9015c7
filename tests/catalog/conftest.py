"""The catalog as shipped, and clients of several rights."""

import pytest
from rest_framework.test import APIClient

from tests.shipped_catalog import load_shipped_catalog


@pytest.fixture
def shipped(db):
    """The catalog's own data, loaded."""
    load_shipped_catalog()


@pytest.fixture
def reader(settings, db) -> APIClient:
    """Somebody nobody knows, where anonymous reading is allowed."""
    settings.AFORO_ALLOW_ANONYMOUS = True
    return APIClient()


@pytest.fixture
def editor(django_user_model) -> APIClient:
    """Staff with all permissions."""
    client = APIClient()
    client.force_authenticate(django_user_model.objects.create_superuser("ada", password="x" * 12))
    return client
