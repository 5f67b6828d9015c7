"""The product's own catalog, loaded once a module and rolled back after it."""

from collections.abc import Iterator

import pytest
from django.db import transaction

from tests.shipped_catalog import load_shipped_catalog


@pytest.fixture(scope="module")
def loaded_catalog(django_db_setup, django_db_blocker) -> Iterator[None]:
    """Rows of catalog/data for every test of the module; each test's own writes are undone as usual."""
    with django_db_blocker.unblock(), transaction.atomic():
        load_shipped_catalog(with_genai_prices=False)
        yield
        transaction.set_rollback(True)
